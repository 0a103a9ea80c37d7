"""Demonstrations in a terminal of their own: keys, interrupts, and what is left behind."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

TAKE = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
OPEN, CLOSE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"


class Terminal:
    """A pseudo-terminal with a demonstration in it."""

    def __init__(self, *words, columns=80, rows=24, **environment):
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE, sys.executable, "-m", "statebound", "demo", *words],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env=env | {"TERM": "xterm-256color"} | environment,
        )

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, wanted, seconds=60.0):
        """Read until something comes; return what came, and forget it."""
        end = time.monotonic() + seconds
        while wanted not in self.seen:
            left = end - time.monotonic()
            assert left > 0, f"{wanted!r} did not come: {self.seen[-500:]!r}"
            if select.select([self.master], [], [], left)[0]:
                self.seen += os.read(self.master, 4096)
        came, _, self.seen = self.seen.partition(wanted)
        return came + wanted

    def press(self, keys):
        os.write(self.master, keys)

    def end(self):
        """Wait for the end; return the exit code and what else came."""
        rest = self.seen
        end = time.monotonic() + 60
        while self.process.poll() is None or select.select([self.master], [], [], 0)[0]:
            assert time.monotonic() < end, "does not end"
            if select.select([self.master], [], [], 0.02)[0]:
                rest += os.read(self.master, 4096)
        assert termios.tcgetattr(self.slave) == self.before
        return self.process.returncode, rest

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal():
    opened = []

    def start(*words, **options):
        opened.append(Terminal(*words, **options))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_forward_back_and_quit(terminal):
    shown = terminal("istree")
    assert OPEN in shown.until(b"1/")
    during = termios.tcgetattr(shown.slave)
    assert not during[3] & (termios.ICANON | termios.ECHO)
    assert during[3] & termios.ISIG
    shown.press(b"x")
    shown.until(b"2/")
    shown.press(b" ")
    shown.until(b"3/")
    shown.press(b"b")
    shown.until(b"2/")
    shown.press(b"bb")  # not before the first
    shown.until(b"1/")
    shown.until(b"1/")
    shown.press(b"\x1b[C")
    shown.until(b"2/")
    shown.press(b"q")
    code, rest = shown.end()
    assert code == 0
    assert rest.endswith(CLOSE)


def test_the_end_stays_on_the_screen(terminal):
    shown = terminal("limit", "--n", "3", "--state-bits", "1", NO_COLOR="1")
    shown.until(b"1/")
    shown.press(b" " * 60)
    code, rest = shown.end()
    assert code == 0
    left = rest.partition(CLOSE)[2]
    assert "The best code" in left.decode()
    assert b"\x1b[38" not in rest  # no colours
    assert b"quit" not in left


@pytest.mark.parametrize(
    ("send", "code"), [(b"\x03", 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupt_gives_the_terminal_back(terminal, send, code):
    shown = terminal("istree")
    shown.until(b"1/")
    if isinstance(send, bytes):
        shown.press(send)
    else:
        shown.process.send_signal(send)
    left, rest = shown.end()
    assert left == code
    assert CLOSE in rest
    assert b"Traceback" not in rest


def test_a_narrow_terminal_and_one_that_changes(terminal):
    shown = terminal("istree", "--n", "12", columns=40, rows=10)
    screen = shown.until(b"1/").decode()
    assert "\x1b[" in screen
    lines = screen.rpartition("\x1b[2J")[2].split("\r\n")
    assert all(len(_plain(line)) <= 40 for line in lines)
    assert len(lines) == 10
    shown.until(b"quit")
    shown.resize(60, 12)
    again = shown.until(b"1/").decode().rpartition("\x1b[2J")[2].split("\r\n")
    assert len(again) == 12
    assert max(len(_plain(line)) for line in again) == 60
    shown.press(b"q")
    assert shown.end()[0] == 0


def _plain(line):
    out, inside = "", False
    for char in line:
        if char == "\x1b":
            inside = True
        elif not inside:
            out += char
        elif char.isalpha():
            inside = False
    return out


def test_by_the_clock(terminal):
    shown = terminal("istree", "--auto", "--pause", "0.01")
    code, rest = shown.end()
    assert code == 0
    assert OPEN not in rest
    assert "Alice's stars" in rest.decode()
    assert b"Never wrong takes" in rest
    slow = terminal("istree", "--auto", "--pause", "600")
    slow.until(b"hubs")
    slow.press(b"\x03")
    assert slow.end()[0] == 130
