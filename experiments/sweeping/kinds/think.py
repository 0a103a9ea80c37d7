"""Bobs who think aloud, `statebound think`: rows by machine and number of tokens."""

from __future__ import annotations

from typing import Any

from statebound.experiments.ranges import number_list
from statebound.experiments.request import Request


def rows(
    *,
    n: int,
    problem: str = "index",
    model: str | None = None,
    code: str | None = None,
    numbers: int | None = None,
    bits: int | None = None,
    state_bits: int | None = None,
    regime: str = "handoff",
    tokens: str = "0,1,2,4,8,16,32,64",
    machine_seed: int = 0,
    temperature: float = 0.0,
    query_law: str = "uniform",
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return the rows of one model or one code; see `statebound.experiments.think.think`."""
    from statebound.experiments.think import think

    return think(
        Request(problem, n, query_law=query_law).make_problem(),
        models=() if model is None else (model,),
        codes=() if code is None else (code,),
        numbers=numbers,
        bits=bits,
        state_bits=state_bits,
        regime=regime,
        tokens=number_list(tokens, "tokens"),
        machine_seeds=(machine_seed,),
        temperature=temperature,
        seed=seed,
    )
