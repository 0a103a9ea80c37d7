"""Twins of the recurrent cells with torch's parameters: rnn, gru, lstm."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from statebound.experiments.training.twins import Parameters, State, Twin

if TYPE_CHECKING:
    from torch import Tensor


class Gates(Twin):
    """Rows are W x + b_ih, the gates one after the other."""

    def table(self, w: Parameters) -> Tensor:
        """Return W x + b_ih for every token x."""
        return (w["weight_ih"] + w["bias_ih"][..., None]).transpose(1, 2)

    def recurrent(self, w: Parameters) -> tuple[Tensor, Tensor]:
        """Return b_hh (S, 1, C) and U^T (S, H, C)."""
        return w["bias_hh"][:, None], w["weight_hh"].transpose(1, 2)


class RNN(Gates):
    """h' = tanh(W x + b_ih + U h + b_hh)."""

    name: ClassVar[str] = "rnn"

    def scan(self, state: State, w: Parameters, rows: Tensor) -> State:
        """Go through rows."""
        (h,), (b, U) = state, self.recurrent(w)
        for x in (rows + b[:, None]).unbind(1):
            h = x.baddbmm(h, U).tanh()
        return (h,)


class GRU(Gates):
    """Gates r, z, n; h' = n + z (h - n)."""

    name: ClassVar[str] = "gru"

    def scan(self, state: State, w: Parameters, rows: Tensor) -> State:
        """Go through rows."""
        (h,), (b, U) = state, self.recurrent(w)
        H = h.shape[2]
        both, news = rows[..., : 2 * H] + b[:, None, :, : 2 * H], rows[..., 2 * H :]
        gates, new = U[..., : 2 * H], U[..., 2 * H :]
        last = b[..., 2 * H :].expand(-1, h.shape[1], -1)
        for x, y in zip(both.unbind(1), news.unbind(1), strict=True):
            r, z = x.baddbmm(h, gates).sigmoid().chunk(2, 2)
            n = y.addcmul(r, last.baddbmm(h, new)).tanh()
            h = n.lerp(h, z)
        return (h,)


class LSTM(Gates):
    """Gates i, f, g, o; c' = f c + i g, h' = o tanh(c')."""

    name: ClassVar[str] = "lstm"

    def scan(self, state: State, w: Parameters, rows: Tensor) -> State:
        """Go through rows."""
        (h, c), (b, U) = state, self.recurrent(w)
        H = h.shape[2]
        for x in (rows + b[:, None]).unbind(1):
            i, f, g, o = x.baddbmm(h, U).split(H, 2)
            c = (f.sigmoid() * c).addcmul(i.sigmoid(), g.tanh())
            h = o.sigmoid() * c.tanh()
        return (h, c)


TWINS = {"rnn": RNN, "gru": GRU, "lstm": LSTM}
