"""The report of an audit as one HTML page: figures inside, nothing loaded, no scripts."""

from __future__ import annotations

import platform
import re
import shlex
import sys
from collections.abc import Sequence
from html import escape
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any

from statebound.errors import StateboundError
from statebound.experiments.audit import report
from statebound.experiments.audit.record import FATAL, WRONG, Audit
from statebound.experiments.audit.survival import Survival
from statebound.experiments.results import write_atomically

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#111;background:#fff;max-width:64rem;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin-top:2.2rem;
border-bottom:1px solid #bbb}
table{border-collapse:collapse;font-size:.87rem;margin:.6rem 0}
th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #e3e3e3;vertical-align:top}
th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere}
.wide{overflow-x:auto}pre{background:#f3f3f3;overflow-x:auto;padding:.6rem}
.fatal{font-weight:bold}.fatal:before{content:"\\2717  "}.wrong:before{content:"!  "}
svg{max-width:100%;height:auto}.note{color:#505050}
""".strip()


def write(found: Audit, path: Path, command: Sequence[str]) -> None:
    """Write the page, whole or not at all.

    Parameters
    ----------
    found
        The audit, perhaps with its survival.
    path
        Of the page.
    command
        The words of the command line that repeats it.

    Raises
    ------
    StateboundError
        When the file cannot be written.
    """
    try:
        write_atomically(path, page(found, command).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise StateboundError(
            f"{path}: the page cannot be written ({error.strerror or error}); "
            "choose a writable folder"
        ) from error


def page(found: Audit, command: Sequence[str]) -> str:
    """Return the page; everything that comes from the subject is escaped."""
    parts = [
        *_verdict(found),
        *_parts(found),
        *_growth(found),
        "<h2>Splits against the unsplit run</h2>",
        f"<p>Errors are parts of the largest output; right is up to {found.tolerance:.1e}.</p>",
        _table(*report.splits(found)),
    ]
    if found.survival is not None:
        parts += _survival(found.survival)
    parts += _reproduce(found, command)
    body = "\n".join(parts)
    title = escape(f"Audit of {found.subject}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _verdict(found: Audit) -> list[str]:
    said = [f"<h1>{escape(found.subject)}</h1>", "<h2>Verdict</h2>"]
    said.append(f"<p><strong>{escape(report.headline(found))}.</strong></p>")
    said.append(f'<p class="note">{escape(report.facts(found))}</p>')
    if found.findings:
        rows = [
            f'<li class="{f.severity if f.severity in (FATAL, WRONG) else "remark"}">'
            f"{escape(f.code)}: {escape(f.text)}</li>"
            for f in found.findings
        ]
        said += ["<ul>", *rows, "</ul>"]
    return said


def _parts(found: Audit) -> list[str]:
    totals = "<br>".join(escape(line) for line in report.totals(found).splitlines())
    return [
        "<h2>Where the state lives</h2>",
        f"<p>Parts after {found.handoff} tokens; constants are left out.</p>",
        _table(*report.parts(found, most=None)),
        f"<p>{totals}</p>",
    ]


def _growth(found: Audit) -> list[str]:
    if found.growth is None:
        return []
    from statebound.experiments.figures import survival as figures

    grown = found.growth
    text = (
        "The size is fixed."
        if grown.fixed
        else (
            f"It grows by {grown.numbers_a_token:g} numbers, {grown.bits_a_token:g} bits, a token "
            "at the longest lengths tried."
        )
    )
    data = found.record()["growth"]
    return ["<h2>Growth</h2>", f"<p>{text}</p>", svg(figures.growth(data), "growth")]


def _survival(held: Survival) -> list[str]:
    said = ["<h2>What survives rounding</h2>"]
    if held.reason:
        return [*said, f"<p>Not measured: {escape(held.reason)}.</p>"]
    from dataclasses import asdict

    from statebound.experiments.figures import survival as figures

    data = asdict(held)
    said.append(f"<p>{escape(report.measured(held))}</p>")
    said.append(svg(figures.rounding(data["levels"], data["floor"]), "rounding"))
    alone = figures.kinds(data["levels"], data["floor"])
    if alone is not None:
        said += [
            "<p>One kind of part rounded, the others as they are:</p>",
            svg(alone, "kinds"),
        ]
    said.append(_table(*report.levels(held)))
    if held.no_steps:
        said.append(f"<p>Not rounded at every step: {escape(held.no_steps)}.</p>")
    said.append(f"<p>{escape(report.mixture(held))}</p>")
    said.append("<h2>Retrieval against the wall</h2>")
    for task in held.recall:
        heading = f"{task.task}, n = {task.n} ({task.prompt})"
        if not task.does:
            heading += f": {task.reason}"
        said.append(f"<p>{escape(heading)}.</p>")
    drawn = figures.recall(data["recall"])
    if drawn is not None:
        said += [svg(drawn, "recall"), _table(*report.recalled(held))]
    return said


def _reproduce(found: Audit, command: Sequence[str]) -> list[str]:
    versions = {"statebound": found.version, "python": platform.python_version()}
    for name in ("numpy", "torch", "transformers"):
        if name in sys.modules:
            versions[name] = metadata.version(name)
    rows = [f"{name} {version}" for name, version in versions.items()]
    return [
        "<h2>How to reproduce</h2>",
        f"<pre>{escape(shlex.join(command))}</pre>",
        f"<p>Seed {found.seed}; {escape(', '.join(rows))}.</p>",
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def svg(figure: Any, name: str) -> str:
    """Return a figure as an SVG element that refers to nothing outside."""
    import matplotlib

    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        about = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=about)
    text = buffer.getvalue().decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href=", "href=")
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    return f'<figure role="img" aria-label="{name}">{text}</figure>'
