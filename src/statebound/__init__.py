"""statebound: executable communication lower bounds for fixed-state sequence models.

The functions here are the command line's verbs with the same argument names; they
return plain records. Everything heavy is imported when it is first used.

Examples
--------
>>> import statebound
>>> statebound.limits("index", n=7, state_bits=4)["ball_fraction"]
'7/8'
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "limits", "load", "measure"]


def measure(problem: str, n: int, **arguments: Any) -> dict[str, Any]:
    """Measure one point and return its row.

    Parameters
    ----------
    problem, n
        The problem and its size.
    arguments
        Any of ``statebound measure``'s options, underscores for dashes; ``settings``
        is a dict of config overrides.

    Returns
    -------
    A dict with the keys that ``statebound measure`` prints; ``violates_wall`` tells
    whether a bit went uncounted.

    Raises
    ------
    statebound.errors.UsageError
        When an argument does not exist or fit.

    Examples
    --------
    >>> row = measure("index", 8, model="sliding_window", numbers=4)
    >>> row["state_bits"], row["success_fraction"]
    (4, '3/4')
    """
    from statebound.experiments.measure import measure as work
    from statebound.experiments.request import Request

    return work(Request(problem, n, **_known(arguments, "measure"))).row


def compare(
    problem: str, n: int, a: str | dict[str, Any], b: str | dict[str, Any], **shared: Any
) -> dict[str, Any]:
    """Measure two machines on the same inputs and return the difference of their successes.

    Parameters
    ----------
    problem, n
        The problem and its size.
    a, b
        A model, a protocol, a ``.safetensors`` file, a stored row as ``FOLDER#TASK``, or a dict
        of `measure`'s arguments.
    shared
        Arguments of `measure` that hold for both, such as ``engine`` and ``seed``.

    Returns
    -------
    A dict with the keys that ``statebound compare --json`` prints.

    Raises
    ------
    statebound.errors.UsageError
        When an argument does not exist or fit.

    Examples
    --------
    >>> a, b = ({"model": "sliding_window", "numbers": w} for w in (4, 2))
    >>> found = compare("index", 8, a, b)
    >>> found["difference_fraction"], found["better"], found["state_bits_difference"]
    ('1/8', 'a', 2)
    """
    from statebound.experiments.compare import compare as work
    from statebound.experiments.request import Request
    from statebound.experiments.sides import machine

    both = Request(problem, n, **_known(shared, "compare"))
    both.make_problem()
    sides = [
        machine(given, {}, side, both)
        if isinstance(given, str)
        else machine(None, given, side, both)
        for side, given in (("a", a), ("b", b))
    ]
    return work(*sides)


def _known(arguments: dict[str, Any], of: str) -> dict[str, Any]:
    """Return the arguments, all of which a request has."""
    from statebound.errors import UsageError
    from statebound.experiments.request import Request

    known = Request.__dataclass_fields__
    for name, value in arguments.items():
        if name not in known:
            raise UsageError(
                name, value, f"is not an argument of {of}", f"choose from {', '.join(known)}"
            )
    return arguments


def limits(
    problem: str,
    n: int,
    *,
    state_bits: int | None = None,
    success: float | str | Fraction | None = None,
    alphabet: int | None = None,
    query_law: str = "uniform",
    options: dict[str, int | str | bool] | None = None,
) -> dict[str, Any]:
    """Return what no protocol can pass: for M bits, or the bits for a success.

    Examples
    --------
    >>> limits("index", 23, state_bits=12)["ball_fraction"]
    '897/1024'
    """
    from statebound.errors import UsageError
    from statebound.experiments.request import Request
    from statebound.protocols.limits import report

    made = Request(problem, n, alphabet, query_law, options or {}).make_problem()
    if state_bits is not None and success is None:
        return report.limits(made, state_bits)
    if success is not None and state_bits is None:
        return report.bits_needed(made, success)
    raise UsageError(
        "state_bits",
        state_bits,
        "exactly one of state_bits and success must be given",
        "pass one of them",
    )


def load(folder: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a results folder, a dict each.

    Numbers, texts and null are plain; ``pandas.DataFrame(statebound.load(folder))`` and
    ``polars.DataFrame(statebound.load(folder))`` make a frame of them. ``statebound export``
    writes the same rows to a file, lists and dicts as JSON text.

    Raises
    ------
    statebound.errors.StateboundError
        When the folder holds no results, or two rows of one task disagree.
    """
    from statebound.experiments.results import load as read

    return read(folder)
