"""The twin of deltanet, without convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from statebound.errors import UsageError
from statebound.experiments.training.twins import Parameters, State, Twin

if TYPE_CHECKING:
    from torch import Tensor

    from statebound.models import Cell


class DeltaNet(Twin):
    """S' = S + k (b (v - k^T S))^T, with unit keys. Rows are k, v and b."""

    name: ClassVar[str] = "deltanet"

    def __init__(self, cell: Cell) -> None:
        super().__init__(cell)
        if self.config.taps:
            raise UsageError(
                "set",
                f"d_conv={self.config.d_conv}",
                "is not trained here: the twin of deltanet has no convolutions",
                "leave d_conv out",
            )

    def table(self, w: Parameters) -> Tensor:
        """Return k, v and b of every token."""
        import torch

        silu = torch.nn.functional.silu
        e = w["embedding.weight"]
        k, v, b = (e @ w[f"{name}_proj.weight"].transpose(1, 2) for name in "kvb")
        heads = silu(k).unflatten(2, (self.config.heads, -1))
        unit = heads * (heads.square().sum(3, keepdim=True) + 1e-6).rsqrt()
        return torch.cat([unit.flatten(2), silu(v), b.sigmoid()], 2)

    def scan(self, state: State, w: Parameters, rows: Tensor) -> State:
        """Go through rows."""
        H, K, V = self.config.heads, self.config.d_key, self.config.d_value
        keys, values, sizes = rows.split([H * K, H * V, H], 3)
        M = state[0].unflatten(2, (H, K, V))
        keys = keys.unflatten(3, (H, K, 1))
        values = (sizes[..., None] * values.unflatten(3, (H, V)))[..., None, :]
        written = sizes[..., None, None] * keys
        for k, bk, bv in zip(keys.unbind(1), written.unbind(1), values.unbind(1), strict=True):
            held = (bk * M).sum(3, keepdim=True)
            M = M.addcmul(k, bv - held)
        return (M.flatten(2),)


TWINS = {"deltanet": DeltaNet}
