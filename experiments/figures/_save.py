"""Write a figure as PNG and SVG, whole or not at all, with where it came from inside."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from statebound import __version__
from statebound.errors import StateboundError
from statebound.experiments.results import check_stem, write_atomically

DPI = 200
_SALT = "statebound"  # names inside an SVG are hashes; a fixed salt repeats them


def save(figure: Figure, stem: Path, command: str, digest: str) -> list[Path]:
    """Write ``stem.png`` and ``stem.svg``; equal figures give equal bytes.

    Parameters
    ----------
    figure
        What to write; its canvas becomes an Agg canvas.
    stem
        The path without an ending; its folder is made where it is missing.
    command
        The command line that made the figure, as a user would type it.
    digest
        The hash of the data that the figure shows, in hexadecimal digits.

    Returns
    -------
    list of Path
        The two files. Both hold the command as ``Description`` and the hash as
        ``Source``: text chunks of the PNG, Dublin Core in the SVG. Neither has a date.

    Raises
    ------
    StateboundError
        When a file cannot be written; the one that was there before is then intact.
    UsageError
        When the stem names no file.
    """
    check_stem(stem)
    about = {"Description": _printable(command), "Source": f"sha256:{_printable(digest)}"}
    creator = f"statebound {__version__}"
    FigureCanvasAgg(figure)
    contents: dict[Path, bytes] = {}
    with matplotlib.rc_context({"svg.hashsalt": _SALT, "svg.fonttype": "path"}):
        for ending, facts in (
            ("png", {"Software": creator}),
            ("svg", {"Creator": creator, "Date": None}),
        ):
            buffer = BytesIO()
            figure.savefig(buffer, format=ending, dpi=DPI, metadata=about | facts)
            contents[stem.with_name(f"{stem.name}.{ending}")] = buffer.getvalue()
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            write_atomically(path, content)
    except OSError as error:
        raise StateboundError(
            f"{stem}: the figure cannot be written ({error.strerror or error}); "
            "choose a writable folder"
        ) from error
    return list(contents)


def _printable(text: str) -> str:
    """Escape what XML cannot hold: control characters and halves of surrogates."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )
