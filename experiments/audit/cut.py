"""A subject cut in two: read, take the message out, write it into another run.

A message is the leaves of the returned state and of those attributes of the model that a
reading changes. Bob restores it into a template: a fresh model that has read other tokens of
the same length, so nothing crosses but the leaves, whatever else the objects hold.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from statebound.errors import StateboundError
from statebound.experiments.audit import walk
from statebound.experiments.audit.subject import Outputs, Subject, Tokens, quiet

STATE: walk.Step = ("attr", "state")
MODEL: walk.Step = ("attr", "model")
INNER: walk.Step = ("attr", "_inner")
Message = dict[walk.Path, Any]


class StructureError(StateboundError):
    """A state of one input has other parts than that of another input of the same length."""


@dataclass
class Run:
    """A reading under way: the state, the model that holds the rest of it, tokens read."""

    state: Any
    model: Any
    read: int = 0


class Cut:
    """Runs of a subject that can be stopped, sent and resumed.

    Parameters
    ----------
    subject
        What to cut.
    positions
        Whether to pass the number of tokens read, where the subject takes it.
    """

    def __init__(self, subject: Subject, *, positions: bool = True) -> None:
        self.subject, self.positions = subject, positions
        self.held: tuple[walk.Path, ...] = ()
        self.learned: tuple[walk.Path, ...] = ()
        self.calls = 0
        self._idle: Any = None

    def begin(self) -> Run:
        """Return a run of a fresh model that has read nothing."""
        model = self.model()
        return Run(self.subject.fresh(model), model)

    def model(self) -> Any:
        """Return a fresh model; one for all runs where reading changes nothing in it."""
        if self._idle is None:
            return self.subject.copy(shared=not self.learned)
        return self._idle

    def find_held(self, tokens: Tokens) -> tuple[walk.Path, ...]:
        """Find the attributes of the model that readings change, and remember them.

        Calls of several tokens and of one are tried, as they are often different code.
        """
        run = Run(None, self.subject.copy(shared=False))
        run.state = self.subject.fresh(run.model)
        seen, weights = [_marks(run.model)], _versions(run.model)
        for size in (5, 1, 3):
            with nullcontext() if not run.read else suppress(StateboundError):  # told by splits
                self.step(run, tokens[run.read : run.read + size])
            seen.append(_marks(run.model))
        paths = dict.fromkeys(p for marks in reversed(seen) for p in marks)
        moved = [p for p in paths if len({marks.get(p) for marks in seen}) > 1]
        self.held = tuple(dict.fromkeys(_holder(self.subject.model, p) for p in moved))
        after = _versions(run.model)
        self.learned = tuple(p for p in after if after[p] != weights.get(p))
        if not self.held and not self.learned:
            self._idle = self.subject.copy()
        return self.held

    def step(self, run: Run, tokens: Tokens, *, positions: bool | None = None) -> Outputs:
        """Read tokens in one call; `run` itself goes on."""
        told = self.positions if positions is None else positions
        start = run.read if told else None
        outputs, run.state = self.subject.read(run.model, tokens, run.state, start)
        run.read += len(tokens)
        self.calls += 1
        return outputs

    def read(
        self, run: Run, tokens: Tokens, sizes: Iterable[int], *, positions: bool | None = None
    ) -> Outputs:
        """Read all tokens in calls of these sizes; whatever is left over comes one by one."""
        parts, at = [], 0
        for size in sizes:
            parts.append(self.step(run, tokens[at : at + size], positions=positions))
            at += size
        parts.extend(
            self.step(run, tokens[one : one + 1], positions=positions)
            for one in range(at, len(tokens))
        )
        return np.concatenate(parts)

    def fork(self, run: Run) -> Run:
        """Return a copy of a run, so that the run itself is not changed by going on."""
        with quiet():
            state, model = copy.deepcopy(run.state), run.model
            if self.learned:
                model = copy.deepcopy(model)
            elif self._idle is None:
                model = self.subject.copy()
                for path in self.held:
                    _put(model, path, copy.deepcopy(_get(run.model, path)))
        return Run(state, model, run.read)

    def transplant(self, run: Run) -> Run:
        """Return a copy of a run whose returned state meets a model that has read nothing."""
        with quiet():
            return Run(copy.deepcopy(run.state), self.model(), run.read)

    def leaves(self, run: Run, *, hidden: bool = True) -> Message:
        """Return all leaves themselves, not copies; without `hidden`, as `message`."""
        found = {(STATE, *path): value for path, value in walk.leaves(run.state).items()}
        if hidden:
            for path in self.held:
                value = _get(run.model, path)
                found |= {(MODEL, *path, *rest): v for rest, v in walk.leaves(value).items()}
        return found

    def message(self, run: Run, *, hidden: bool = True) -> Message:
        """Return copies of all leaves; without `hidden`, of the returned state alone."""
        found = self.leaves(run, hidden=hidden)
        with quiet():
            return {path: copy.deepcopy(value) for path, value in found.items()}

    def aliases(self, run: Run) -> dict[walk.Path, walk.Path]:
        """Return the paths of tensors and arrays that are also at an earlier path, and that one."""
        seen: dict[tuple[int, ...], walk.Path] = {}
        found = {}
        for path, value in self.leaves(run).items():
            where = walk.place(value)
            if where is not None:
                first = seen.setdefault(where, path)
                if first != path:
                    found[path] = first
        return found

    def template(self, tokens: Tokens, sizes: Sequence[int] | None = None) -> Run:
        """Return a run that has read these tokens, in one call unless sizes are given."""
        run = self.begin()
        if len(tokens):
            self.read(run, tokens, [len(tokens)] if sizes is None else sizes)
        return run

    def restore(self, template: Run, message: Message, *, hidden: bool = True) -> Run:
        """Return the template with the message in place of its own leaves.

        Without `hidden` the model is one that has read nothing, so that what it keeps in
        itself is missing.

        Raises
        ------
        StructureError
            When the two have other leaves, or leaves of other shapes.
        """
        made = self.fork(template)
        if not hidden:
            made.model = self.model()
        own = self.message(template, hidden=hidden)
        different = [
            path
            for path in [*message, *own]
            if path not in own
            or path not in message
            or walk.shape(own[path]) != walk.shape(message[path])
        ]
        if different:
            raise StructureError(
                f"{self.subject.name}: the parts of the state depend on what was read "
                f"({name(different[0])})"
            )
        self.write(made, message)
        return made

    def write(self, run: Run, message: Message) -> None:
        """Put leaves into a run in place of its own; it must have them."""
        with quiet():
            for (part, *rest), value in message.items():
                if part == STATE:
                    run.state = walk.assign(run.state, tuple(rest), value)
                else:
                    walk.assign(run.model, tuple(rest), value)


def name(path: walk.Path) -> str:
    """Return a message's path for people: state.layers[0] or model.layer.memory.

    What an adapter wraps is in its attribute ``_inner``, which is left out.
    """
    return walk.text(tuple(step for step in path if step != INNER))


def _marks(model: Any) -> dict[walk.Path, str]:
    """Return a digest of every attribute that is no parameter."""
    return {path: walk.digest(value) for path, value in walk.leaves(model).items()}


def _versions(model: Any) -> dict[walk.Path, tuple[int, int]]:
    """Return what changes when a parameter is written to or replaced."""
    return {path: (id(held), held._version) for path, held in walk.parameters(model)}


def _holder(model: Any, path: walk.Path) -> walk.Path:
    """Return the attribute of an unread model that holds what is at `path`.

    A list that grows has other items later, so the list is held and not its items.
    """
    ends = [i for i, (kind, _) in enumerate(path) if kind == "attr"]
    for end in reversed(ends):
        try:
            walk.at(model, path[:end])
        except (LookupError, AttributeError):
            continue
        return path[: end + 1]
    return path[:1]


def _get(model: Any, path: walk.Path) -> Any:
    try:
        return walk.at(model, path)
    except (LookupError, AttributeError):
        return None


def _put(model: Any, path: walk.Path, value: Any) -> None:
    *parent, (_, key) = path
    setattr(walk.at(model, tuple(parent)), key, value)
