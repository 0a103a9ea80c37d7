"""Which machines the page holds: a grid small enough to be computed while one waits.

Every setting is a `Request`, as the command line makes one, so that each machine of the
page can be measured again by the command that stands beside it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from statebound.errors import UsageError
from statebound.experiments.request import Request, subject
from statebound.reductions.machine import CutMachine

MODELS = ("sliding_window", "linear_attention", "gru")
CODES = ("hamming", "linear", "majority")
BITS = (1, 2, 4)
NUMBERS = {  # symbols that Alice reads -> totals of numbers in the state
    4: (1, 2, 3, 4),
    6: (1, 2, 3, 4, 6),
    7: (1, 2, 3, 4, 5, 7),
    8: (1, 2, 3, 4, 6, 8),
    10: (1, 2, 3, 4, 6, 8, 10),
}
BEYOND = 2  # a state is shown to so many times the bits that Alice reads
_EXTRA_VERTICES = 2  # IsTree reads so many symbols fewer than it has vertices


@dataclass(frozen=True)
class Size:
    """One problem at one size: its name, its n, and how many symbols Alice reads."""

    problem: str
    n: int
    length: int


def sizes() -> list[Size]:
    """Return the problems of the page at all their sizes.

    Examples
    --------
    >>> [(s.problem, s.n) for s in sizes()][:6]
    [('index', 4), ('index', 6), ('index', 7), ('index', 8), ('index', 10), ('istree', 6)]
    """
    index = [Size("index", length, length) for length in NUMBERS]
    return index + [Size("istree", length + _EXTRA_VERTICES, length) for length in NUMBERS]


def requests(size: Size) -> Iterator[Request]:
    """Yield what is asked at one size: every model, total of numbers, and bits a number."""
    for model in MODELS:
        for numbers in NUMBERS[size.length]:
            for bits in BITS:
                if numbers * bits <= BEYOND * size.length:
                    yield Request(size.problem, size.n, model=model, numbers=numbers, bits=bits)


def built(request: Request, seed: int) -> tuple[Request, CutMachine]:
    """Return a request with the seed of its parameters, and the machine that it names.

    The seed goes to machines whose parameters are drawn or constructed; trained ones that
    are shipped have none.
    """
    seeded = request if seed == 0 else replace(request, machine_seed=seed)
    try:
        machine = subject(seeded)
    except UsageError as error:
        if error.argument != "machine_seed":
            raise
        seeded = request
        machine = subject(seeded)
    assert isinstance(machine, CutMachine)
    return seeded, machine


def command(request: Request) -> str:
    """Return the command that measures a request of the page.

    Examples
    --------
    >>> command(Request("index", 7, model="gru", numbers=4, bits=1))
    'statebound measure index --n 7 --model gru --numbers 4 --bits 1'
    """
    words = ["statebound", "measure", request.problem, "--n", str(request.n)]
    for name in ("model", "protocol", "numbers", "bits", "machine_seed", "state_bits"):
        value: Any = getattr(request, name)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)
