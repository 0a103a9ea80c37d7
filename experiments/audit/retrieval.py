"""Whether a subject retrieves from its prompt, and how much of that its state still does rounded.

Problems are written as pairs in tokens, as an induction head reads them, and Bob's token is
a name or a key; his answer is the likeliest of the tokens that can be answers. Which tokens
stand for names, keys, bits, values and digits is drawn from the vocabulary with the public seed.
A subject that does no better than a guess with its state as it is has nothing to lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from statebound.errors import StateboundError
from statebound.experiments.audit.coder import Scheme
from statebound.experiments.audit.cut import Cut, Run
from statebound.experiments.audit.record import Audit
from statebound.experiments.audit.stage import PIECEMEAL, Stage
from statebound.experiments.audit.subject import Tokens
from statebound.experiments.audit.survival import Recall, Recalled
from statebound.experiments.estimates import clopper_pearson
from statebound.protocols.limits.report import bits_needed, limits
from statebound.protocols.problem import Problem
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.mqar import MQAR
from statebound.protocols.problems.phonebook import Phonebook

TRIALS, PUBLIC = 64, 24
LEVEL, SURE, FALSE_ALARM = 0.95, 0.99, 1e-6


@dataclass(frozen=True)
class Task:
    """A problem in tokens.

    Attributes
    ----------
    problem, prompt
        What is asked, and how it is written.
    names
        (n,) tokens of public names, one before each word of x; empty where x has keys itself.
    symbols
        Tokens of the symbols of x.
    answers
        Tokens among which Bob chooses.
    digits
        How many he says, one after the other.
    """

    problem: Problem
    prompt: str
    names: Tokens
    symbols: Tokens
    answers: Tokens
    digits: int = 1

    def write(self, x: Tokens) -> Tokens:
        """Return Alice's tokens for inputs (B, length)."""
        said = self.symbols[x]
        if not len(self.names):
            return said
        words = said.reshape(len(x), len(self.names), -1)
        names = np.broadcast_to(self.names[:, None], (len(x), len(self.names), 1))
        return np.concatenate([names, words], axis=2).reshape(len(x), -1)

    def asks(self, query: int) -> int:
        """Return Bob's first token."""
        return int(self.names[query] if len(self.names) else self.symbols[query])


