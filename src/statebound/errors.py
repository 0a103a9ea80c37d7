"""The two ways in which a user's request can fail.

Validation happens once, at the public edge; below it code assumes.
"""

from __future__ import annotations


class StateboundError(Exception):
    """Work could not be done; the message says what to do about it (exit code 1)."""


class UsageError(StateboundError, ValueError):
    """A request that has no meaning (exit code 2).

    Parameters
    ----------
    argument
        Name of the argument at fault, as the user wrote it (``"bits"``).
    value
        The value received.
    rule
        What the value must satisfy.
    remedy
        What to pass instead.

    Examples
    --------
    >>> print(UsageError("n", 0, "must be at least 1", "pass a positive length"))
    n = 0: must be at least 1; pass a positive length
    """

    def __init__(self, argument: str, value: object, rule: str, remedy: str) -> None:
        super().__init__(argument, value, rule, remedy)
        self.argument, self.value, self.rule, self.remedy = argument, value, rule, remedy

    def __str__(self) -> str:
        """One line: argument, value, rule, remedy."""
        shown = str(self.value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return f"{self.argument} = {shown}: {self.rule}; {self.remedy}"
