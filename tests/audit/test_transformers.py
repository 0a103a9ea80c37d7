"""The verdict on every class that runs, with tiny random weights, against what is known of it.

Wrong in chunks: Mamba, Falcon Mamba and Jamba restart their scan from zero in a call of several
tokens; RecurrentGemma its convolution; MiniMax its linear attention. Zamba2 and Nemotron-H clamp
the step size in calls of several tokens and not in calls of one. Bamba and MiniMax count positions
from 0 in every call. RecurrentGemma returns no state and keeps most of it in modules.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

from statebound.errors import StateboundError, UsageError
from statebound.experiments.audit.bench import Plan
from statebound.experiments.audit.examine import audit
from statebound.experiments.audit.load import load

pytestmark = [pytest.mark.parity, pytest.mark.slow]

SIZE = {"vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 2}
MLP = {"intermediate_size": 48, "max_position_embeddings": 256}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2}
ATTENTION = {**MLP, **HEADS, "head_dim": 8}
LAYERS = {"layer_types": ["linear_attention", "full_attention"]}
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}
MAMBA = {"state_size": 4, "conv_kernel": 4, "expand": 2, "time_step_rank": 4}
MAMBA2 = {
    **{"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_d_state": 8},
    **{"mamba_d_conv": 4, "mamba_expand": 2, "mamba_chunk_size": 8},
}
DELTA = {
    **{"linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 8},
    **{"linear_value_head_dim": 8, "linear_conv_kernel_dim": 4},
}
WINDOW = {**ATTENTION, "sliding_window": 8}
MIXED = {**WINDOW, "layer_types": ["sliding_attention", "full_attention"]}

# name: (config, what is wrong, whether the size is fixed)
CLASSES = {
    "Mamba": (MAMBA, "chunks", True),
    "FalconMamba": (MAMBA, "chunks", True),
    "Jamba": (
        {
            **{**MLP, **HEADS, "attn_layer_period": 2, "attn_layer_offset": 1},
            **{"expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 2},
            **{"num_experts_per_tok": 1, "mamba_d_state": 4, "mamba_d_conv": 4},
            **{"mamba_expand": 2, "mamba_dt_rank": 4},
        },
        "chunks",
        False,
    ),
    "Mamba2": (
        {"state_size": 8, "conv_kernel": 4, "expand": 2, "num_heads": 4, "head_dim": 16}
        | {"n_groups": 1, "chunk_size": 8},
        "",
        True,
    ),
    "Zamba2": (
        {
            **{**MLP, "num_attention_heads": 4, "num_key_value_heads": 4, "mamba_d_state": 8},
            **{"mamba_d_conv": 4, "mamba_expand": 2, "mamba_ngroups": 1, "n_mamba_heads": 4},
            **{"chunk_size": 8, "num_mem_blocks": 1, "hybrid_layer_ids": [1], "adapter_rank": 4},
            **{"layers_block_type": ["mamba", "hybrid"], "use_mem_rope": True},
        },
        "steps",
        False,
    ),
    "NemotronH": (
        {
            **{**ATTENTION, "layers_block_type": ["mamba", "attention", "mlp"]},
            **{"mamba_num_heads": 4, "mamba_head_dim": 16, "ssm_state_size": 8},
            **{"conv_kernel": 4, "n_groups": 1, "chunk_size": 8},
        },
        "steps",
        False,
    ),
    "FalconH1": (ATTENTION | MAMBA2 | {"mamba_d_ssm": 64}, "", False),
    "GraniteMoeHybrid": (
        MLP
        | HEADS
        | EXPERTS
        | MAMBA2
        | {"layer_types": ["mamba", "attention"], "shared_intermediate_size": 32},
        "",
        False,
    ),
    "Bamba": (MLP | HEADS | MAMBA2 | {"attn_layer_indices": [1]}, "positions", False),
    "MiniMax": (ATTENTION | LAYERS | EXPERTS | {"block_size": 8}, "positions chunks", False),
    "Qwen3Next": (
        ATTENTION
        | DELTA
        | LAYERS
        | {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16}
        | {"shared_expert_intermediate_size": 16},
        "",
        False,
    ),
    "Qwen3_5": (ATTENTION | DELTA | LAYERS, "", False),
    "OlmoHybrid": (MLP | HEADS | DELTA | LAYERS | {"linear_num_key_heads": 4}, "", False),
    "KimiLinear": (
        {
            **{**MLP, **LAYERS, **EXPERTS, "mlp_layer_types": ["dense", "dense"]},
            **{"num_attention_heads": 4, "num_key_value_heads": 4, "kv_lora_rank": 16},
            **{"qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8},
            **{"moe_intermediate_size": 16, "linear_head_dim": 8, "linear_num_heads": 4},
        },
        "",
        False,
    ),
    "Lfm2": (
        MLP | HEADS | {"conv_L_cache": 3, "layer_types": ["conv", "full_attention"]},
        "",
        False,
    ),
    "RecurrentGemma": (
        ATTENTION
        | {"num_hidden_layers": 3, "num_key_value_heads": 1, "lru_width": 32}
        | {"attention_window_size": 8, "conv1d_width": 4, "intermediate_size": 96},
        "hidden chunks",
        True,
    ),
    "Rwkv": ({"attention_hidden_size": 32, "context_length": 64}, "", True),
    "xLSTM": (
        {"hidden_size": 128, "num_blocks": 2, "num_heads": 2, "chunk_size": 8},
        "",
        True,
    ),
    "Mistral": (WINDOW, "", True),
    "Gemma3": (MIXED, "", False),
    "GptOss": (MIXED | EXPERTS | {"experts_per_token": 1}, "", False),
    "Llama": (ATTENTION, "", False),
}
DEAD_COLUMNS = {
    *("Mamba", "FalconMamba", "Jamba", "Mamba2", "Zamba2", "NemotronH", "FalconH1"),
    *("GraniteMoeHybrid", "Bamba", "Qwen3Next", "Qwen3_5", "OlmoHybrid", "KimiLinear", "Lfm2"),
}
QUICK = Plan(tokens=18, handoffs=(2, 5, 9), middle=9, steps=3, lengths=(4, 12, 24, 32), probes=48)


@pytest.fixture(scope="module")
def transformers():
    found = pytest.importorskip("transformers")
    found.logging.set_verbosity_error()
    return found


@cache
def examined(transformers, name):
    import torch

    from statebound.experiments.audit.transformers_model import louden
    from statebound.experiments.audit.transformers_model import subject as made

    kind = getattr(transformers, f"{name}ForCausalLM")
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    torch.manual_seed(0)
    model = kind(kind.config_class(**SIZE | tokens | CLASSES[name][0]))
    louden(model, 0)
    return audit(made(model, name), how=QUICK)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_the_verdict(transformers, name):
    _, wrong, fixed = CLASSES[name]
    found = examined(transformers, name)
    said = set(wrong.split())
    assert found.ok
    assert found.state_consumed
    assert found.step_ok == ("steps" not in said)
    if "steps" not in said:
        assert found.chunk_ok == ("chunks" not in said)
    assert found.needs_positions == ("positions" in said)
    assert bool(found.hidden) == ("hidden" in said)
    assert found.growth.fixed == fixed
    assert found.mutates_in_place
    dead = [p for p in found.parts if ".conv_states" in p.path]
    assert [p.dead for p in dead] == [((2, 0),)] * len(dead)
    assert bool(dead) == (name in DEAD_COLUMNS)
    assert found.facts["other_names"]["no_such_state"] == "ignored"
    assert found.outside == ()
    right = [s.error for s in found.splits if s.right]
    assert max(right) < 2e-6, "what counts as right is far from what counts as wrong"
    assert min([s.error for s in found.splits if not s.right], default=1) > 1e-5
    json.dumps(found.record(), allow_nan=False)


def test_recurrent_gemma_keeps_its_state_in_modules(transformers):
    found = examined(transformers, "RecurrentGemma")
    assert found.hidden == tuple(
        f"model.model.layers.{layer}.temporal_block.{rest}"
        for layer in (0, 1)
        for rest in ("conv1d_state", "rg_lru.recurrent_states")
    )
    assert found.facts["state_returned_as"] is None
    assert not next(s for s in found.splits if s.way == "state alone").right


def test_rwkv_rescales_its_weights(transformers):
    found = examined(transformers, "Rwkv")
    assert "rescales" in found.codes()
    assert found.facts["state_keyword"] == "state"
    assert found.facts["other_names"]["past_key_values"] == "ignored"


@pytest.fixture
def saved(transformers, tmp_path):
    """Return a folder with a tiny saved model."""
    import torch

    torch.manual_seed(0)
    config = transformers.LlamaConfig(**SIZE | ATTENTION | {"bos_token_id": 1, "eos_token_id": 2})
    transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(tmp_path)
    return tmp_path


def test_a_saved_folder(saved):
    found = audit(load(str(saved)), how=QUICK)
    assert (found.ok, found.checked_in) == (True, "float32")
    assert set(found.sizes.by_dtype) == {"bfloat16"}
    assert found.facts["class"] == "LlamaForCausalLM"


def test_a_saved_configuration_with_an_infinity(transformers, tmp_path):
    config = transformers.Mamba2Config(
        vocab_size=16,
        hidden_size=8,
        state_size=4,
        num_hidden_layers=1,
        num_heads=4,
        head_dim=4,
        n_groups=1,
        chunk_size=4,
    )
    config.save_pretrained(tmp_path)
    limits = load(str(tmp_path / "config.json")).model._inner.config.time_step_limit
    assert tuple(limits) == (0.0, float("inf"))


def test_a_configuration_alone(saved):
    made = load(str(saved / "config.json"), seed=3)
    again = load(str(saved / "config.json"), seed=3)
    other = load(str(saved / "config.json"), seed=4)
    weights = [next(m.model._inner.parameters()) for m in (made, again, other)]
    assert weights[0].equal(weights[1])
    assert not weights[0].equal(weights[2])


def test_weights_cut_short(saved):
    file = saved / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(StateboundError, match=r"damaged or cut short .*; fetch the file again"):
        load(str(saved))


def test_weights_that_are_missing_are_not_made_up(saved):
    from safetensors.torch import load_file, save_file

    file = saved / "model.safetensors"
    kept = load_file(file)
    del kept["model.layers.1.mlp.up_proj.weight"]
    save_file(kept, file, metadata={"format": "pt"})
    with pytest.raises(StateboundError, match=r"1 weights are missing.*layers\.1\.mlp\.up_proj"):
        load(str(saved))


def test_a_type_that_is_not_known(saved):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | {"model_type": "of tomorrow"}))
    with pytest.raises(UsageError, match="no model type of the installed transformers"):
        load(str(saved))
