"""Each way to cheat or to be wrong is caught, and the report names the part at fault."""

from __future__ import annotations

import pytest

from statebound.errors import StateboundError, UsageError
from statebound.experiments.audit.examine import audit
from statebound.experiments.audit.subject import adapt

from . import subjects


def examine(kind):
    return audit(adapt(kind(), kind.__name__))


def text(found, code):
    return next(f.text for f in found.findings if f.code == code)


def test_an_honest_subject_has_nothing_the_matter():
    found = examine(subjects.Honest)
    assert (found.ok, found.continue_with) == (True, "steps")
    assert (found.step_ok, found.chunk_ok) == (True, True)
    assert found.findings == ()
    assert all(s.right and s.error == 0 for s in found.splits)
    assert (found.sizes.live_numbers, found.sizes.live_bits) == (6, 6 * 64)
    assert found.growth.fixed
    assert found.state_consumed
    assert not found.needs_positions


@pytest.mark.parametrize(
    ("kind", "code", "named"),
    [
        ("StateInAGlobalNeverCleared", "state-outside", "subjects.GLOBAL['h']"),
        ("StateInAClassAttribute", "state-outside", "StateInAClassAttribute.seen"),
        ("StateInADefault", "state-outside", "StateInADefault.read.__defaults__[0]['h']"),
        ("StateIgnored", "state-not-consumed", "not used"),
        ("KeywordSwallowed", "keyword-swallowed", "**kwargs takes it"),
        ("KeywordSwallowed", "state-not-consumed", "not used"),
        ("ReadsAhead", "reads-ahead", "later"),
        ("Random", "random", "seeds"),
    ],
)
def test_what_makes_splitting_impossible(kind, code, named):
    found = examine(getattr(subjects, kind))
    assert (found.ok, found.continue_with) == (False, None)
    assert named in text(found, code)
    assert next(f.severity for f in found.findings if f.code == code) == "fatal"


def test_a_state_in_a_global_that_is_cleared():
    """Its runs are repeatable, but nothing is returned and a fresh model goes on all the same."""
    found = examine(subjects.StateInAGlobal)
    assert not found.ok
    assert {"no-state", "cannot-be-split"} <= found.codes()
    assert "subjects.GLOBAL['h']" in text(found, "writes-outside")
    assert any(where.endswith("subjects.GLOBAL['h']") for where in found.outside)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_part_of_the_state_in_a_global_that_is_cleared(seed):
    """Also where a run happens to leave in it what was there before."""
    found = audit(adapt(subjects.TokenInAGlobal(), "subject"), seed=seed)
    assert not found.ok
    assert "subjects.LAST[0]" in text(found, "cannot-be-split")


def test_what_ignores_its_state_is_no_model_of_its_own():
    found = examine(subjects.StateIgnored)
    assert "another-model" not in found.codes()


@pytest.mark.parametrize(
    ("kind", "hidden", "counts"),
    [
        ("CounterOutsideTheCache", "model.position", True),
        ("StateInAnAttribute", "model.memory", False),
        ("LogInTheObject", "model.log[", False),
    ],
)
def test_state_kept_in_the_model(kind, hidden, counts):
    found = examine(getattr(subjects, kind))
    assert found.ok, "moved along with the state, the attribute can be split"
    assert found.step_ok
    assert any(path.startswith(hidden) for path in found.hidden)
    said = text(found, "hidden-state")
    assert hidden in said
    assert ("counts tokens" in said) == counts
    assert not next(s for s in found.splits if s.way == "state alone").right
    assert "leftovers" in found.codes()


def test_a_chunk_path_that_drops_the_state():
    found = examine(subjects.ChunkDropsTheState)
    assert (found.ok, found.continue_with) == (True, "steps")
    assert (found.step_ok, found.chunk_ok) == (True, False)
    assert "wrong-in-chunks" in found.codes()
    by_way = {s.way: s for s in found.splits}
    assert by_way["steps"].right
    assert by_way["chunks"].error > 0.1


