"""What survives rounding: laws that hold exactly, on a GRU of torch and on small subjects."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from statebound.errors import StateboundError, UsageError
from statebound.experiments.audit import walk
from statebound.experiments.audit.coder import (
    CACHE,
    CONVOLUTION,
    RECURRENT,
    Coder,
    Piece,
    Scheme,
    kind_of,
    shifts,
)
from statebound.experiments.audit.examine import audit
from statebound.experiments.audit.mixed import mixed
from statebound.experiments.audit.stage import Stage, opened, require_alike
from statebound.experiments.audit.subject import adapt
from statebound.experiments.audit.survive import agreement, check, relative_error, survive

from . import subjects


def staged(made, count=6, h=8):
    subject = adapt(made, "toy")
    found = audit(subject)
    generator = np.random.Generator(np.random.PCG64(1))
    tokens = generator.integers(0, subject.vocabulary, (count, h + 2))
    public = generator.integers(0, subject.vocabulary, (8, h + 1))
    return Stage(opened(subject, found, public[0]), found, tokens[:, :h], public, 0), tokens[:, h:]


def said(stage, scheme, after):
    return np.stack([stage.read(b, x) for b, x in zip(stage.bobs(scheme), after, strict=True)])


@pytest.fixture
def gru():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.GRU(3, 5)


@pytest.mark.parity
def test_a_gru(gru):
    subject = adapt(gru, "GRU")
    found = survive(subject, audit(subject), bits=(2, 8, 16), prompts=6, tasks=False)
    assert (found.reason, found.exact_bits, found.other_bits) == ("", 160, 0)
    at = {
        (level.quantiser, level.bits, level.rounding, level.regime): level for level in found.levels
    }
    exact = at["fp32", 32, "nearest", "handoff"]
    assert (exact.error, exact.agreement.best, exact.state_bits) == (0.0, 1.0, 160)
    errors = [at["absmax", bits, "nearest", "handoff"].error for bits in (2, 8, 16)]
    assert errors[0] > 8 * errors[1] > 64 * errors[2] > 0
    assert at["absmax", 8, "nearest", "handoff"].state_bits == 5 * 8 + 32
    assert at["uniform", 8, "nearest", "handoff"].state_bits == 5 * 8
    assert at["absmax", 8, "stochastic", "step"].state_bits == 5 * 8 + 32
    assert at["absmax", 8, "feedback", "step"].state_bits == 5 * 8 + 32 + 5 * 32
    assert at["absmax", 2, "nearest", "step"].error > 8 * at["absmax", 8, "nearest", "step"].error
    assert found.kinds == {"state": RECURRENT}
    assert found.caches == ()
    assert found.mixed.fresh.low <= found.mixed.fresh.best


@pytest.mark.parity
def test_half_precision_is_counted_as_it_is_stored(gru):
    stage, _ = staged(gru.bfloat16())
    assert stage.state_bits(Scheme("", {})) == 5 * 16
    (piece,) = stage.pieces
    for bob, mine in zip(stage.bobs(None), stage.messages, strict=True):
        got, sent = (walk.array(m[piece.path]) for m in (stage.cut.message(bob), mine))
        assert (got == sent.astype(ml_dtypes.bfloat16).astype(sent.dtype)).all()
        assert (got != sent).any()


def test_stochastic_rounding_is_unbiased():
    piece = Piece(0, (("attr", "state"),), RECURRENT, None, (), 64)
    value = np.linspace(-0.9, 1.0, 6)
    scheme = Scheme("absmax", {"state": 3}, "stochastic")
    seen = []
    for seed in range(400):
        coder = Coder((piece,), [{piece.path: value}], seed)
        entry = coder.entry(piece, value)
        seen.append(coder.round(scheme, piece, coder.entries(piece, [value]), entry, 1)[0, :, 0])
    step = 1 / 3  # between neighbouring values: codes -3 .. 3 of a scale of 1
    assert np.abs(np.mean(seen, axis=0) - value).max() < 4 * step / 2 / 400**0.5
    assert len(np.unique(np.round(seen, 6))) <= 7


def test_nothing_but_counted_parts_crosses():
    """A dead part and the public counter come from Bob's template, whatever Alice has."""
    stage, _ = staged(subjects.DeadTensor())
    assert [piece.name for piece in stage.pieces] == ["state['h']"]
    assert stage.state_bits(Scheme("", {})) == 6 * 64
    bob = next(stage.bobs(None))
    assert np.array_equal(bob.state["unused"], stage.template.state["unused"])
    assert not np.array_equal(bob.state["h"], stage.template.state["h"])
    counting, _ = staged(subjects.CounterInside())
    assert counting.other_bits == 4  # ceil(log2(8 + 1)), needed though it is the same for all
    integer, _ = staged(subjects.GrowingInteger(), h=8)
    assert integer.pieces == ()
    assert integer.other_bits == 1 + 8 * 3  # a leading one and 8 tokens of 3 bits


def test_caches_are_rounded_entry_by_entry():
    stage, after = staged(subjects.DeadColumn())
    (piece,) = stage.pieces
    assert (piece.kind, piece.axis) == (CONVOLUTION, 1)
    assert piece.dead == ((1, 0),)
    scheme = stage.everywhere("absmax", 4)
    assert stage.state_bits(scheme) == 3 * (6 * 4 + 32)  # the dead column does not cross
    growing, _ = staged(subjects.GrowingCache())
    assert growing.pieces[0].axis == 0
    assert growing.pieces[0].kind == CACHE
    assert growing.state_bits(growing.everywhere("absmax", 4)) == 8 * (6 * 4 + 32)
    exact = said(stage, None, after)
    assert relative_error(said(stage, scheme, after), exact) > 1e-3
    assert relative_error(said(stage, stage.everywhere("absmax", 16), after), exact) < 1e-4


