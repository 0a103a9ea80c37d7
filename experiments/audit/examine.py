"""The audit: every check in turn, and what follows from them."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from statebound import __version__
from statebound.experiments.audit import elsewhere, splits, walk
from statebound.experiments.audit.bench import Bench, Plan, distance, plan
from statebound.experiments.audit.cut import MODEL, STATE, Cut, Run, name
from statebound.experiments.audit.growth import History, growth, history
from statebound.experiments.audit.liveness import Probe
from statebound.experiments.audit.parts import inventory, sums
from statebound.experiments.audit.record import (
    FATAL,
    NOTE,
    WRONG,
    Audit,
    Finding,
    Growth,
    Part,
    Split,
)
from statebound.experiments.audit.subject import Subject

MOST_NAMED = 6


def audit(subject: Subject, *, seed: int = 0, how: Plan | None = None) -> Audit:
    """Audit a subject.

    Parameters
    ----------
    subject
        As `statebound.experiments.audit.load.load` or `subject.adapt` return it.
    seed
        Of the tokens and the noise.
    how
        How much is tried; by default what the subject's windows and kernels ask for.

    Returns
    -------
    The record; half-precision models are checked in float32 and sized as they are.
    """
    return _Examination(subject, seed, how).result()


class _Examination:
    """The checks, in an order in which each may use what those before it found."""

    def __init__(self, subject: Subject, seed: int, how: Plan | None) -> None:
        self.native, self.seed = subject, seed
        self.findings: list[Finding] = []
        self.checked_in, precision = subject.precision()
        if precision > np.finfo(np.float32).eps:
            subject = subject.widened()
            self.checked_in, precision = "float32", float(np.finfo(np.float32).eps)
        self.subject = subject
        plain = walk.is_module(subject.model) or any(
            walk.is_module(held) for _, held in walk.objects(subject.model)
        )
        if not plain:  # numpy or Python: nothing says in which precision it computes
            self.checked_in, precision = "as it is", float(np.finfo(np.float32).eps)
        before = elsewhere.fingerprint(subject.model)
        made = how or plan(subject.landmarks, subject.windows)
        self.bench = Bench(subject, made, seed, precision=precision)
        self.outside = self._written(before)
        self.mutates = False

    def _written(self, before: dict[str, str]) -> list[str]:
        """Return what runs write to outside the model.

        Two inputs are read that differ in their last token: after one of them a place may
        hold by chance what it held before.
        """
        found = []
        for tokens in (self.bench.x, self.bench.other):
            self.bench.run(tokens[: self.bench.plan.tokens])
            found += elsewhere.changed(before, elsewhere.fingerprint(self.subject.model))
        return list(dict.fromkeys(found))

    def say(self, code: str, severity: str, text: str) -> None:
        self.findings.append(Finding(code, severity, text))

    def result(self) -> Audit:
        bench = self.bench
        self.repeatable()
        ready = splits.pairs(bench)
        found = self.split(ready)
        bench.cut.positions = self.needs_positions  # else counters inside would seem dead
        probe = Probe(bench, *ready[bench.plan.middle])
        consumed = self.consumed(probe)
        self.in_place(ready[bench.plan.middle][0])
        held, grown = self.sizes()
        parts = inventory(bench, probe, held, grown)
        self.dead(parts)
        totals = sums(parts, bench.plan.middle if self._counts(parts) else 0)
        self.walked(ready[bench.plan.middle][0])
        way = self.conclude(found)
        self.hidden(found, parts)
        fatal = any(f.severity == FATAL for f in self.findings)
        order = (FATAL, WRONG, NOTE)
        return Audit(
            version=__version__,
            subject=self.subject.name,
            kind=self.subject.kind,
            facts=self.subject.facts,
            seed=self.seed,
            vocabulary=self.subject.vocabulary,
            tokens=bench.plan.tokens,
            handoff=bench.plan.middle,
            checked_in=self.checked_in,
            tolerance=bench.tolerance / bench.scale if bench.scale else 0.0,
            calls=bench.cut.calls,
            ok=not fatal,
            continue_with=None if fatal else way,
            step_ok=found["steps"].right,
            chunk_ok=found["chunks"].right
            and (found["after chunks"].right or not found["steps"].right),
            needs_positions=self.needs_positions,
            state_consumed=consumed,
            hidden=self.hidden_paths,
            outside=tuple(self.outside),
            mutates_in_place=self.mutates,
            splits=tuple(found.values()),
            parts=parts,
            growth=grown,
            sizes=totals,
            findings=tuple(sorted(self.findings, key=lambda f: order.index(f.severity))),
        )

    def repeatable(self) -> None:
        """Two equal runs, a run after another one, and a changed future."""
        bench = self.bench
        x, total = bench.x[: bench.plan.tokens], bench.plan.tokens
        bench.run(bench.other[:total])
        again = distance(bench.run(x), bench.whole)
        apart = max(bench.noise, again)
        if apart > bench.tolerance:
            if self._seeded(x):
                self.say(
                    "random", FATAL, "equal runs differ unless random seeds are set before each"
                )
            elif self.outside:
                self.say(
                    "state-outside",
                    FATAL,
                    "a run changes what a fresh copy of the model says: it writes to "
                    f"{_some(self.outside)}",
                )
            else:
                self.say(
                    "state-outside",
                    FATAL,
                    "a run changes what a fresh copy of the model says, by way of something that "
                    "was not found (a closure, a file, another library)",
                )
        elif self.outside:
            self.say("writes-outside", NOTE, f"a run writes to {_some(self.outside)}")
        later = np.concatenate([x[: total // 2], bench.other[total // 2 : total]])
        if distance(bench.run(later)[: total // 2], bench.whole[: total // 2]) > bench.tolerance:
            self.say(
                "reads-ahead",
                FATAL,
                "outputs depend on tokens that come later, so no prefix has a state of its own",
            )
        run = bench.cut.begin()
        bench.cut.step(run, x)
        reused = Run(self.subject.fresh(run.model), run.model)
        left = distance(bench.cut.step(reused, x), bench.whole)
        if left > bench.tolerance and apart <= bench.tolerance:
            self.say(
                "leftovers",
                WRONG,
                "a second run with a fresh state in the same object differs: reading leaves "
                f"something behind in {_some([name((MODEL, *p)) for p in bench.cut.held])}",
            )

    def _seeded(self, x: Any) -> bool:
        """Whether runs agree once seeds are set, whatever was read before."""
        said = []
        torch = sys.modules.get("torch")
        kept = random.getstate(), np.random.get_state()  # noqa: NPY002
        drawn = None if torch is None else torch.random.get_rng_state()
        try:
            for before in (self.bench.other, x):
                self.bench.run(before[: len(x)])
                random.seed(0)
                np.random.seed(0)  # noqa: NPY002  the subject may draw from the global generator
                if torch is not None:
                    torch.manual_seed(0)
                said.append(self.bench.run(x))
        finally:
            random.setstate(kept[0])
            np.random.set_state(kept[1])  # noqa: NPY002
            if torch is not None:
                torch.random.set_rng_state(drawn)
        return distance(*said) <= self.bench.tolerance

    def split(self, ready: dict[int, tuple[Run, Run]]) -> dict[str, Split]:
        """Every way of going on."""
        bench, found = self.bench, {}
        found["steps"] = splits.steps(bench, ready, positions=True)
        found["chunks"], found["after chunks"] = splits.chunks(bench, ready)
        few = dict([*ready.items()][1 :: max(1, len(ready) // 2)])
        self.needs_positions = False
        if self.subject.takes_start:
            bare = splits.steps(bench, few, positions=False)
            found["steps without positions"] = bare
            self.needs_positions = not bare.right and found["steps"].right
        if bench.cut.held:
            found["state alone"] = splits.steps(bench, few, positions=True, hidden=False)
        template = ready[bench.plan.middle][1]
        found["steps from the start"] = splits.from_the_start(bench, template, against_steps=False)
        if not found["steps"].right:
            found["steps against steps"] = splits.from_the_start(
                bench, template, against_steps=True
            )
        return found

    def consumed(self, probe: Probe) -> bool:
        """Whether the state matters at all."""
        other, fresh = probe.consumed()
        stateless = not any(walk.count(value) for value in probe.mine.values())
        if self.subject.swallows:
            self.say("keyword-swallowed", FATAL, self.subject.swallows)
        if stateless:
            self.say("no-state", FATAL, "reading returns no numbers and leaves none in the model")
        elif not other:
            self.say(
                "state-not-consumed",
                FATAL,
                "the state of other tokens in its place changes no output: it is not used",
            )
        elif not fresh:
            self.say("state-not-consumed", FATAL, "a fresh state in its place changes no output")
        ignored = [
            n for n, how in self.subject.facts.get("other_names", {}).items() if how == "ignored"
        ]
        if ignored:
            self.say(
                "swallows",
                NOTE,
                f"the state must be passed as `{self.subject.facts['state_keyword']}`: under "
                f"{', '.join(ignored)} it is ignored in silence",
            )
        self.uses_state = other and fresh and not stateless
        return self.uses_state

    def in_place(self, alice: Run) -> None:
        """Whether going on writes into the state that was handed over."""
        bench = self.bench
        run = bench.cut.fork(alice)
        handed = run.state
        before = {p: walk.digest(v) for p, v in walk.leaves(handed).items()}
        bench.cut.step(run, bench.x[alice.read : alice.read + 1])
        after = {p: walk.digest(v) for p, v in walk.leaves(handed).items()}
        if before != after:
            self.mutates = True
            self.say("mutates", NOTE, "reading writes into the state it is given: copy before use")

    def sizes(self) -> tuple[History, Growth]:
        """Read ever longer prefixes with the model as it is."""
        cut = self.bench.cut
        if self.native is not self.subject:
            cut = Cut(self.native)
            cut.find_held(self.bench.x)
        lengths = tuple(sorted({*self.bench.plan.lengths, self.bench.plan.middle}))
        held = history(cut, self.bench.x, lengths)
        grown = growth(held)
        longest = grown.lengths[-1]
        if not grown.fixed:
            some = [f"{p} (+{k:g} numbers)" for p, k in grown.growing.items()]
            self.say(
                "grows",
                NOTE,
                f"the state grows by {grown.numbers_a_token:g} numbers, {grown.bits_a_token:g} "
                f"bits a token, at n = {longest}: {_some(some)}",
            )
            beyond = [w for w in self.subject.windows if w > grown.lengths[-2]]
            if beyond:
                self.say(
                    "window-not-reached",
                    NOTE,
                    f"a window of {beyond[0]} is configured; lengths up to {longest} were tried",
                )
        return held, grown

    def dead(self, parts: tuple[Part, ...]) -> None:
        """Name what does nothing."""
        own = [p for p in parts if p.kind == "state"]
        dead = [p.path for p in own if p.live is False]
        if dead:
            self.say("dead", NOTE, f"changing it changes no output: {_some(dead)}")
        slices = [f"{p.path} {_slices(p.dead)}" for p in own if p.dead]
        if slices:
            self.say("dead-columns", NOTE, f"these slices do nothing: {_some(slices)}")

    def _counts(self, parts: tuple[Part, ...]) -> bool:
        return self.needs_positions or any(p.counter and p.live for p in parts)

    def walked(self, alice: Run) -> None:
        """What the walk could not read, and parts that depend on the input."""
        if self.bench.cut.learned:
            learned = [name((MODEL, *p)) for p in self.bench.cut.learned]
            mine = self._weights(self.bench.x)
            other = self._weights(self.bench.other)
            if mine != other:
                self.say("learns", FATAL, f"reading changes parameters: {_some(learned)}")
            else:
                self.say(
                    "rescales", NOTE, f"the first reading changes parameters: {_some(learned)}"
                )
        if self.bench.varies:
            self.say(
                "structure-varies",
                WRONG,
                f"{self.bench.varies.partition(': ')[2]}: which parts there are is information too",
            )
        found = [f"{name((STATE, *o.path))} ({o.kind})" for o in walk.opaque(alice.state)]
        if found:
            self.say("opaque", NOTE, f"parts of the state cannot be looked into: {_some(found)}")

    def _weights(self, tokens: Any) -> list[str]:
        run = self.bench.cut.template(tokens[: self.bench.plan.middle])
        return [walk.digest(held.data) for _, held in walk.parameters(run.model)]

    def conclude(self, found: dict[str, Split]) -> str | None:
        """Say which ways of going on are right, and return the one to use."""
        steps, chunks, after = found["steps"], found["chunks"], found["after chunks"]
        if self.needs_positions:
            self.say(
                "needs-positions",
                WRONG,
                "positions must be passed when going on: by default they start from 0 again "
                f"(error {_error(found['steps without positions'])} without)",
            )
        if not chunks.right:
            self.say(
                "wrong-in-chunks",
                WRONG,
                f"going on in chunks is wrong: {_where(chunks, self.bench.refused)}",
            )
        elif not after.right and steps.right:
            self.say(
                "wrong-after-chunks",
                WRONG,
                f"single tokens after a chunk are wrong: {_where(after, self.bench.refused)}",
            )
        if steps.right:
            if not found["steps from the start"].right:
                self.say(
                    "prefill-differs",
                    WRONG,
                    "a state made token by token differs from one made in a call: "
                    f"{_where(found['steps from the start'], self.bench.refused)}",
                )
            return "steps"
        self.say(
            "wrong-in-steps",
            WRONG,
            f"going on token by token is wrong: {_where(steps, self.bench.refused)}",
        )
        if chunks.right:
            return "chunks"
        if found["steps against steps"].right and self.uses_state:
            self.say(
                "another-model",
                WRONG,
                "read token by token all along, the model agrees with itself, and so can be split",
            )
            return "steps from the start"
        self.say(
            "cannot-be-split",
            FATAL,
            f"no way of going on gives the unsplit outputs{self._unseen()}",
        )
        return None

    def _unseen(self) -> str:
        """Say whether a copy of the whole object would have gone on rightly."""
        bench = self.bench
        h = bench.plan.middle
        run = bench.cut.fork(bench.cut.template(bench.x[:h]))
        said = bench.cut.read(run, bench.x[h : h + bench.plan.steps], [])
        right = distance(said, bench.whole[h : h + len(said)]) <= bench.tolerance
        if not right:
            return ""
        where = f"; a run writes to {_some(self.outside)}" if self.outside else ""
        return f", although a copy of the whole object does: a part was not found{where}"

    def hidden(self, found: dict[str, Split], parts: tuple[Part, ...]) -> None:
        """State in the model's attributes: told only where it does something."""
        prefix = name((MODEL,))
        live = [p for p in parts if p.path.startswith(prefix) and p.kind != "constant" and p.live]
        self.hidden_paths = tuple(p.path for p in live)
        if not live:
            return
        lost = found.get("state alone")
        if lost is not None and lost.right:
            self.hidden_paths = ()
            return
        counters = [p.path for p in live if p.counter]
        said = f" ({_some(counters)} counts tokens)" if counters else ""
        without = f"; without it {_where(lost, self.bench.refused)}" if lost is not None else ""
        self.say(
            "hidden-state",
            WRONG,
            f"the model keeps state in itself, outside what it returns: "
            f"{_some(list(self.hidden_paths))}{said}{without}",
        )


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else shown


def _slices(dead: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"axis {axis} place {index}" for axis, index in dead)


def _error(split: Split) -> str:
    return "not a number" if split.error is None else f"{split.error:.1e}"


def _where(split: Split, refused: dict[str, str]) -> str:
    if split.way in refused:
        return refused[split.way]
    at = "" if split.worst is None else f" at handoff {split.worst}"
    return f"error {_error(split)} of the largest output{at}"
