"""The inventory of a state: every leaf, what it is, what it holds, and their sums."""

from __future__ import annotations

from statebound.experiments.audit import walk
from statebound.experiments.audit.bench import Bench
from statebound.experiments.audit.cut import name
from statebound.experiments.audit.growth import History
from statebound.experiments.audit.liveness import Probe, living
from statebound.experiments.audit.record import Growth, Part, Sizes


def inventory(bench: Bench, probe: Probe, held: History, grown: Growth) -> tuple[Part, ...]:
    """Return every leaf of the state at the probed handoff; those that are None left out.

    A tensor that is met at a second path is counted at the first alone.
    """
    message = held.messages[bench.plan.middle]
    aliases = bench.cut.aliases(bench.cut.template(bench.x[: bench.plan.middle]))
    kinds = {
        path: _kind(probe, held, path)
        for path, value in probe.mine.items()
        if value is not None and path not in aliases
    }
    tried = [p for p, kind in kinds.items() if kind != "constant" and not bench.varies]
    live = {path: probe.alive(path) for path in tried}
    dead: dict[walk.Path, list[tuple[int, int]]] = {path: [] for path in kinds}
    axes = [(size, at, axis) for at, p in enumerate(tried) for size, axis in probe.axes(p)]
    for _, at, axis in sorted(axes):  # short ones first: convolutions before long windows
        path = tried[at]
        if live[path]:
            dead[path] += [(axis, index) for index in probe.dead(path, axis) or ()]
    made = []
    for path, kind in kinds.items():
        value = message.get(path, probe.mine[path])
        alone = live.get(path)
        shape, numbers = walk.shape(value), walk.count(value)
        alive = 0 if alone is False else living(shape, dead[path]) if shape else numbers
        made.append(
            Part(
                path=name(path),
                dtype=walk.dtype_name(value),
                shape=shape,
                numbers=numbers,
                bits=walk.bits(value),
                kind=kind,
                counter=held.counter(path),
                live=alone,
                dead=tuple(sorted(dead[path])),
                live_numbers=alive,
                live_bits=walk.bits(value) * alive // max(1, numbers),
                grows=grown.growing.get(name(path), 0.0),
            )
        )
    return tuple(made)


def _kind(probe: Probe, held: History, path: walk.Path) -> str:
    if path not in probe.other or not walk.same(probe.mine[path], probe.other[path]):
        return "state"
    return "constant" if held.constant(path) else "public"


def sums(parts: tuple[Part, ...], positions: int) -> Sizes:
    """Return totals; `positions` is n where a position has to be known, else 0.

    Examples
    --------
    >>> sums((), 12).counter_bits, sums((), 0).counter_bits
    (4, 0)
    """
    own = [p for p in parts if p.kind == "state"]
    public = [p for p in parts if p.kind == "public"]
    by_dtype: dict[str, int] = {}
    for p in own:
        by_dtype[p.dtype] = by_dtype.get(p.dtype, 0) + p.bits
    return Sizes(
        stored_numbers=sum(p.numbers for p in own),
        stored_bits=sum(p.bits for p in own),
        live_numbers=sum(p.live_numbers for p in own),
        live_bits=sum(p.live_bits for p in own),
        public_numbers=sum(p.numbers for p in public),
        public_bits=sum(p.bits for p in public),
        counter_bits=positions.bit_length(),  # ceil(log2(n + 1))
        by_dtype=by_dtype,
    )