def test_shifts():
    old = np.arange(12.0).reshape(3, 4)
    grown = np.concatenate([old, np.full((1, 4), 9.5)])
    assert shifts([old], [grown]) == 0
    assert shifts([old], [np.concatenate([old[:, 1:], np.ones((3, 1))], axis=1)]) == 1
    assert shifts([old], [old + 1e-9]) is None
    assert shifts([np.zeros(1)], [np.ones(1)]) is None


@pytest.mark.parametrize(
    ("path", "grows", "kind"),
    [
        ("state.layers[0].conv_states[0]", False, CONVOLUTION),
        ("model.layers.0.temporal_block.conv1d_state", False, CONVOLUTION),
        ("state.layers[1].keys", False, CACHE),
        ("state[0]", True, CACHE),
        ("state.layers[0].recurrent_states[0]", False, RECURRENT),
        ("state['h']", False, RECURRENT),
    ],
)
def test_kinds(path, grows, kind):
    assert kind_of(path, grows) == kind


def test_a_sentinel_does_not_spoil_the_scale():
    path = (("attr", "state"),)
    piece = Piece(0, path, RECURRENT, None, (), 64)
    value = np.array([0.5, -1e38, 0.25, 1.0])
    coder = Coder((piece,), [{path: value}], 0)
    scheme = Scheme("absmax", {"state": 8})
    (found,) = coder.rounded(scheme, [{path: value}], 1)[path]
    assert found[1] == -1e38
    assert np.abs(found - value)[[0, 2, 3]].max() < 1 / 127
    assert coder.bits(scheme, piece, value) == 4 * 8 + 32 + 4  # codes, scale, a mark a number


def test_unusual_numbers_cross_in_codes_alone():
    """With two unusual values on public inputs there is no mark, and so no third symbol."""
    path = (("attr", "state"),)
    piece = Piece(0, path, RECURRENT, None, (), 64)
    public = [{path: np.array([v])} for v in (0.0, 1.0, -1e38, np.inf)]
    coder = Coder((piece,), public, 0)
    scheme = Scheme("uniform", {"state": 1})
    mine = [{path: np.array([v])} for v in (0.1, 0.9, -1e38, 1e38, np.inf, -np.inf, np.nan)]
    found = coder.rounded(scheme, mine, 1)[path]
    assert len({float(v[0]) for v in found}) == 2
    assert float(found[2][0]) == float(found[5][0]) == float(found[0][0])
    assert float(found[3][0]) == float(found[4][0]) == float(found[1][0])
    assert coder.bits(scheme, piece, np.array([0.5])) == 1


def test_a_type_that_depends_on_the_input_is_refused():
    """None beside True and False would be a third symbol in one bit."""
    path = (("attr", "state"),)
    require_alike({path: True}, {path: False})
    with pytest.raises(StateboundError, match="depends on what was read"):
        require_alike({path: True}, {path: None})


def test_mixed_precision_spends_bits_where_they_matter():
    """One part is only read by its sign, the other by every digit."""

    class Two(subjects.Honest):
        def fresh(self):
            return {"sign": np.ones(8), "h": np.zeros(6)}

        def read(self, tokens, state):
            rows, h = self.scan(tokens, state["h"])
            sign = state["sign"]
            for token in tokens:
                sign = np.roll(sign, 1) * np.where(np.arange(8) == token, -1.0, 1.0)
            return rows + np.sign(sign)[:4], {"sign": sign, "h": h}

    stage, after = staged(Two(), count=12)
    found = mixed(stage, after, "absmax", (2, 4, 8, 16), 1.0, 0)
    assert found.bits["state['sign']"] == 2
    assert found.bits["state['h']"] > 2
    assert found.state_bits < found.uniform_state_bits
    assert (found.agreement, found.complete) == (1.0, True)
    assert mixed(stage, after, "absmax", (2,), 1.0, 0) is None


def test_measures():
    whole = np.array([[[0.0, 2.0], [1.0, 0.0]]])
    assert relative_error(whole, whole) == 0
    assert relative_error(np.full_like(whole, np.nan), whole) is None
    assert agreement(whole, whole).best == 1
    assert agreement(np.full_like(whole, np.nan), whole).best == 0
    assert agreement(whole[..., ::-1], whole).best == 0


def test_what_is_not_measured():
    def reason(kind):
        subject = adapt(kind(), "toy")
        return survive(subject, audit(subject), prompts=4).reason

    assert reason(subjects.StateIgnored).startswith("the state cannot be split")
    assert reason(subjects.GrowingInteger) == "no part of the state is made of real numbers"
    assert "depends on what was read" in reason(subjects.KeysDependOnTokens)


@pytest.mark.parametrize(
    ("quantiser", "bits", "said"),
    [("trained", (2,), "parameters of its own"), ("sign", (4, 8), None), ("absmax", (32,), "none")],
    ids=str,
)
def test_what_is_refused(quantiser, bits, said):
    if said is None:
        check(quantiser, bits)  # a format has the bits that it has
        return
    with pytest.raises(UsageError, match=said):
        check(quantiser, bits)
