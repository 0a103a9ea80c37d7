"""A terminal that gives single keys, and is given back as it was whatever happens."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import sys
from collections.abc import Generator
from types import FrameType
from typing import NoReturn

FORWARD, BACK, QUIT = "forward", "back", "quit"

_KEY = re.compile(rb"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])|[\xc0-\xff][\x80-\xbf]*|.", re.DOTALL)
_BACK = {b"b", b"B", b"\x7f", b"\x08", b"\x1b[D", b"\x1b[A", b"\x1bOD", b"\x1bOA", b"\x1b[5~"}
_QUIT = {b"q", b"Q", b"\x04"}
_OPEN, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"  # other screen, cursor
_POLL = 0.2  # seconds between looks at the size of the terminal


def steppable() -> bool:
    """Return whether keys can be read and a screen be drawn."""
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        import termios  # noqa: F401  (not everywhere)
    except ImportError:
        return False
    return os.environ.get("TERM", "dumb") != "dumb"


def meanings(read: bytes) -> list[str]:
    r"""Return what the keys in some bytes mean.

    Examples
    --------
    >>> meanings(b"x bq"), meanings(b"\x1b[C\x1b[D")
    (['forward', 'forward', 'back', 'quit'], ['forward', 'back'])
    """
    keys: list[bytes] = _KEY.findall(read)
    return [BACK if key in _BACK else QUIT if key in _QUIT else FORWARD for key in keys]


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def screen() -> Generator[None]:
    """Take the terminal: no line editing, no echo, a screen of its own, no cursor.

    Ctrl-C interrupts as ever. At the end, also after a signal, all is as before.
    """
    import termios

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    ended = [signal.SIGTERM, signal.SIGHUP]
    handlers = {number: signal.signal(number, _leave) for number in ended}
    try:
        ours = termios.tcgetattr(fd)
        ours[3] &= ~(termios.ICANON | termios.ECHO)
        ours[6][termios.VMIN], ours[6][termios.VTIME] = 1, 0
        ours[6][termios.VSUSP] = os.fpathconf(fd, "PC_VDISABLE").to_bytes(1, "little")
        termios.tcsetattr(fd, termios.TCSADRAIN, ours)
        sys.stdout.write(_OPEN)
        sys.stdout.flush()
        yield
    finally:
        interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN)  # not half way
        try:
            with contextlib.suppress(OSError):  # the terminal may be gone
                sys.stdout.write(_CLOSE)
                sys.stdout.flush()
            with contextlib.suppress(termios.error):
                termios.tcsetattr(fd, termios.TCSAFLUSH, before)
        finally:
            signal.signal(signal.SIGINT, interrupts)
            for number, handler in handlers.items():
                signal.signal(number, handler)


def pressed() -> Generator[str | None]:
    """Yield what keys mean as they come, and None now and then while none come.

    The end of the input means to quit.
    """
    fd = sys.stdin.fileno()
    while True:
        if not select.select([fd], [], [], _POLL)[0]:
            yield None
            continue
        try:
            read = os.read(fd, 64)
        except OSError:  # hung up
            read = b""
        yield from meanings(read) or [QUIT]
