"""The page in a browser: every control, keys alone, bookmarks, and no request beyond the file."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from fractions import Fraction
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

pytestmark = [pytest.mark.parity, pytest.mark.slow]


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there: apt-get install chromium")
    with api.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield running
        running.close()


class Tab:
    """A tab of its own, with what it asked for and complained about."""

    def __init__(self, browser, path, fragment="", **options):
        options = {"viewport": {"width": 1280, "height": 720}} | options
        self.context = browser.new_context(**options)
        self.tab = self.context.new_page()
        self.complaints, self.requests = [], []
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.address = path.as_uri()
        self.tab.goto(self.address + fragment)

    def text(self, name):
        return self.tab.locator(f"#{name}").inner_text()

    def told(self, name):
        """Return what a screen reader tells of the first picture in an element."""
        return self.tab.locator(f"#{name} [role=img]").first.get_attribute("aria-label")

    def value(self, name):
        return self.tab.locator(f"#{name}").input_value()

    def press(self, *keys):
        for key in keys:
            self.tab.keyboard.press(key)

    def slide(self, name, value):
        self.tab.locator(f"#{name}").fill(str(value))

    def close(self):
        self.context.close()
        assert self.complaints == []
        elsewhere = [u for u in self.requests if not u.startswith((self.address, "data:"))]
        assert elsewhere == []


@pytest.fixture
def visit(browser, page) -> Generator:
    tabs = []

    def opened(fragment="", **options):
        tabs.append(Tab(browser, page.path, fragment, **options))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.close()


def rows_of(page, **wanted):
    return [
        (i, r)
        for i, r in enumerate(page.data["public"]["machines"])
        if all(r[name] == value for name, value in wanted.items())
    ]


def test_the_untouched_page_makes_the_point(page, visit):
    seen = visit()
    ((_, row),) = rows_of(
        page, problem="index", n=7, model="gru", state_numbers=4, bits_per_number=1
    )
    assert f"{100 * row['success']:.1f}% = {row['success_fraction']}" in seen.text("point")
    assert f"{100 * row['wall_ball']:.1f}%" in seen.text("point")
    assert f"{row['state_bits']} bits crossed" in seen.text("count")
    for name in ("x", "message", "k", "figure"):
        box = seen.tab.locator(f"#{name}").bounding_box()
        assert box["y"] + box["height"] <= 720
    assert "What will he answer?" in seen.text("story")
    assert "wrong" in seen.text("pair")


def test_every_setting_is_stepped_forward_and_back(page, visit):
    seen = visit()
    looked = 0
    for problem in ("index", "istree"):
        seen.tab.select_option("#problem", problem)
        sizes = [z for z in page.data["public"]["sizes"] if z["problem"] == problem]
        for size in sizes:
            seen.tab.select_option("#n", str(size["n"]))
            for model in page.data["public"]["models"]:
                seen.tab.select_option("#model", model)
                seen.slide("numbers", 1)
                seen.tab.select_option("#bits", "2")
                rows = rows_of(page, problem=problem, n=size["n"], model=model, bits_per_number=2)
                shown = int(seen.text("numbers-shown"))
                i, row = next((i, r) for i, r in rows if r["state_numbers"] == shown)
                assert row["success_fraction"] in seen.text("point")
                walk(seen, size, row, page.data["bob"][i])
                looked += 1
                seen.tab.select_option("#bits", "1")
    assert looked == len(page.data["public"]["models"]) * len(page.data["public"]["sizes"])


def walk(seen, size, row, table):
    seen.tab.click("#first")
    for step in range(1, size["length"] + 1):
        seen.tab.click("#next")
        assert f"reads bit {step}," in seen.text("story")
        assert f"The state after {step} bit" in seen.told("strip")
        assert seen.text("count") == "0 bits crossed"
        assert seen.text("held") == "nothing yet"
    seen.tab.click("#next")
    message = re.search("hex ([0-9a-f]+)", seen.text("hex"))[1]
    assert message in table
    assert f"{row['state_bits']} bit" in seen.text("count")
    assert seen.text("held") == "nothing yet"
    seen.tab.click("#next")
    k = int(seen.tab.locator("#k input:checked").input_value())
    assert "?" in seen.text("answers")
    seen.tab.click("#next")
    answer = table[message][k - 1]
    assert seen.text("answer").startswith(f"Bob says {answer}")
    assert re.sub(r"\s", "", seen.text("answers")) == table[message]
    assert f"Bob says {answer}, the truth is" in seen.text("story")
    before = seen.value("step")
    for _ in range(int(before)):
        seen.tab.click("#back")
    assert seen.value("step") == "0"
    assert "read nothing" in seen.text("story")
    assert seen.text("answer") == ""


def test_bob_is_the_same_for_inputs_that_share_a_message(page, visit):
    seen = visit("#problem=index&n=7&model=sliding_window&numbers=4&bits=1")
    parts = []
    for name in ("take1", "take2"):
        seen.tab.click(f"#{name}")
        asked = seen.tab.locator("#bob").inner_html()
        seen.tab.click("#show")
        parts.append((asked, seen.tab.locator("#bob").inner_html(), seen.text("story")))
    assert parts[0][:2] == parts[1][:2]
    verdicts = {re.search("right|wrong", story)[0] for _, _, story in parts}
    assert verdicts == {"right", "wrong"}


def test_a_student_predicts_first(page, visit):
    seen = visit()
    i, row = rows_of(page, problem="index", n=7, model="gru", state_numbers=4, bits_per_number=1)[0]
    k = row["collision"]["query"]
    answer = int(page.data["bob"][i][row["collision"]["message"]][k - 1])
    seen.tab.click(f"#guess{answer}")
    assert f"You predicted {answer}, as he said (1 of 1 so far)" in seen.text("story")
    seen.tab.locator(f"#k{k % 7 + 1}").check(force=True)
    assert seen.text("answer") == ""
    seen.tab.check("#hide")
    assert "82.1" not in seen.text("point")
    assert row["success_fraction"] not in seen.text("collapse")
    seen.slide("wager-value", 90)
    seen.tab.click("#wager-done")
    assert "You guessed 90%" in seen.text("point")
    assert row["success_fraction"] in seen.text("point")
    seen.slide("numbers", 0)
    assert "How often" in seen.text("point")


def test_keys_alone_suffice(page, visit):
    seen = visit()
    seen.press("Home")
    assert seen.value("step") == "0"
    seen.press("ArrowRight", ".", "ArrowLeft", ",", "ArrowRight")
    assert seen.value("step") == "1"
    seen.press("End", ",")
    assert "What will he answer?" in seen.text("story")
    seen.press("1")
    assert "You predicted 1" in seen.text("story")
    seen.press("k")
    assert "What will he answer?" in seen.text("story")
    shown = seen.text("numbers-shown")
    seen.press("]")
    assert int(seen.text("numbers-shown")) > int(shown)
    seen.press("[")
    assert seen.text("numbers-shown") == shown

    reached, first = [], None
    for _ in range(90):
        seen.press("Tab")
        found = seen.tab.evaluate(
            """() => {
                const at = document.activeElement;
                const shown = at.matches(".choice input") ? at.nextSibling : at;
                const look = getComputedStyle(shown);
                const name = at.id || at.getAttribute("aria-label");
                return [name, look.outlineStyle, look.outlineWidth];
            }"""
        )
        if found[0] is None:  # the browser's own
            continue
        if found[0] == first:
            break
        first = first or found[0]
        reached.append(found[0])
        assert found[1:] == ["solid", "3px"], found
    wanted = {
        "theme", "problem", "n", "model", "numbers", "bits", "shuffle", "guess0", "guess1", "show",
        "first", "back", "step", "next", "last", "hide", "take1", "take2", "keys",
    }  # fmt: skip
    assert wanted <= set(reached)
    assert any(name.startswith("bit 1 of x") for name in reached)
    assert any(name.startswith("Copy: statebound measure") for name in reached)

    seen.tab.focus("#numbers")
    seen.press("ArrowLeft")
    assert int(seen.text("numbers-shown")) < int(shown)  # the slider's own key, not a step
    seen.tab.focus("#keys")
    seen.press("Space", "Home")
    assert seen.value("step") != "0"  # single keys are off


def test_a_bookmark_reopens_the_page(page, visit):
    seen = visit("#problem=istree&n=9&model=linear_attention&numbers=4&bits=2&theme=dark")
    seen.tab.click("#x button:nth-child(2)")
    seen.press("k", "k", "1")
    seen.tab.check("#hide")
    seen.slide("wager-value", 77)
    seen.tab.click("#wager-done")
    address = seen.tab.evaluate("location.hash")
    again = visit(address)
    for name in ("settings", "alice", "channel", "bob", "point", "pair", "graph-note", "curves"):
        assert again.text(name) == seen.text(name)
    assert again.told("figure") == seen.told("figure")
    assert again.told("graph") == seen.told("graph")
    assert again.value("step") == seen.value("step")
    assert "You predicted 1" in again.text("story")
    assert again.tab.evaluate("location.hash") == address
    assert again.tab.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize(
    "fragment",
    ["#n=99999&x=abc&k=0&step=-3", "#problem=__proto__&model=%3Cb%3E", "#bits=3&numbers=5", "#%"],
)
def test_an_address_without_sense_opens_something_near(visit, fragment):
    seen = visit(fragment)
    assert "Step" in seen.text("story")
    assert "of all inputs" in seen.text("point")


def test_commands_are_copied(page, visit):
    seen = visit(permissions=["clipboard-read", "clipboard-write"])
    seen.tab.locator("#curves .copy").first.click()
    copied = seen.tab.evaluate("navigator.clipboard.readText()")
    assert copied == "statebound measure index --n 7 --model gru --numbers 4 --bits 1"
    seen.tab.locator("#curves .copy").nth(1).click()
    copied = seen.tab.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied == [
        r["command"] for _, r in rows_of(page, problem="index", n=7, model="gru", bits_per_number=1)
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_the_screen(page, visit, scheme, width):
    seen = visit(
        "#problem=istree&n=9&model=gru&numbers=7&bits=2&step=99",
        viewport={"width": width, "height": 740},
        color_scheme=scheme,
    )
    assert seen.tab.evaluate("document.documentElement.scrollWidth") == width
    small = seen.tab.evaluate(
        """() => [...document.querySelectorAll("main *")].filter((node) =>
            [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim())
            && parseFloat(getComputedStyle(node).fontSize) < 13).map((node) => node.outerHTML)"""
    )
    assert small == []
    paper = seen.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    level = Fraction(sum(map(int, re.findall(r"\d+", paper))), 3)
    assert (level < 64) == (scheme == "dark")


def test_the_browser_is_there_where_everything_must_be():
    if os.environ.get("STATEBOUND_CI") == "1":
        assert CHROMIUM.exists()