def test_a_chunk_path_that_refuses():
    found = examine(subjects.RefusesChunks)
    assert (found.ok, found.chunk_ok) == (True, False)
    assert "AssertionError: one token at a time" in text(found, "wrong-in-chunks")
    assert next(s.error for s in found.splits if s.way == "chunks") is None


def test_a_step_path_that_is_wrong():
    found = examine(subjects.StepsForget)
    assert (found.ok, found.continue_with) == (True, "chunks")
    assert {"wrong-in-steps"} <= found.codes()
    found = examine(subjects.StepsAndCallsDiffer)
    assert found.codes() >= {"wrong-in-steps"}
    assert (found.ok, found.step_ok, found.continue_with) == (True, False, "chunks")


def test_a_cache_that_grows():
    found = examine(subjects.GrowingCache)
    assert found.ok
    assert "state['seen'] (+6 numbers)" in text(found, "grows")
    assert (found.growth.numbers_a_token, found.growth.bits_a_token) == (6, 384)
    assert not found.growth.fixed
    assert found.growth.full_from is None


def test_an_integer_that_grows():
    found = examine(subjects.GrowingInteger)
    assert "state " in text(found, "grows")
    assert found.growth.bits_a_token == pytest.approx(3, abs=0.1)
    assert found.growth.numbers_a_token == 0


def test_a_window_fills_and_stays():
    found = examine(subjects.Window)
    assert found.growth.fixed
    assert found.growth.full_from == 8
    assert found.growth.numbers[:2] == (24, 30)
    assert {4, 5, 6} <= set(found.splits[0].handoffs)
    assert found.findings[0].code == "dead-columns", "of five vectors kept, four are read again"
    assert found.sizes.live_numbers == 24


def test_dead_parts():
    found = examine(subjects.DeadTensor)
    assert "state['unused']" in text(found, "dead")
    assert (found.sizes.stored_numbers, found.sizes.live_numbers) == (9, 6)
    found = examine(subjects.DeadColumn)
    assert "state['conv'] axis 1 place 0" in text(found, "dead-columns")
    assert (found.sizes.stored_numbers, found.sizes.live_numbers) == (24, 18)


def test_positions():
    found = examine(subjects.NeedsPositions)
    assert found.needs_positions
    assert "needs-positions" in found.codes()
    assert found.sizes.counter_bits == 4  # n = 12
    found = examine(subjects.CounterInside)
    assert not found.needs_positions
    (counter,) = [p for p in found.parts if p.counter]
    assert (counter.path, counter.kind, counter.live) == ("state['position']", "public", True)
    assert found.sizes.counter_bits == 4
    assert found.growth.fixed


def test_writing_into_the_state():
    found = examine(subjects.WritesInPlace)
    assert found.mutates_in_place
    assert found.ok, "the audit copies before use"
    assert not examine(subjects.Honest).mutates_in_place


def test_parts_that_depend_on_the_input():
    found = examine(subjects.KeysDependOnTokens)
    assert "structure-varies" in found.codes()


def test_findings_come_worst_first():
    order = ["fatal", "wrong", "note"]
    for kind in ("KeywordSwallowed", "StateInAnAttribute"):
        ranks = [order.index(f.severity) for f in examine(getattr(subjects, kind)).findings]
        assert ranks == sorted(ranks)


def test_subjects_that_are_none():
    with pytest.raises(StateboundError, match=r"must return one row of numbers for each token"):
        examine(subjects.NoOutputsEach)
    with pytest.raises(StateboundError, match="no output is a finite number"):
        examine(subjects.NoNumbers)
    for nothing in (3, object(), subjects.GLOBAL):
        with pytest.raises(UsageError, match="return a transformers model"):
            adapt(nothing, "nothing")

    class Mute(subjects.Honest):
        vocabulary = 1

    with pytest.raises(UsageError, match="vocabulary"):
        adapt(Mute(), "mute")

    class Unnamed(subjects.Honest):
        def read(self, tokens, held):
            return self.scan(tokens, held["h"])

    with pytest.raises(UsageError, match="no argument `state`"):
        adapt(Unnamed(), "unnamed")
