"""When chain of thought helps a small state: quantified formulas, padded.

Theorem 1 of Wen, Dang and Lyu (arXiv:2402.18510) has two halves. One is conditional: if
PSPACE is not in P/poly, some task needs the chain of thought at O(log N) bits of memory. The
other is a machine, and this is it. A prenex formula Q_1 x_1 ... Q_k x_k over CNF clauses is
padded to length N >= 2^k. The state holds the formula, an assignment of k bits, one value a
level, and the answer. One token, read or written, makes one update:

    evaluate the clauses at the assignment a; then from the last variable outwards, while the
    bit of x_j in a is 1, combine with the value kept at level j (and for "all", or for
    "some"); where the bit is 0, keep the value there; add 1 to a.

After 2^k updates level 0 holds the answer. The order of padding decides. With the *padding
before the formula* no token is left once the formula is known, so without chain of thought
the machine never answers, and with 2^k tokens of it it does: they carry nothing but time.
With the padding *after* it the padding itself is the time. The theorem needs the first: the
state after the padding is the same for all formulas of one length, like advice.

This machine needs 2^k updates, and chain of thought supplies them. Nothing here shows that
no other recurrent model does without: that is the conditional half, and no finite run can
test it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from statebound.errors import UsageError
from statebound.models.constructions.ledger import Ledger, bits_for

ORDERS = ("before", "after")
Literal = tuple[int, bool]  # variable from 0, whether it is positive
Clause = tuple[Literal, ...]
MOST = 16  # 2^k updates are made


@dataclass(frozen=True)
class Formula:
    """A prenex formula.

    Attributes
    ----------
    universal
        By variable, outermost first: "all" where true, "some" where false.
    clauses
        Each a disjunction of literals, all of one width.
    """

    universal: tuple[bool, ...]
    clauses: tuple[Clause, ...]

    def __post_init__(self) -> None:
        k = len(self.universal)
        if not 1 <= k <= MOST:
            raise UsageError("variables", k, f"must be 1..{MOST}", "take fewer quantifiers")
        if not self.clauses or len({len(clause) for clause in self.clauses}) > 1:
            raise UsageError(
                "clauses", self.clauses, "must be some, of one width", "repeat a literal"
            )
        for clause in self.clauses:
            if any(not 0 <= variable < k for variable, _ in clause):
                raise UsageError("clause", clause, f"variables are 0..{k - 1}", "renumber them")

    @property
    def tokens(self) -> list[bool | Literal]:
        """The formula as tokens: k quantifiers, then the literals."""
        return [*self.universal, *(literal for clause in self.clauses for literal in clause)]


@dataclass(frozen=True)
class State:
    """All that the machine holds.

    Attributes
    ----------
    known
        The tokens of the formula read so far.
    assignment
        In 0..2^k - 1; the outermost variable is the highest bit.
    values
        One value a level.
    done, answer
        Whether all updates were made, and with what answer.
    """

    known: tuple[bool | Literal, ...]
    assignment: int
    values: tuple[bool, ...]
    done: bool
    answer: bool


class Reader:
    """The machine for formulas of k variables and a number of clauses of one width."""

    def __init__(self, variables: int, clauses: int, width: int = 3) -> None:
        self.k, self.clauses, self.width = variables, clauses, width
        literal = bits_for(variables) + 1
        size = variables + clauses * width
        self.size = size
        self.fields = {
            "formula": variables + clauses * width * literal,
            "known": bits_for(size + 1),
            "assignment": variables,
            "values": variables,
            "answer": 2,
        }

    @property
    def state_bits(self) -> int:
        """The bits of all fields."""
        return sum(self.fields.values())

    def start(self) -> State:
        """Return the public start state."""
        return State((), 0, (False,) * self.k, False, False)

    def read(self, state: State, token: bool | Literal | None) -> State:
        """Read a token of the formula, or None: a pad, or a token of the chain of thought.

        A token of the formula is kept. Any other makes one update if the formula is known.
        """
        if token is not None:
            return replace(state, known=(*state.known, token))
        if len(state.known) < self.size or state.done:
            return state
        return self._update(state)

    def _update(self, state: State) -> State:
        a, values = state.assignment, list(state.values)
        value = self._holds(state.known, a)
        for level in range(self.k - 1, -1, -1):
            if not a >> (self.k - 1 - level) & 1:
                values[level] = value
                return replace(state, assignment=a + 1, values=tuple(values))
            both = values[level] and value
            value = both if state.known[level] else values[level] or value
        return replace(state, done=True, answer=value)

    def _holds(self, known: tuple[bool | Literal, ...], a: int) -> bool:
        literals = [token for token in known[self.k :] if isinstance(token, tuple)]
        true = [bool(a >> (self.k - 1 - v) & 1) == positive for v, positive in literals]
        return all(any(true[c : c + self.width]) for c in range(0, len(true), self.width))

    def run(
        self, formula: Formula, length: int, order: str = "before", thoughts: int = 0
    ) -> tuple[bool | None, int]:
        """Read a padded formula, think, and answer.

        Parameters
        ----------
        formula
            Of this machine's size.
        length
            N, the length after padding.
        order
            Whether the padding comes before or after the formula.
        thoughts
            The most tokens of chain of thought.

        Returns
        -------
        The answer, None where there is none, and the tokens of chain of thought written.
        """
        given = formula.tokens
        if (len(formula.universal), len(formula.clauses)) != (self.k, self.clauses):
            raise UsageError("formula", formula, "is of another size", "build its own machine")
        if order not in ORDERS:
            known = ", ".join(ORDERS)
            raise UsageError("order", order, "is not an order", f"choose from {known}")
        if length < len(given):
            raise UsageError(
                "length", length, "is shorter than the formula", f"pass {len(given)} or more"
            )
        pads: list[bool | Literal | None] = [None] * (length - len(given))
        state = self.start()
        for token in [*pads, *given] if order == "before" else [*given, *pads]:
            state = self.read(state, token)
        written = 0
        while not state.done and written < thoughts:
            state = self.read(state, None)
            written += 1
        return (state.answer if state.done else None), written

    def ledger(self, length: int, written: int) -> Ledger:
        """Return the cost; the machine has no weights and no cache."""
        return Ledger(
            construction="quantified formula, padded",
            tokens_read=length,
            tokens_written=written,
            recurrent_fields=dict(self.fields),
            cache_bits=0,
            parameters=None,
            nonzero=None,
            significand_bits=None,
        )
