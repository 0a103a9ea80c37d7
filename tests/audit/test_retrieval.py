"""Retrieval: an exact copier retrieves, rounding takes it away at the bits that it must."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import StateboundError
from statebound.experiments.audit.cut import Cut
from statebound.experiments.audit.examine import audit
from statebound.experiments.audit.retrieval import answer, retrieval, row, tasks
from statebound.experiments.audit.subject import adapt
from statebound.protocols.problems.index import Index

from . import subjects, toys


def recalls(made, quantiser="uniform", precisions=(3, 5, 8)):
    subject = adapt(made, "toy")
    found = audit(subject)
    cut = Cut(subject)
    cut.find_held(np.arange(12) % subject.vocabulary)
    return {r.task: r for r in retrieval(cut, found, quantiser, precisions, 0)}


def test_a_window_of_tokens():
    """Each token of 32 is one number, so 5 bits hold it exactly and 3 bits do not."""
    found = recalls(toys.Induction())
    assert {task: r.does for task, r in found.items()} == dict.fromkeys(found, True)
    for r in found.values():
        at = {line.bits: line for line in r.rows}
        assert at[None].success.best == 1
        assert at[8].success.best == 1
        assert at[3].success.best < 0.8
        assert at[3].state_bits == 3 * toys.LENGTH
        assert at[None].state_bits == 64 * toys.LENGTH
        assert all(line.success.low <= line.wall for line in r.rows)
        assert not any(line.violates_wall for line in r.rows)
        assert 0 < at[8].efficiency < 1
    assert found["phonebook"].chance == 0.01


@pytest.mark.parity
def test_the_same_in_torch():
    torch = pytest.importorskip("torch")

    class Copier(torch.nn.Module):
        """Index by heart: the last name, and a number for each name that was read."""

        vocabulary = 18

        def fresh(self):
            return torch.zeros(18), torch.zeros(18)

        def read(self, tokens, state):
            held, last = (part.clone() for part in state)
            rows = []
            for token in map(int, tokens):
                answers = last.argmax() if last.any() else 0
                row = torch.zeros(18)
                held[answers] = float(token)  # what follows a name is its value
                last = torch.zeros(18)
                last[token] = 1.0
                row += torch.exp(-((torch.arange(18.0) - held[token]) ** 2))
                rows.append(row)
            return torch.stack(rows), (held, last)

    found = recalls(Copier(), "absmax", (2, 8))["index"]
    assert found.does
    assert found.rows[0].success.best == 1
    assert [line.bits for line in found.rows] == [None, 2, 8]
    assert found.rows[0].success.best >= found.rows[1].success.best


def test_what_does_not_retrieve_has_nothing_to_lose():
    found = recalls(subjects.NeedsPositions())
    assert all(not r.does and r.rows == () for r in found.values())
    assert "no scores of" in found["index"].reason


def test_random_scores_are_no_better_than_a_guess():
    class Random(subjects.Honest):
        def read(self, tokens, state):
            rows, h = self.scan(tokens, state["h"])
            return np.concatenate([rows, rows[:, ::-1]], axis=1), {"h": h}

    found = recalls(Random())
    assert "nothing to lose" in found["index"].reason
    assert set(found) == {"index", "mqar", "phonebook"}


def test_prompts():
    for task in tasks(40, 3):
        x = task.problem.sample(np.random.Generator(np.random.PCG64(0)), 5)
        tokens = task.write(x.astype(np.int64))
        assert tokens.max() < 40
        own = [tuple(np.intersect1d(task.names, task.symbols)), len(np.unique(task.symbols))]
        assert own == [(), len(task.symbols)]
        query = int(task.problem.draw(np.random.Generator(np.random.PCG64(0)), x, 1)[0, 0])
        assert task.asks(query) in tokens[0]
    assert tasks(2, 0) == tasks(3, 0) == []


def test_a_broken_wall_is_seen():
    """Nobody has all of 16 bits in a message of 2."""
    assert row(Index(16), 2, 2, 64, 64).violates_wall
    assert not row(Index(16), 2, 16, 64, 64).violates_wall


def test_outputs_that_are_no_scores():
    cut = Cut(adapt(subjects.Honest(), "toy"))
    with pytest.raises(StateboundError, match="4 outputs a token"):
        answer(cut, tasks(8, 0)[0], cut.begin(), 0)
