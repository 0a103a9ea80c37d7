"""The door to torch: whether it is there, and how it is held while it trains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from statebound.errors import StateboundError


def require() -> None:
    """Refuse to go on without torch.

    Raises
    ------
    StateboundError
        When it is not installed.
    """
    if find_spec("torch") is None:
        raise StateboundError(
            "training needs torch, which is not installed; pip install 'statebound[torch]'"
        )


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread, so that sums have one order; then as before.

    Tensors this small gain nothing from more.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
