"""Capacities from configurations: published numbers, exact lengths, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from math import log2
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from statebound.errors import UsageError
from statebound.experiments.capacity import report
from statebound.experiments.capacity.families import FAMILIES
from statebound.experiments.capacity.parts import Part, total
from statebound.experiments.capacity.report import capacity

DOCS = Path(__file__).parents[2] / "docs"
MAMBA = {
    "model_type": "mamba",
    "num_hidden_layers": 24,
    "hidden_size": 768,
    "state_size": 16,
    "conv_kernel": 4,
    "expand": 2,
    "vocab_size": 50280,
    "torch_dtype": "float32",
}
SMOL = {
    "model_type": "llama",
    "num_hidden_layers": 30,
    "hidden_size": 576,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "torch_dtype": "bfloat16",
}
GEMMA = {
    "model_type": "gemma3_text",
    "num_hidden_layers": 18,
    "hidden_size": 640,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "sliding_window": 512,
    "sliding_window_pattern": 6,
    "vocab_size": 262144,
    "torch_dtype": "bfloat16",
}
MAMBA2 = {
    "model_type": "mamba2",
    "num_hidden_layers": 24,
    "hidden_size": 768,
    "num_heads": 24,
    "head_dim": 64,
    "state_size": 128,
    "n_groups": 1,
    "conv_kernel": 4,
    "expand": 2,
    "time_step_limit": [0.0, float("inf")],  # so in published files, as Infinity
    "dtype": "bfloat16",
}
CODESTRAL = MAMBA2 | {
    "num_hidden_layers": 64,
    "hidden_size": 4096,
    "num_heads": 128,
    "n_groups": 8,
}


def of(record, kind, *, stored=False):
    """Return the numbers of all parts of a kind; of keys and values, for one token."""
    key = "stored_numbers" if stored else "live_numbers"
    return sum(row[key] for row in record["parts"] if row["kind"] == kind)


def test_mamba_130m():
    record = capacity(MAMBA)
    assert record["fixed"]["live_numbers"] == 24 * 1536 * (16 + 3) == 700_416
    assert of(record, "convolution", stored=True) == 24 * 1536 * 4
    assert record["fixed"]["live_bits"] == record["state_bits_at_most"] == 32 * 700_416
    half = capacity(MAMBA, dtype="bfloat16")["fixed"]
    assert half["live_bits_by_dtype"] == {
        "bfloat16": 16 * 24 * 1536 * 3,
        "float32": 32 * 24 * 1536 * 16,
    }


@pytest.mark.parametrize(
    ("width", "layers", "numbers"), [(64, 16, 38_912), (128, 10, 48_640), (128, 18, 87_552)]
)
def test_the_mambas_of_the_paper(width, layers, numbers):
    given = {"hidden_size": width, "num_hidden_layers": layers}
    assert capacity(MAMBA | given)["fixed"]["live_numbers"] == numbers


def test_mamba2():
    record = capacity(MAMBA2)
    assert of(record, "recurrent") == 4_718_592
    assert of(record, "convolution") == 24 * 3 * (1536 + 2 * 128)
    assert of(capacity(CODESTRAL), "recurrent") == 64 * 128 * 64 * 128 == 67_108_864


@pytest.mark.parametrize(
    ("model", "kind", "numbers"),
    [
        ({"model_type": "rwkv", "num_hidden_layers": 12, "hidden_size": 768}, "recurrent", 27_648),
        ({"model_type": "recurrent_gemma"}, "convolution", 18 * 3 * 2560),
        ({"model_type": "recurrent_gemma"}, "recurrent", 18 * 2560),
        ({"model_type": "jamba"}, "kv", 4 * 2 * 8 * 128),
        ({"model_type": "deepseek_v3"}, "kv", 61 * (512 + 64)),  # 70,272 bytes at 16 bits
        (SMOL, "kv", 2 * 30 * 3 * 64),
    ],
)
def test_published_sizes(model, kind, numbers):
    assert of(capacity(model), kind) == numbers


def test_gemma_with_its_windows():
    """15 of 18 layers keep 511 tokens at most; three keep all."""
    record = capacity(GEMMA, n=1000)
    assert record["windows"]["live_numbers"] == 15 * 2 * 256 * 511
    assert record["growing_bits_a_token"] == 16 * 3 * 2 * 256
    assert record["at"]["state_bits"] == 16 * 2 * 256 * (15 * 511 + 3 * 1000)
    assert capacity(GEMMA, n=10)["at"]["state_bits"] == 16 * 2 * 256 * 18 * 10
    assert record["fixed"]["live_bits"] == 0
    assert record["kv_exceeds_fixed_from"] is None


def test_the_stars_of_the_paper_need_next_to_nothing():
    """13 bits of a state of 1.25 million: what fails there is not capacity."""
    paper = MAMBA | {"hidden_size": 64, "num_hidden_layers": 16}
    at = capacity(paper, alphabet=2, n=13)["at"]
    assert (at["needed_bits"], at["state_bits"]) == (13, 1_245_184)
    assert at["needed_by_available"] == 13 / 1_245_184


def test_lengths_of_mamba_130m():
    """The state of 32 x 700,416 bits falls short at the first n with 50,280^n above 2^S."""
    held = capacity(MAMBA)["precisions"][0]
    first, bits = held["state_too_small_from"], held["bounded_bits"]
    assert first == held["bounded_too_small_from"] == 1_435_123
    assert 0 < first * log2(50_280) - bits <= log2(50_280)
    assert held["bounded_too_small_for_bits_from"] == bits + 1
    assert capacity(MAMBA, alphabet=4)["precisions"][0]["state_too_small_from"] == bits // 2 + 1


def pieces():
    """Draw parts small enough to count by whole numbers."""
    fixed = st.builds(
        lambda numbers: Part("S", "recurrent", 1, (numbers,), numbers, numbers, "bfloat16"),
        st.integers(1, 6),
    )
    kv = st.builds(
        lambda numbers, window: Part(
            "kv", "kv", 1, (numbers,), numbers, numbers, "bfloat16", window
        ),
        st.integers(1, 2),
        st.none() | st.integers(2, 9),
    )
    return st.lists(fixed | kv, min_size=1, max_size=3)


@given(pieces(), st.sampled_from([2, 3, 4, 7, 50_280, 2**16, 2**16 + 1, 2**20, 2**33 + 1]))
def test_the_first_length_by_whole_numbers(parts, alphabet):
    growth = sum(part.bits(1) for part in parts if part.growing)
    found = report.too_small(lambda n: total(parts, n), growth, alphabet)
    short = [n for n in range(1, 200) if alphabet**n > 2 ** total(parts, n)]
    if found is None:
        assert not short
        assert 2**growth >= alphabet
    elif found < 200:
        assert short == list(range(found, 200))
    else:
        assert not short


@given(pieces(), st.integers(0, 400))
def test_the_first_length_above_a_bound(parts, bound):
    found = report.exceeds(parts, bound)
    above = [n for n in range(500) if total(parts, n) > bound]
    assert (above[:1] or [None]) == [found]


def test_keys_and_values_against_the_fixed_state():
    """Of Jamba: 4 layers of 2 x 8 x 128 numbers at 16 bits a token."""
    record = capacity({"model_type": "jamba", "dtype": "bfloat16"})
    a_token, fixed = 16 * 4 * 2 * 8 * 128, record["fixed"]["live_bits"]
    assert record["kv_bits_a_token"] == record["growing_bits_a_token"] == a_token
    assert record["kv_exceeds_fixed_from"] == fixed // a_token + 1
    assert record["precisions"][0]["state_too_small_from"] is None
    assert record["state_bits_at_most"] is None


def test_two_models_against_each_other():
    mamba, smol = capacity(MAMBA), capacity(SMOL)
    length = 32 * 700_416 // (16 * 11_520) + 1
    assert report.against(mamba, smol)["exceeds_from"] == length
    assert report.against(smol, mamba)["exceeded_from"] == length
    assert report.against(mamba, smol)["exceeded_from"] is None
    both = report.against(smol, smol)
    assert both["exceeds_from"] is both["exceeded_from"] is None


def test_what_is_missing_is_said():
    record = capacity({"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24})
    assert record["assumed"] == {
        "dtype": "float32",
        "expand": 2,
        "state_size": 16,
        "conv_kernel": 4,
        "vocab_size": 50280,
    }
    assert capacity(MAMBA)["assumed"] == {}


def test_a_nested_language_model_is_found():
    outer = {"model_type": "gemma3", "torch_dtype": "float16", "vision_config": {}}
    inner = {key: value for key, value in GEMMA.items() if key != "torch_dtype"}
    record = capacity(outer | {"text_config": inner})
    assert record["nested_in"] == "text_config"
    assert record["dtype"] == "float16"
    assert record["parts"][0]["live_numbers"] == 15 * 512


def test_older_names_are_read():
    """Patterns and kinds as files had them before transformers 5."""
    sizes = {"ssm_state_size": 8, "mamba_num_heads": 2, "mamba_head_dim": 4}
    old = capacity({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*E", **sizes})
    kinds = ["mamba", "mlp", "linear_attention", "attention", "moe"]
    new = capacity({"model_type": "nemotron_h", "layers_block_type": kinds, **sizes})
    assert old["parts"] == new["parts"]
    assert [row["layers"] for row in new["parts"]] == [2, 2, 1]


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_option_of_a_family_matters(name):
    """The name of an option is that of a key which the family reads."""
    bare = capacity({"model_type": name})
    for option, key in FAMILIES[name].names.items():
        if option == "vocabulary":
            assert capacity({"model_type": name, key: 77})["alphabet"] == 77
            continue
        with pytest.raises(UsageError, match=f"^{key} = -1"):
            capacity({"model_type": name, key: -1, **needs(name, option)})
    assert bare["parts"]


def needs(name, option):
    """Return what makes a family read a size that it does not need by default."""
    if name in ("bamba", "granitemoehybrid") and option in ("heads", "kv_heads"):
        return {"attn_layer_indices": [1], "layer_types": ["mamba"] * 31 + ["attention"]}
    if name == "lfm2" and option == "kernel":
        return {"full_attn_idxs": [1]}
    if name in ("qwen2", "qwen3") and option == "window":
        return {"use_sliding_window": True}
    return {}


HOSTILE = [
    ({"state_size": -1}, "state_size", "-1"),
    ({"state_size": 0}, "state_size", "0"),
    ({"state_size": 1.5}, "state_size", "1.5"),
    ({"state_size": True}, "state_size", "True"),
    ({"state_size": "16"}, "state_size", "16"),
    ({"state_size": [16]}, "state_size", "[16]"),
    ({"state_size": float("nan")}, "state_size", "nan"),
    ({"state_size": float("inf")}, "state_size", "inf"),
    ({"state_size": 10**30}, "state_size", "1000000000000000000000000000000"),
    ({"num_hidden_layers": 10**6}, "num_hidden_layers", "1000000"),
    ({"expand": float("nan")}, "expand", "nan"),
    ({"expand": 1e-6}, "expand", "0"),
    ({"vocab_size": 1}, "alphabet", "1"),
    ({"torch_dtype": "int4"}, "dtype", "int4"),
    ({"torch_dtype": {}}, "dtype", "{}"),
    ({"model_type": "t5"}, "model_type", "t5"),
    ({"model_type": ["mamba"]}, "model_type", "['mamba']"),
    ({"model_type": None}, "model_type", "None"),
    (
        {"model_type": "llama", "layer_types": ["full_attention"], "num_hidden_layers": 2},
        "layer_types",
        "1 layers",
    ),
    ({"model_type": "lfm2", "layer_types": [["conv"]]}, "layer_types", "['conv']"),
    ({"model_type": "lfm2", "layer_types": "conv"}, "layer_types", "conv"),
    ({"model_type": "bamba", "attn_layer_indices": [99]}, "attn_layer_indices", "99"),
    ({"model_type": "bamba", "mamba_n_heads": 3}, "mamba_n_heads", "3"),
    ({"model_type": "mamba2", "num_heads": 3}, "num_heads", "3"),
    ({"model_type": "nemotron_h", "hybrid_override_pattern": "M?"}, "layers_block_type", "?"),
    ({"model_type": "zamba2", "num_hidden_layers": 7}, "layers_block_type", "None"),
    ({"model_type": "gemma2", "sliding_window": None}, "sliding_window", "None"),
    ({"model_type": "mistral", "sliding_window": 1}, "sliding_window", "1"),
    ({"model_type": "qwen2", "use_sliding_window": "no"}, "use_sliding_window", "no"),
    ({"model_type": "llama", "num_attention_heads": 9999}, "num_attention_heads", "0"),
    ({"model_type": "jamba", "attn_layer_offset": 8}, "attn_layer_offset", "8"),
]


@pytest.mark.parametrize(("changes", "argument", "shown"), HOSTILE)
def test_a_size_without_meaning_is_refused(changes, argument, shown, cli, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps((MAMBA if "model_type" not in changes else {}) | changes))
    outcome = cli("capacity", file)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {argument} = {shown}: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'"mamba"',
        b"[" * 100_000,
        b'{"model_type": "mamba", "state_size": ' + b"9" * 5000 + b"}",
    ],
    ids=["empty", "torn", "bytes", "list", "text", "deep", "long"],
)
def test_a_file_that_is_no_configuration_is_refused(content, cli, tmp_path):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    outcome = cli("capacity", file)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: config = ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "argument"),
    [
        ([], "config"),
        (["nowhere.json"], "config"),
        (["nowhere.json", "--family", "mamba"], "config"),
        (["--family", "nope"], "model_type"),
        (["--family", "mamba", "--window", "8"], "window"),
        (["--family", "mamba", "--layers", "0"], "num_hidden_layers"),
        (["--family", "mamba", "--set", "state_size"], "set"),
        (["--family", "mamba", "--set", "state_size=many"], "state_size"),
        (["--family", "mamba", "--n", "0"], "n"),
        (["--family", "mamba", "--n", "9" * 20], "n"),
        (["--family", "mamba", "--alphabet", "1"], "alphabet"),
        (["--family", "mamba", "--dtype", "fp8"], "dtype"),
    ],
)
def test_options_without_meaning_are_refused(words, argument, cli):
    outcome = cli("capacity", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {argument} = ")


def test_a_file_and_flags_agree(cli, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(MAMBA))
    read = cli("capacity", tmp_path, "--json").row
    sizes = ["--layers", 24, "--width", 768, "--state", 16, "--kernel", 4]
    rest = ["--set", "expand=2", "--set", "vocab_size=50280", "--dtype", "float32"]
    given = cli("capacity", "--family", "mamba", *sizes, *rest, "--json").row
    assert read.pop("config") == str(tmp_path)
    assert given.pop("config") is None
    assert given == read


def test_the_tables_say_what_was_assumed(cli):
    outcome = cli("capacity", "--family", "rwkv", "--layers", 12, "--width", 768)
    assert outcome.code == 0
    assert "assumed, since missing: dtype = float32, vocab_size = 50277\n" in outcome.out
    assert "token shift" in outcome.out
    assert "a mean and a mass of each channel tell as much" in outcome.out


def test_every_field_is_documented(cli, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(MAMBA))
    row = cli("capacity", file, "--against", file, "--n", 5, "--json").row
    text = (DOCS / "capacity.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    documented = [name.strip(" `") for cell in cells for name in cell.split(",")]
    inner = {key for name in ("parts", "precisions") for r in row[name] for key in r}
    inner |= {key for name in ("fixed", "at", "against") for key in row[name]}
    assert set(documented) == set(row) | inner
    assert all(f"`{name}`" in text for name in FAMILIES)


def test_the_example_of_the_page(cli):
    text = (DOCS / "capacity.md").read_text(encoding="utf-8")
    command, _, printed = text.partition("```console\n$ statebound ")[2].partition("\n")
    assert cli(*command.split()).out == printed.partition("```")[0]


def test_no_heavy_library_is_imported(tmp_path):
    """Reading JSON and counting: neither torch nor numpy."""
    (tmp_path / "config.json").write_text(json.dumps(MAMBA))
    code = (
        "import sys\n"
        "from statebound.experiments.cli import main\n"
        f"sys.argv = ['statebound', 'capacity', {str(tmp_path)!r}]\n"
        "try:\n    main()\n"
        "finally:\n    print({'torch', 'transformers', 'numpy', 'numba'} & set(sys.modules))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.endswith("set()\n")


def test_the_figure(cli, tmp_path):
    file, other = tmp_path / "mamba.json", tmp_path / "smol.json"
    file.write_text(json.dumps(MAMBA))
    other.write_text(json.dumps(SMOL))
    stem = tmp_path / "fig" / "capacity"
    outcome = cli("capacity", file, "--against", other, "--out", stem)
    assert outcome.code == 0
    assert outcome.err == f"wrote {stem}.png\nwrote {stem}.svg\n"
    with Image.open(f"{stem}.png") as image:
        assert image.info["Description"].startswith("statebound capacity ")
        assert image.info["Source"].startswith("sha256:")


@pytest.mark.parametrize(
    ("model", "lines", "crossings"),
    [
        (MAMBA, ["_bounded", "_needed", "_bits"], ["n = 1,435,123"]),
        (SMOL, ["_growing", "_needed", "_bits"], []),
        (
            {"model_type": "jamba", "dtype": "bfloat16"},
            ["_bounded", "_growing", "_state", "_needed", "_bits"],
            ["n = 8,028,161", "n = 981"],
        ),
    ],
    ids=["mamba", "llama", "jamba"],
)
def test_what_the_figure_shows(model, lines, crossings):
    from statebound.experiments.figures import capacity as figure_of

    record = capacity(model)
    parts = report.parts_of(record)
    figure = figure_of.make(
        record,
        {
            "bounded": lambda n: total([p for p in parts if not p.growing], n),
            "growing": lambda n: total([p for p in parts if p.growing], n),
            "state": lambda n: total(parts, n),
        },
    )
    (axes,) = figure.axes
    drawn = [line for line in axes.lines if line.get_label() != "_crossing"]
    assert [line.get_label() for line in drawn] == lines
    assert [text.get_text() for text in axes.texts] == crossings
    for line in drawn:
        if line.get_label() == "_bounded":
            assert set(line.get_ydata()) == {record["fixed"]["live_bits"]}
