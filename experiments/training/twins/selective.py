"""The twin of mamba."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from statebound.experiments.training.twins import Parameters, State, Twin

if TYPE_CHECKING:
    from torch import Tensor


class Mamba(Twin):
    """h' = exp(dt A) h + dt B x. Rows are x before its convolution."""

    name: ClassVar[str] = "mamba"

    def table(self, w: Parameters) -> Tensor:
        """Return x before its convolution."""
        rows = w["in_proj.weight"][:, : self.config.d_inner]
        return w["embedding.weight"] @ rows.transpose(1, 2)

    def scan(self, state: State, w: Parameters, rows: Tensor) -> State:
        """Go through rows; all but the sum over time is done for all times at once."""
        import torch

        E, N, c = self.config.d_inner, self.config.d_state, self.config.d_conv
        T, rank = rows.shape[1], self.config.dt_rank
        line, taps = rows, w["conv1d.weight"].flatten(2)  # (S, E, c)
        if c > 1:
            line = torch.cat([state[1].unflatten(2, (c - 1, E)).transpose(1, 2), rows], 1)
        x = w["conv1d.bias"][:, None, None]
        for j in range(c):
            x = x + line[:, j : j + T] * taps[:, None, None, :, j]
        x = torch.nn.functional.silu(x)
        mixed = x @ w["x_proj.weight"][:, None, : rank + N].transpose(2, 3)
        dt = mixed[..., :rank] @ w["dt_proj.weight"][:, None].transpose(2, 3)
        dt = torch.nn.functional.softplus(dt + w["dt_proj.bias"][:, None, None])
        rate = -w["A_log"].exp()[:, None, None]  # (S, 1, 1, E, N)
        decay = (dt[..., None] * rate).exp().flatten(3)
        drive = ((dt * x)[..., None] * mixed[..., None, rank:]).flatten(3)
        h = state[0]
        for a, u in zip(decay.unbind(1), drive.unbind(1), strict=True):
            h = u.addcmul(a, h)
        if c == 1:
            return (h,)
        return h, line[:, T:].transpose(1, 2).flatten(2)


TWINS = {"mamba": Mamba}
