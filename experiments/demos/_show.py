"""Showing steps: by keys on a terminal, by the clock, or all at once to a file.

By keys every scene has the screen to itself and its steps appear one below the other.
Otherwise steps follow each other like any output. Colours are mid-tones that are seen on
light and on dark, blue against orange; nothing is said by colour alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from statebound.experiments.demos import _keys
from statebound.experiments.demos._page import Line, Step

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDEST, NARROWEST = 80, 24
Build = Callable[[int], Sequence[Step]]

_STYLES = {
    "title": "bold",
    "strong": "bold",
    "faint": "color(244)",
    "right": "bold color(32)",
    "wrong": "bold color(166)",
    "head": "bold reverse",
    "alice": "bold color(32)",
    "bob": "bold color(166)",
    "bar": "color(32)",
    "wall": "color(166)",
    "heat0": "color(26)",
    "heat1": "color(67)",
    "heat2": "color(244)",
    "heat3": "color(173)",
    "heat4": "color(166)",
}
_PLAIN = str.maketrans("▁▂▃▄▅▆▇█·✓✗─│┬├└╮╯→…×▲≥≤", "_.,-=+*#.vx-|+++++>.x^><")


def _console() -> Console:
    from rich.console import Console
    from rich.theme import Theme

    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        theme=Theme(_STYLES, inherit=False),
        force_terminal=terminal,
        force_jupyter=False,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if terminal else WIDEST,
    )


def _width(console: Console) -> int:
    return max(min(console.size.width, WIDEST), NARROWEST)


def _text(lines: Sequence[Line], width: int) -> list[Text]:
    """Return lines that fit: long ones are broken between words, and indented as they were."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    breaker = Console(width=width)
    fitting: list[Text] = []
    for line in lines:
        whole = Text.assemble(*([line] if isinstance(line, str) else line))
        indent = len(whole.plain) - len(whole.plain.lstrip(" "))
        if cell_len(whole.plain) <= width or indent > width // 2:
            fitting += whole.wrap(breaker, width)
            continue
        rest = whole[indent:].wrap(breaker, width - indent)
        fitting += [Text(" " * indent) + part for part in rest]
    for part in fitting:
        part.rstrip()
    return fitting


def _encodable(text: str) -> str:
    """Return text that stdout can write, drawings in ASCII where it must be."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
    return text


def _write(console: Console, parts: Sequence[Text]) -> None:
    with console.capture() as captured:
        for part in parts:
            console.print(part, no_wrap=True, overflow="ignore", crop=False)
    sys.stdout.write(_encodable(captured.get()))
    sys.stdout.flush()


def _heading(name: str, scene: str, width: int, console: Console) -> list[Text]:
    from rich.text import Text

    title = Text.assemble((scene, "title"), (f"  {name}", "faint"))
    return [*title.wrap(console, width), Text("─" * width, "faint")]


def show(name: str, build: Build, *, auto: bool, pause: float) -> None:
    """Show the steps that `build` makes for a width.

    Parameters
    ----------
    name
        Of the demonstration, shown beside each heading.
    build
        From columns to steps; the number of steps does not depend on the columns.
    auto
        Go on by the clock, on a terminal.
    pause
        Seconds between steps then.
    """
    console = _console()
    if not auto and _keys.steppable():
        _by_keys(name, build, console)
        return
    wait = pause if auto and sys.stdout.isatty() else 0.0
    width = _width(console)
    steps = build(width)
    for at, step in enumerate(steps):
        if at and wait:
            time.sleep(wait)
        new = at == 0 or steps[at - 1].scene != step.scene
        heading = _heading(name, step.scene, width, console) if new else []
        if new and at:
            sys.stdout.write("\n")
        _write(console, [*heading, *_text(step.lines, width)])


def scene_until(steps: Sequence[Step], at: int) -> list[Line]:
    """Return the lines on the screen at a step: those of its scene so far.

    Examples
    --------
    >>> steps = [Step("a", ("1",)), Step("b", ("2",)), Step("b", ("3", "4"))]
    >>> scene_until(steps, 2)
    ['2', '3', '4']
    """
    first = at
    while first and steps[first - 1].scene == steps[at].scene:
        first -= 1
    return [line for step in steps[first : at + 1] for line in step.lines]


def _by_keys(name: str, build: Build, console: Console) -> None:
    """Let keys go forward and back; what was on the last screen stays at the end."""
    at, ended = 0, False
    with _keys.screen():
        size = console.size
        steps = build(_width(console))
        last = len(steps) - 1
        _draw(name, steps, at, console)
        for key in _keys.pressed():
            if key is None and console.size == size:
                continue
            if console.size != size:
                size = console.size
                steps = build(_width(console))
            if key == _keys.QUIT:
                break
            if key == _keys.FORWARD and at == last:
                ended = True
                break
            at += {_keys.FORWARD: 1, _keys.BACK: -1, None: 0}[key]
            at = max(at, 0)
            _draw(name, steps, at, console)
    if ended:
        width = _width(console)
        _write(console, _heading(name, steps[at].scene, width, console))
        _write(console, _text(scene_until(steps, at), width))


def _draw(name: str, steps: Sequence[Step], at: int, console: Console) -> None:
    """Draw the screen of one step; of a scene that is too long, its end."""
    from rich.text import Text

    width, height = _width(console), console.size.height
    heading = _heading(name, steps[at].scene, width, console)
    lines = _text(scene_until(steps, at), width)
    room = max(1, height - len(heading) - 2)
    if len(lines) > room:
        lines = [Text("…", "faint"), *lines[len(lines) - room + 1 :]]
    on = "any key: on" if at < len(steps) - 1 else "any key: end"
    foot = Text(f"{at + 1}/{len(steps)}  {on}, b: back, q: quit", "faint")
    foot.truncate(console.size.width)
    blank = [Text("")] * (height - len(heading) - len(lines) - 1)
    sys.stdout.write("\x1b[H\x1b[2J")
    _write(console, [*heading, *lines, *blank])
    with console.capture() as captured:
        console.print(foot, end="", no_wrap=True, crop=False)
    sys.stdout.write(_encodable(captured.get()))
    sys.stdout.flush()
