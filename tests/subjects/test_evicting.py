"""What each policy drops, against attention recomputed from everything that was read."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.experiments.subjects import cache_message, evicting
from statebound.experiments.subjects.evicting import POLICIES, Layer, Policy, attend, policy
from statebound.models.kv_h2o import _scan

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

B, G, Q, D = 2, 2, 3, 4
HEAVY = Policy("heavy", 5, 2)


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def layer_of(rule):
    shape = (B, G, rule.entries)
    scores = torch.zeros(shape) if rule.name == "heavy" else None
    return Layer(torch.zeros(*shape, D), torch.zeros(*shape, D), scores)


def turned(x, places):
    """Rotate the last axis by places (T,), halves being pairs, as complex numbers."""
    half = x.shape[-1] // 2
    speed = 0.7 ** torch.arange(half)
    pairs = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous())
    pairs = pairs * torch.polar(torch.ones(()), places[:, None] * speed)
    return torch.cat([pairs.real, pairs.imag], dim=-1)


def run(rule, q, k, v, sizes):
    """Return the outputs of reading in calls of these sizes, and the layer."""
    layer, read, said = layer_of(rule), 0, []
    for size in sizes:
        now = slice(read, read + size)
        places = torch.arange(read, read + size)
        inside = places.clamp(max=rule.entries)
        queries = [turned(q[:, :, :, now], p) for p in (places, inside)]
        keys = turned(k[:, :, now], places)
        said.append(attend(rule, layer, read, *queries, keys, v[:, :, now]))
        read += size
    return torch.cat(said, dim=3), layer


def inputs(T, seed=1):
    return drawn(B, G, Q, T, D, seed=seed), drawn(B, G, T, D, seed=2), drawn(B, G, T, D, seed=3)


def seen(rule, t):
    """Return which tokens the one at place t attends to, and at which positions in the cache."""
    before = list(range(t))
    if rule.name == "fifo":
        before = before[-rule.entries :]
    elif t > rule.entries:
        before = before[: rule.kept] + before[-rule.recent :]
    return [*before, t]


@pytest.mark.parametrize("rule", [Policy("fifo", 5), Policy("sinks", 6, 2), Policy("full", 12)])
def test_positions_inside_the_cache_are_what_is_computed(rule):
    """Keys that were never rotated, at positions 0, 1, .. of what is kept, the query last."""
    T = 12
    q, k, v = inputs(T)
    said, _ = run(rule, q, k, v, [T])
    for t in range(T):
        which = seen(rule, t)
        keys = turned(k[:, :, which], torch.arange(len(which)))
        query = turned(q[:, :, :, [t]], torch.tensor([len(which) - 1]))[:, :, :, 0]
        weights = torch.softmax(query @ keys.transpose(-1, -2), dim=-1)
        torch.testing.assert_close(said[:, :, :, t], weights @ v[:, :, which])


def reference(rule, q, k, v, b, g):
    """H2O of one head, by hand: lists of (token, sum), its query heads added."""
    q, k, v = (x[b, g].double().numpy() for x in (q, k, v))
    heavy, recent, said = [], [], []
    for t in range(len(k)):
        kept = [*heavy, *recent]
        at = [token for token, _ in kept] + [t]
        logits = q[:, t] @ k[at].T
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        said.append(weights @ v[at])
        sums = [old + new for (_, old), new in zip(kept, weights.sum(axis=0), strict=False)]
        kept = [(token, now) for (token, _), now in zip(kept, sums, strict=True)]
        heavy, recent = kept[: len(heavy)], kept[len(heavy) :]
        recent.append((t, weights[:, -1].sum()))
        if len(recent) > rule.recent:
            leaving = recent.pop(0)
            if len(heavy) < rule.kept:
                heavy.append(leaving)
            else:
                worst = min(range(len(heavy)), key=lambda j: heavy[j][1])
                if heavy[worst][1] <= leaving[1]:
                    heavy[worst] = leaving
    return np.stack(said, axis=1), heavy, recent


def test_heavy_hitters_are_those_of_a_plain_list_in_every_head():
    T = 30
    q, k, v = inputs(T)
    q = 3 * q
    said, layer = run(HEAVY, q, k, v, [T])
    places = torch.arange(T)
    q, k = turned(q, places), turned(k, places)
    kept = set()
    for b in range(B):
        for g in range(G):
            wanted, heavy, recent = reference(HEAVY, q, k, v, b, g)
            np.testing.assert_allclose(said[b, g], wanted, atol=1e-5)
            order = HEAVY.order(T)
            tokens = [token for token, _ in [*heavy, *recent]]
            assert tokens[-3:] == [T - 3, T - 2, T - 1]
            torch.testing.assert_close(layer.keys[b, g, order], k[b, g, tokens])
            torch.testing.assert_close(layer.values[b, g, order], v[b, g, tokens])
            sums = np.array([total for _, total in [*heavy, *recent]])
            np.testing.assert_allclose(layer.scores[b, g, order], sums, atol=1e-5)
            kept.add(tuple(tokens))
    assert len(kept) > 1  # heads differ, so no list of places is shared


def test_one_head_keeps_what_the_cell_of_the_same_name_keeps():
    """`statebound.models.kv_h2o` has no rotation, one query head, and its own loop."""
    T = 25
    q, k, v = (x[:1, :1] for x in inputs(T))
    q = 2 * q[:, :, :1]
    layer = Layer(torch.zeros(1, 1, 5, D), torch.zeros(1, 1, 5, D), torch.zeros(1, 1, 5))
    attend(HEAVY, layer, 0, q, q, k, v)
    lanes = 128
    entries = np.zeros((1, 5, 2 * D + 1, lanes), np.float32)
    tokens = np.repeat(np.arange(T, dtype=np.int32)[None, :, None], lanes, axis=2)
    tables = [np.ascontiguousarray(x.reshape(T, D).numpy()) for x in (k, q, v)]
    _scan(entries, tokens, np.arange(T, dtype=np.int32), *tables, HEAVY.kept)
    order = HEAVY.order(T)
    np.testing.assert_allclose(layer.keys[0, 0, order], entries[0, :, :D, 0], atol=1e-6)
    np.testing.assert_allclose(layer.values[0, 0, order], entries[0, :, D : 2 * D, 0], atol=1e-6)
    np.testing.assert_allclose(layer.scores[0, 0, order], entries[0, :, -1, 0], atol=1e-5)


@pytest.mark.parametrize(
    ("sums", "kept"),
    [
        ([3.0, 1.0, 2.0], [0, 2]),  # inside the heavy ones, the least goes
        ([1.0, 1.0, 1.0], [2, 1]),  # among equals the lowest place, and the newcomer stays
        ([3.0, 3.0, 2.0], [0, 1]),  # the one that leaves is the least itself
        ([0.0, 0.0, 0.0], [2, 1]),
    ],
)
def test_an_eviction_of_sums_made_by_hand(sums, kept):
    """Tokens 0 .. 4 fill the cache; then the sixth is read, whose query weighs all alike."""
    layer = layer_of(HEAVY)
    marks = torch.arange(5.0)[:, None].expand(B, G, 5, D).clone()
    order = HEAVY.order(5)
    layer.values[:, :, order] = marks
    layer.scores[:, :, order] = torch.tensor([*sums, 0.0, 0.0])
    zeros = torch.zeros(B, G, Q, 1, D)
    attend(HEAVY, layer, 5, zeros, zeros, zeros[:, :, 0], torch.full((B, G, 1, D), 5.0))
    found = layer.values[:, :, HEAVY.order(6), 0]
    assert found.tolist() == [[[*map(float, kept), 3.0, 4.0, 5.0]] * G] * B


@pytest.mark.parametrize("name", POLICIES)
def test_split_is_no_split(name):
    rule = policy(name, 20 if name == "full" else 6)
    q, k, v = inputs(20)
    whole, layer = run(rule, q, k, v, [20])
    for sizes in ([1] * 20, [3, 4, 13], [6, 14], [19, 1]):
        said, other = run(rule, q, k, v, sizes)
        torch.testing.assert_close(said, whole, rtol=0, atol=1e-6)
        torch.testing.assert_close(other.keys, layer.keys, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", POLICIES[1:])
def test_what_was_dropped_or_never_written_does_not_matter(name):
    """Noise in unwritten places changes nothing; the newest token is kept, others are gone."""
    rule, T = policy(name, 6), 4
    q, k, v = inputs(20)
    places = torch.arange(20)
    q, k = turned(q, places), turned(k, places)
    clean, noisy = layer_of(rule), layer_of(rule)
    for layer in (clean, noisy):
        attend(rule, layer, 0, *[q[:, :, :, :T]] * 2, k[:, :, :T], v[:, :, :T])
    for part in (noisy.keys, noisy.values, noisy.scores):
        if part is not None:
            part[:, :, rule.order(T)[:2]] = 1e4
    for n in range(T, 20):
        now = slice(n, n + 1)
        given = ([q[:, :, :, now]] * 2, k[:, :, now], v[:, :, now])
        one, other = (attend(rule, x, n, *given[0], *given[1:]) for x in (clean, noisy))
        assert torch.equal(one, other)
        assert torch.equal(clean.keys[:, :, rule.order(n + 1)[-1]], k[:, :, n])
    assert clean.keys.shape[2] == 6


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("entries", [5, 6, 9])
def test_every_place_is_in_the_order_once_and_recent_tokens_are_last(name, entries):
    rule = policy(name, 30 if name == "full" else entries)
    for read in range(1, 30):
        order = rule.order(read)
        assert len(order) == rule.held(read) == (read if name == "full" else entries)
        assert sorted(order) == list(range(len(order)))
        last = [rule.place(n) for n in range(max(0, read - rule.recent), read)]
        assert order[len(order) - len(last) :] == last


@pytest.mark.parametrize(
    ("name", "entries", "says"),
    [("lru", 8, "choose from full, fifo"), ("sinks", 4, "at least 5"), ("heavy", 1, "at least 2")],
)
def test_mistakes(name, entries, says):
    with pytest.raises(UsageError, match=says):
        evicting.policy(name, entries)


def test_numbers_of_a_state_are_counted_from_its_sizes():
    assert cache_message.bounded(policy("sinks", 32), 30, 3, 64) == 30 * 3 * 32 * 128
    assert cache_message.bounded(policy("heavy", 32), 30, 3, 64) == 30 * 3 * 32 * 129
    assert cache_message.bounded(policy("full", 32), 30, 3, 64) is None
