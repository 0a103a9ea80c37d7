"""The walk: what it finds, in which order, and that it writes back what it read."""

from __future__ import annotations

from collections import deque, namedtuple

import numpy as np
import pytest

from statebound.experiments.audit import walk


class Holder:
    def __init__(self, **held):
        vars(self).update(held)


class Slotted:
    __slots__ = ("empty", "k")

    def __init__(self):
        self.k = np.arange(3.0)


class ModelConfig:
    hidden = 3


Pair = namedtuple("Pair", "left right")


def example():
    return {
        "layers": [Holder(keys=np.zeros((2, 3), np.float32), seen=4, note=None), Slotted()],
        "pair": Pair(1.5, (np.ones(2), True)),
        "queue": deque([1, 2], maxlen=2),
        "config": ModelConfig(),
        "text": "ab",
        "call": len,
    }


def test_paths_in_order():
    found = walk.leaves(example())
    assert [walk.text(path) for path in found] == [
        "['layers'][0].keys",
        "['layers'][0].seen",
        "['layers'][0].note",
        "['layers'][1].k",
        "['pair'][0]",
        "['pair'][1][0]",
        "['pair'][1][1]",
        "['queue'][0]",
        "['queue'][1]",
        "['text']",
    ]
    assert [walk.count(v) for v in found.values()] == [6, 1, 0, 3, 1, 2, 1, 1, 1, 2]
    assert [walk.bits(v) for v in found.values()] == [192, 3, 0, 192, 64, 128, 1, 1, 2, 16]


def test_what_is_read_is_what_was_written():
    root = example()
    before = root["layers"][0].keys
    for path, value in walk.leaves(root).items():
        if walk.is_numeric(value):
            root = walk.assign(root, path, walk.like(value, walk.array(value) + 1))
    assert root["layers"][0].keys is before, "arrays are overwritten in place"
    assert (before == 1).all()
    assert isinstance(root["pair"], Pair)
    assert root["pair"].left == 2.5
    assert root["pair"].right[0].tolist() == [2, 2]
    assert root["queue"] == deque([2, 3])
    assert root["layers"][0].seen == 5
    for path, value in walk.leaves(root).items():
        assert walk.same(walk.at(root, path), value)


def test_a_set_is_written_as_a_copy():
    sent = {1}
    held = walk.assign([set()], (("item", 0),), sent)
    held[0].add(2)
    assert (held, sent) == ([{1, 2}], {1})


def test_a_shape_that_changes_is_replaced():
    root = Holder(k=np.zeros(2))
    assert walk.assign(root, (("attr", "k"),), np.ones(3)) is root
    assert root.k.tolist() == [1, 1, 1]


def test_cycles_and_repetitions_end():
    root = Holder(k=np.zeros(2))
    root.myself, root.again = root, root.k
    assert [walk.text(p) for p in walk.leaves(root)] == ["k", "again"]
    assert walk.place(root.k) == walk.place(root.again)


def test_what_cannot_be_entered_is_named():
    found = walk.opaque({"a": iter([1]), "b": 3, "c": np.random.default_rng(0)})
    assert {walk.text(o.path): o.kind for o in found}["['a']"] == "list_iterator"


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, True), (np.zeros(2), np.zeros(2, np.float32)), (np.zeros(2), np.zeros((1, 2))), ("1", 1)],
)
def test_different_things_are_not_the_same(left, right):
    assert not walk.same(left, right)
    assert walk.same(left, left)


@pytest.mark.parity
def test_torch():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 2)
    module.register_buffer("memory", torch.zeros(3, dtype=torch.bfloat16))
    module.inner = torch.nn.BatchNorm1d(2)
    module.plain = torch.arange(4)
    found = {walk.text(path): value for path, value in walk.leaves(module).items()}
    assert {"memory", "plain", "inner.running_mean", "inner.num_batches_tracked"} <= set(found)
    assert not [path for path in found if "weight" in path]
    assert [walk.text(path) for path, _ in walk.parameters(module)] == [
        *("weight", "bias"),
        *("inner.weight", "inner.bias"),
    ]
    assert walk.bits(found["memory"]) == 48
    assert walk.array(found["memory"]).dtype == np.float32
    kept = module.memory
    walk.assign(module, (("attr", "memory"),), walk.like(kept, np.full(3, 2.5)))
    assert module.memory is kept
    assert kept.tolist() == [2.5] * 3
    spread = torch.zeros(1).expand(4)
    assert walk.assign(spread, (), torch.ones(4)) is not spread
