"""Twins of the cells that are linear in what tokens bring: s4d, s4d_real, linear_attention.

Over a whole stream the state is the sum over t of what the token at t has become by the end,
so one matrix product does it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from statebound.experiments.training.twins import Parameters, State, Twin

if TYPE_CHECKING:
    from torch import Tensor


class Linear(Twin):
    """A linear recurrence."""

    @abstractmethod
    def aged(self, w: Parameters, choices: Tensor) -> Tensor:
        """Return what choices (S, T, q, C) at each time are in the end: (S, T, q, numbers)."""

    def whole(self, w: Parameters, choices: Tensor, picks: Tensor) -> State:
        """Return the states after whole streams."""
        ends = self.aged(w, choices).flatten(1, 2)
        summed = picks.transpose(0, 1).flatten(1) @ ends  # (S, B, numbers)
        return tuple(summed.split([f.numbers for f in self.fields], 2))


class S4DReal(Linear):
    """x_n' = a_n x_n + u."""

    name: ClassVar[str] = "s4d_real"

    def table(self, w: Parameters) -> Tensor:
        """Return u, a number a channel."""
        return w["encoder.weight"].transpose(1, 2)

    def _log_decay(self, w: Parameters) -> Tensor:
        return -(w["log_dt"].exp()[..., None] * w["log_A_real"].exp())  # (S, H, N)

    def scan(self, state: State, w: Parameters, rows: Tensor) -> State:
        """Go through rows."""
        (x,), a = state, self._log_decay(w).exp().flatten(1)[:, None]
        for u in rows.repeat_interleave(self.config.d_state, 3).unbind(1):
            x = u.addcmul(a, x)
        return (x,)

    def aged(self, w: Parameters, choices: Tensor) -> Tensor:
        """Return a^(T - 1 - t) u."""
        powers = (ages(choices)[:, None, None] * self._log_decay(w)[:, None]).exp()
        return (choices[..., None] * powers[:, :, None]).flatten(3)


class S4D(Linear):
    """x_n' = a_n x_n + u, a_n complex; real and imaginary parts next to each other."""

    name: ClassVar[str] = "s4d"

    def table(self, w: Parameters) -> Tensor:
        """Return u, a number a channel."""
        return w["encoder.weight"].transpose(1, 2)

    def _turn(self, w: Parameters) -> tuple[Tensor, Tensor]:
        """Return the logarithm of |a| and the angle of a, (S, H, N/2)."""
        dt = w["log_dt"].exp()[..., None]
        return -(dt * w["log_A_real"].exp()), dt * w["A_imag"]

    def scan(self, state: State, w: Parameters, rows: Tensor) -> State:
        """Go through rows."""
        import torch

        log, angle = self._turn(w)
        p = (log.exp() * angle.cos()).flatten(1)[:, None]
        q = (log.exp() * angle.sin()).flatten(1)[:, None]
        re, im = state[0].unflatten(2, (-1, 2)).unbind(3)
        for u in rows.repeat_interleave(self.config.d_state // 2, 3).unbind(1):
            re, im = u.addcmul(p, re).addcmul(q, im, value=-1), (p * im).addcmul(q, re)
        return (torch.stack([re, im], 3).flatten(2),)

    def aged(self, w: Parameters, choices: Tensor) -> Tensor:
        """Return a^(T - 1 - t) u."""
        import torch

        log, angle = self._turn(w)
        k = ages(choices)[:, None, None]
        size, turned = (k * log[:, None]).exp(), k * angle[:, None]
        powers = torch.stack([size * turned.cos(), size * turned.sin()], 4)  # (S, T, H, N/2, 2)
        return (choices[..., None, None] * powers[:, :, None]).flatten(3)


class LinearAttention(Linear):
    """S' = S + k v^T, and z' = z + k with the normaliser."""

    name: ClassVar[str] = "linear_attention"

    def table(self, w: Parameters) -> Tensor:
        """Return k v^T, and k with the normaliser."""
        import torch

        k, v = w["k_proj.weight"].transpose(1, 2), w["v_proj.weight"].transpose(1, 2)
        if not self.config.normalise:
            return (k[..., None] * v[..., None, :]).flatten(2)
        k = torch.nn.functional.elu(k) + 1
        return torch.cat([(k[..., None] * v[..., None, :]).flatten(2), k], 2)

    def scan(self, state: State, w: Parameters, rows: Tensor) -> State:
        """Go through rows."""
        every = rows.sum(1).split([f.numbers for f in self.fields], 2)
        return tuple(old + new for old, new in zip(state, every, strict=True))

    def aged(self, w: Parameters, choices: Tensor) -> Tensor:
        """Return the choices: nothing decays."""
        return choices


def ages(choices: Tensor) -> Tensor:
    """Return T - 1 - t, for choices (S, T, q, C)."""
    import torch

    return torch.arange(choices.shape[1] - 1, -1, -1, dtype=choices.dtype)


TWINS = {"s4d": S4D, "s4d_real": S4DReal, "linear_attention": LinearAttention}
