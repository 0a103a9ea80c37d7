"""Put the page together: one file that holds its data, its script and its style.

The data come in four blocks that the script keeps apart: what everybody knows, what Alice
computes, what Bob may look up, and what only the referee knows. A policy in the page itself
forbids the browser to load anything, and to run any script but this one.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound import __version__
from statebound.errors import StateboundError, UsageError
from statebound.experiments.page.grid import BITS, CODES, MODELS, requests, sizes
from statebound.experiments.page.scene import truth, walls
from statebound.experiments.page.traces import SHADES, trace
from statebound.experiments.results import write_atomically

SCRIPTS = ("state.js", "data.js", "draw.js", "parties.js", "figure.js", "gadget.js", "main.js")
MOST_BYTES = 2_000_000

Report = Callable[[int, int, str], None]


def gathered(seed: int, report: Report | None = None) -> dict[str, Any]:
    """Return the page's data: the blocks ``public``, ``alice``, ``bob`` and ``referee``.

    Arrays of bytes are kept once each, in ``pool``, as base64; machines name their place.
    """
    pool: dict[str, int] = {}

    def place(array: NDArray[np.uint8]) -> int:
        text = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return pool.setdefault(text, len(pool))

    machines, alice, bob = [], [], []
    jobs = [request for size in sizes() for request in requests(size)]
    for done, request in enumerate(jobs, 1):
        found = trace(request, seed)
        machines.append(found["row"] | {"collision": found["collision"]})
        parts = {name: place(found[name]) for name in ("values", "messages")}
        alice.append(parts | {"range": found["range"]})
        bob.append(found["bob"])
        if report is not None:
            report(done, len(jobs), f"{request.problem} {request.n}: {request.model}")
    return {
        "public": {
            "models": list(MODELS),
            "codes": list(CODES),
            "bits": list(BITS),
            "shades": SHADES,
            "sizes": [walls(size) for size in sizes()],
            "machines": machines,
        },
        "alice": {"machines": alice, "pool": list(pool)},
        "bob": bob,
        "referee": [truth(size) for size in sizes()],
    }


def embedded(data: Any) -> str:
    r"""Return JSON that is safe inside a script element of HTML.

    Examples
    --------
    >>> embedded({"a": "</script><!--", "b": "é"})
    '{"a":"\\u003c/script\\u003e\\u003c!--","b":"\\u00e9"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def rendered(data: dict[str, Any], command: str) -> str:
    """Return the whole page, given its data and the command that made it."""
    here = files(__package__ or "")
    script = "".join((here / name).read_text("utf-8") for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    style = (here / "page.css").read_text("utf-8")
    made = {"version": __version__, "command": command}
    parts = {
        "VERSION": html.escape(__version__),
        "COMMAND": html.escape(command),
        "SCRIPT_HASH": _hash(script),
        "STYLE_HASH": _hash(style),
        "STYLE": style,
        "SCRIPT": script,
        "PUBLIC": embedded(data["public"] | made),
        "ALICE": embedded(data["alice"]),
        "BOB": embedded(data["bob"]),
        "REFEREE": embedded(data["referee"]),
    }
    pieces = (here / "page.html").read_text("utf-8").split("@@")
    pieces[1::2] = [parts[name] for name in pieces[1::2]]
    return "".join(pieces)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def write(path: Path, seed: int = 0, report: Report | None = None) -> Path:
    """Compute and write the page.

    Parameters
    ----------
    path
        Where to; one HTML file.
    seed
        Of the machines whose parameters are drawn; the same seed gives the same bytes.
    report
        Called with how many machines are done, of how many, and which.

    Raises
    ------
    UsageError
        When the seed is negative, or the path cannot be written.
    StateboundError
        When the page would be larger than it may be.
    """
    if seed < 0:
        raise UsageError("seed", seed, "must not be negative", "pass 0")
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError("html", path, "is not a file in an existing folder", "pass page.html, say")
    again = f" --seed {seed}" if seed else ""
    text = rendered(gathered(seed, report), f"statebound demo --html {path.name}{again}")
    if len(text.encode()) >= MOST_BYTES:
        raise StateboundError(f"{path}: the page has {len(text.encode())} bytes, too many")
    try:
        write_atomically(path, text)
    except OSError as error:
        raise UsageError(
            "html", path, f"cannot be written ({error.strerror or error})", "choose another file"
        ) from error
    return path
