"""Lists of whole numbers as people write them."""

from __future__ import annotations

from statebound.errors import UsageError


def number_list(text: str, argument: str) -> tuple[int, ...]:
    """Read ``1,2,4`` or ``2^4..2^8`` (doubling) or ``3..6`` (by one).

    Examples
    --------
    >>> number_list("1,2,8", "bits"), number_list("2^2..2^4", "n"), number_list("3..5", "n")
    ((1, 2, 8), (4, 8, 16), (3, 4, 5))
    """

    def number(part: str) -> int:
        base, power, exponent = part.strip().partition("^")
        if power and not (0 <= int(exponent) <= 64 and abs(int(base)) <= 64):
            raise ValueError(part)
        return int(base) ** int(exponent) if power else int(base)

    found: list[int] = []
    try:
        for part in text.split(","):
            low, dots, high = part.partition("..")
            if not dots:
                found.append(number(part))
            elif "^" in part:
                value = number(low)
                if value < 1:
                    raise ValueError(part)
                while value <= number(high):
                    found.append(value)
                    value *= 2
            else:
                found.extend(range(number(low), number(high) + 1)[:10_001])
    except ValueError:
        found = []
    if not found or len(found) > 10_000:
        raise UsageError(
            argument, text, "is not a list of whole numbers", "write 1,2,4 or 2^4..2^8"
        )
    return tuple(found)
