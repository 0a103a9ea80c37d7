"""torch's own recurrent modules, and modules that keep state in themselves."""

from __future__ import annotations

import pytest

from statebound.experiments.audit.examine import audit
from statebound.experiments.audit.subject import adapt

pytestmark = pytest.mark.parity


@pytest.fixture
def torch():
    found = pytest.importorskip("torch")
    found.manual_seed(0)
    return found


@pytest.mark.parametrize(
    ("name", "options", "numbers"),
    [
        ("RNN", {}, 5),
        ("GRU", {"num_layers": 2, "batch_first": True}, 10),
        ("LSTM", {}, 10),
        ("LSTM", {"proj_size": 2}, 7),
    ],
    ids=str,
)
def test_recurrent_modules(torch, name, options, numbers):
    module = getattr(torch.nn, name)(3, 5, **options)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(2)
    found = audit(adapt(module, name))
    assert (found.ok, found.step_ok, found.chunk_ok) == (True, True, True)
    assert (found.sizes.stored_numbers, found.sizes.live_numbers) == (numbers, numbers)
    assert found.sizes.by_dtype == {"float32": 32 * numbers}
    assert found.growth.fixed
    assert found.hidden == ()
    assert [f.code for f in found.findings] == []
    assert 0 <= max(s.error for s in found.splits) < 1e-6


def test_half_precision_is_checked_in_float32(torch):
    found = audit(adapt(torch.nn.GRU(3, 5).bfloat16(), "half"))
    assert (found.ok, found.checked_in) == (True, "float32")
    assert found.sizes.by_dtype == {"bfloat16": 80}


def test_both_directions_cannot_be_split(torch):
    found = audit(adapt(torch.nn.GRU(3, 5, bidirectional=True), "both"))
    assert not found.ok
    assert "reads-ahead" in found.codes()


def module_with(torch, **buffers):
    class Module(torch.nn.Module):
        vocabulary = 6

        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(6, 4)
            self.cell = torch.nn.GRUCell(4, 4)
            for name, size in buffers.items():
                self.register_buffer(name, torch.zeros(size))
            self.fast = torch.nn.Parameter(torch.zeros(4), requires_grad=False)

        def fresh(self):
            return torch.zeros(1, 4)

        def read(self, tokens, state):
            rows = []
            for token in tokens:
                state = self.cell(self.table.weight[token][None], state)
                rows.append(self.emit(state[0]))
            return torch.stack(rows), state

        def emit(self, h):
            return h

    return Module


def test_a_buffer_that_changes_is_found(torch):
    class Remembers(module_with(torch, memory=4)):
        def emit(self, h):
            self.memory.mul_(0.9).add_(h)
            return h + self.memory

    found = audit(adapt(Remembers(), "remembers"))
    assert found.ok
    assert found.hidden == ("model.memory",)
    assert {"hidden-state", "leftovers"} <= found.codes()


def test_parameters_that_learn_are_found(torch):
    class Learns(module_with(torch)):
        def emit(self, h):
            self.fast.mul_(0.9).add_(h)
            return h + self.fast

    found = audit(adapt(Learns(), "learns"))
    assert not found.ok
    assert "model.fast" in next(f.text for f in found.findings if f.code == "learns")


def test_outputs_that_need_gradients_are_read(torch):
    assert audit(adapt(module_with(torch)(), "plain")).ok