def tasks(vocabulary: int, seed: int) -> list[Task]:
    """Return the problems that fit into a vocabulary, at a size that does.

    Examples
    --------
    >>> [task.problem.n for task in tasks(32, 0)]
    [16, 8, 8]
    """
    drawn = np.random.Generator(np.random.PCG64([seed, 3])).permutation(vocabulary)
    tokens, made = drawn.astype(np.int64), []
    n = min(16, vocabulary - 2)
    if n >= 2:
        names, bits = tokens[2 : n + 2], tokens[:2]
        made.append(Task(Index(n), "place bit place bit ... place", names, bits, bits))
    n = min(8, vocabulary // 4)
    if n >= 2:
        pairs = MQAR(n, replacement=True)
        symbols = tokens[: pairs.symbols]
        text = "key value key value ... key"
        made.append(Task(pairs, text, tokens[:0], symbols, symbols[pairs.keys :]))
    base = min(10, vocabulary // 2)
    n = min(8, vocabulary - base)
    if base >= 2 and n >= 2:
        book, digits = Phonebook(n, digits=2, base=base), tokens[:base]
        text = "name digit digit name digit digit ... name"
        made.append(Task(book, text, tokens[base : base + n], digits, digits, 2))
    return made


def retrieval(
    cut: Cut,
    found: Audit,
    quantiser: str,
    precisions: Sequence[int],
    seed: int,
    trials: int = TRIALS,
) -> tuple[Recall, ...]:
    """Return what a subject retrieves, by task.

    Parameters
    ----------
    cut, found
        The subject and its audit.
    quantiser, precisions
        Of all parts.
    seed
        Of the inputs, the tokens and the calibration.
    trials
        Inputs, with one query each.
    """
    return tuple(
        _recall(task, cut, found, quantiser, precisions, seed, trials)
        for task in tasks(cut.subject.vocabulary, seed)
    )


def _recall(
    task: Task,
    cut: Cut,
    found: Audit,
    quantiser: str,
    precisions: Sequence[int],
    seed: int,
    trials: int,
) -> Recall:
    generator = np.random.Generator(np.random.PCG64([seed, 4]))
    problem = task.problem
    x = problem.sample(generator, trials)
    queries = problem.draw(generator, x, 1)[:, 0]
    truth = problem.ask(x, queries).astype(np.int64)
    tokens = task.write(x.astype(np.int64))
    sizes: list[int] | None = [] if found.continue_with == PIECEMEAL else None
    chance = float(Fraction(1, problem.structure.alphabet))

    def judged(runs: Sequence[Run]) -> int:
        said = [answer(cut, task, run, int(q)) for run, q in zip(runs, queries, strict=True)]
        return int((np.array(said) == truth).sum())

    def recall(reason: str, rows: tuple[Recalled, ...]) -> Recall:
        return Recall(
            task=problem.name,
            options=problem.options(),
            n=problem.n,
            prompt=task.prompt,
            chance=chance,
            trials=trials,
            does=not reason,
            reason=reason,
            quantiser=quantiser,
            rows=rows,
        )

    try:
        right = judged([cut.template(t, sizes) for t in tokens])
        if clopper_pearson(right, trials, SURE).low <= chance:
            return recall(
                f"does not do this task: {right} of {trials} right, a guess is right with "
                f"probability {chance:.3g}; nothing to lose",
                (),
            )
        more = problem.sample(generator, PUBLIC)
        known = task.write(more.astype(np.int64))
        asked = np.array([[task.asks(int(q))] for q in problem.draw(generator, more, 1)[:, 0]])
        stage = Stage(cut, found, tokens, np.concatenate([known, asked], axis=1), seed)
    except StateboundError as error:
        return recall(f"not tried: {error}", ())
    rows = []
    for bits in (None, *precisions):
        scheme = None if bits is None else stage.everywhere(quantiser, bits)
        held = stage.state_bits(Scheme("", {}) if scheme is None else scheme)
        rows.append(row(problem, bits, held, judged(list(stage.bobs(scheme))), trials))
    return recall("", tuple(rows))


def answer(cut: Cut, task: Task, run: Run, query: int) -> int:
    """Return what Bob answers; of several digits he reads each that he said.

    Raises
    ------
    StateboundError
        When outputs are no scores of tokens.
    """
    token, found = task.asks(query), 0
    for _ in range(task.digits):
        said = cut.step(run, np.array([token], np.int64))[0]
        if len(said) < cut.subject.vocabulary:
            raise StateboundError(
                f"{len(said)} outputs a token are no scores of {cut.subject.vocabulary} tokens"
            )
        choice = int(np.argmax(np.nan_to_num(said[task.answers], nan=-np.inf)))
        found, token = found * len(task.answers) + choice, int(task.answers[choice])
    return found


def row(problem: Problem, bits: int | None, held: int, right: int, trials: int) -> Recalled:
    """Return success, the least wall for so many message bits, and the efficiency."""
    known = limits(problem, held)
    walls = {
        name: known[name]
        for name in ("optimum_high", "ball", "rate_distortion")
        if known[name] is not None
    }
    wall = min(walls, key=lambda name: walls[name], default=None)
    success = clopper_pearson(right, trials, LEVEL)
    needed = None
    if success.low > 0:
        needed = bits_needed(problem, success.low)["bits_needed"]["ball"]
    sure = clopper_pearson(right, trials, 1 - 2 * FALSE_ALARM).low
    return Recalled(
        bits=bits,
        state_bits=held,
        success=success,
        wall=None if wall is None else walls[wall],
        wall_name=known["optimum_high_source"] if wall == "optimum_high" else wall,
        efficiency=needed / held if held and needed is not None else None,
        violates_wall=wall is not None and sure > walls[wall],
    )
