"""phonebook: the number of a name.

Alice holds the numbers of n names, which are public and in public order; Bob asks for one
name. With `credit` exact an answer is the whole number; with digit Bob asks for one digit
of it, and the average is the share of digits that are right. So the same messages can be
judged both ways: a model may know most digits of each number and hardly any number.

Either way the answers are independent and uniform, over base^digits numbers or base
digits, and the walls apply.
"""

from __future__ import annotations

from typing import ClassVar

from statebound.errors import UsageError
from statebound.protocols.problem import require
from statebound.protocols.problems._words import Words


class Phonebook(Words):
    """A phonebook of n names.

    Parameters
    ----------
    n
        Number of names, at least 1.
    digits
        Digits of a number, 1 to 62.
    base
        2 to 36.
    credit
        ``exact`` or ``digit``.
    query_law
        The law of the name, see `query_weights`.

    Examples
    --------
    >>> Phonebook(2).answers(Phonebook(2).parse("4207")).tolist()
    [[42, 7]]
    >>> Phonebook(2, credit="digit").queries
    4
    """

    name: ClassVar[str] = "phonebook"
    cost: ClassVar[str] = "ceil(n digits log2 base)"
    query_form: ClassVar[str] = "NAME,DIGIT with credit digit"

    def __init__(
        self,
        n: int,
        digits: int = 2,
        base: int = 10,
        credit: str = "exact",
        query_law: str = "uniform",
    ) -> None:
        if n < 1:
            raise UsageError("n", n, "phonebook needs at least 1 name", "pass n >= 1")
        require("digits", digits, 1, 62, "digits of a number")
        require("base", base, 2, 36, "the base")
        if credit not in ("exact", "digit"):
            raise UsageError("credit", credit, "is not a credit", "choose exact or digit")
        self.n, self.digits, self.base, self.credit = n, digits, base, credit
        self._set(n, digits, base, credit == "exact", query_law)

    def read_query(self, text: str) -> int:
        """Read NAME,DIGIT, both from 1."""
        name, digit = (int(part) for part in text.split(","))
        fits = 1 <= name <= self.n and 1 <= digit <= self.digits
        if self.whole or not fits:
            raise ValueError(text)
        return (name - 1) * self.digits + digit - 1

    def query_text(self, query: int) -> str:
        """Write NAME, or NAME,DIGIT."""
        if self.whole:
            return str(query + 1)
        return f"{query // self.digits + 1},{query % self.digits + 1}"


PROBLEM = Phonebook
