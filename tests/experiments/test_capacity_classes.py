"""What `capacity` says of a configuration, against the state of the class that reads it.

One test, since importing transformers takes longer than all that is compared.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from statebound.experiments.capacity import report
from statebound.experiments.capacity.families import FAMILIES
from statebound.experiments.capacity.parts import WIDTHS
from statebound.experiments.capacity.transformers import PLAIN

TOKENS, WINDOW = 7, 5
USUAL = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 3, "pad_token_id": 0}
KERNEL = 3  # other than the default of most
ATTENTION = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64}
BY_EXPANSION = {
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_n_groups": 2,
    "mamba_d_state": 8,
    "mamba_d_conv": KERNEL,
}
DELTA = {
    **ATTENTION,
    "head_dim": 16,
    "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 24,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_conv_kernel_dim": KERNEL,
}
EXPERTS = {
    "num_experts": 2,
    "num_experts_per_tok": 1,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}
LATENT = {
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "kv_lora_rank": 12,
    "q_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "intermediate_size": 64,
    "moe_intermediate_size": 16,
    "n_routed_experts": 4,
    "num_experts_per_tok": 1,
    "n_group": 1,
    "topk_group": 1,
}
SIZES: dict[str, dict[str, Any]] = {
    "mamba": {"state_size": 5, "conv_kernel": KERNEL},
    "falcon_mamba": {"state_size": 5, "expand": 3},
    "mamba2": {
        "num_heads": 4,
        "head_dim": 16,
        "state_size": 6,
        "n_groups": 2,
        "chunk_size": 8,
        "conv_kernel": KERNEL,
    },
    "rwkv": {},
    "recurrent_gemma": {**ATTENTION, "attention_window_size": WINDOW, "lru_width": 24},
    "xlstm": {"hidden_size": 128, "num_heads": 2},
    "jamba": {
        **ATTENTION,
        "mamba_d_state": 5,
        "mamba_d_conv": KERNEL,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "num_experts": 2,
    },
    "zamba2": {
        **ATTENTION,
        "layers_block_type": ["mamba", "hybrid", "mamba"],
        "n_mamba_heads": 4,
        "mamba_d_state": 8,
        "mamba_d_conv": KERNEL,
        "mamba_ngroups": 2,
        "chunk_size": 8,
    },
    "bamba": {**ATTENTION, **BY_EXPANSION, "attn_layer_indices": [1]},
    "falcon_h1": {**ATTENTION, **BY_EXPANSION, "mamba_d_ssm": 64},
    "granitemoehybrid": {
        **ATTENTION,
        **BY_EXPANSION,
        "layer_types": ["mamba", "attention", "mamba"],
        "shared_intermediate_size": 32,
        "num_local_experts": 2,
    },
    "nemotron_h": {
        **ATTENTION,
        "num_hidden_layers": 4,
        "head_dim": 16,
        "layers_block_type": ["mamba", "attention", "mlp", "moe"],
        "ssm_state_size": 8,
        "mamba_num_heads": 4,
        "mamba_head_dim": 16,
        "n_groups": 2,
        "conv_kernel": KERNEL,
        "chunk_size": 8,
        "moe_intermediate_size": 16,
        "moe_shared_expert_intermediate_size": 16,
        "n_routed_experts": 2,
    },
    "qwen3_next": {**DELTA, **EXPERTS},
    "qwen3_5_text": DELTA,
    "lfm2": {
        **ATTENTION,
        "layer_types": ["conv", "full_attention", "conv"],
        "conv_L_cache": 4,
        "block_auto_adjust_ff_dim": False,
    },
    "deepseek_v2": LATENT,
    "deepseek_v3": LATENT,
}
for name, kind in PLAIN.items():
    SIZES[name] = dict(ATTENTION) if name != "gpt2" else {"n_head": 4}
    if kind.head is not None:
        SIZES[name]["head_dim"] = 16
    if kind.window is not None:
        SIZES[name]["sliding_window"] = WINDOW
    if kind.rule == "if used":
        SIZES[name] |= {"use_sliding_window": True, "max_window_layers": 1}
SIZES["ministral"]["head_dim"] = 16  # the class cannot do without
SIZES["gpt_oss"] |= {"num_local_experts": 2, "num_experts_per_tok": 1}
SIZES["mixtral"] |= {"num_local_experts": 2, "sliding_window": WINDOW}


@pytest.mark.slow
@pytest.mark.parity
def test_the_classes_of_transformers_hold_what_is_said():
    pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs: deprecations, and slow paths on a CPU
        transformers = pytest.importorskip("transformers")
        transformers.logging.set_verbosity_error()
        assert set(SIZES) == set(FAMILIES)
        for name, sizes in SIZES.items():
            defaults_are_theirs(transformers, name)
            config = transformers.AutoConfig.for_model(name, **{**USUAL, **sizes})
            for dtype in ("float32", "bfloat16"):
                compare(transformers, name, config, dtype)


def defaults_are_theirs(transformers, name: str) -> None:
    """A configuration of nothing but its kind means what the class takes it to be."""
    full = json.loads(transformers.AutoConfig.for_model(name).to_json_string(use_diff=False))
    bare = report.capacity({"model_type": name})
    for key in ("parts", "vocabulary"):
        assert bare[key] == report.capacity(full)[key], name


def compare(transformers, name: str, config, dtype: str) -> None:
    """Read tokens, and count the tensors by part and dtype: numbers and bits are as said."""
    import torch

    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    ids = torch.arange(1, TOKENS + 1)[None]
    cache = transformers.DynamicCache(config=config) if name == "recurrent_gemma" else None
    given = {} if cache is None else {"cache": cache}
    with torch.no_grad():
        out = model.eval()(ids, use_cache=True, **given)
    held: Any = cache if cache is not None else out.state if name == "rwkv" else out.cache
    found: Counter[tuple[str, str]] = Counter()
    for path, tensor in [*tensors(held), *in_modules(model)]:
        part = which(name, path)
        if part is not None:
            found[part, str(tensor.dtype).removeprefix("torch.")] += tensor.numel()
    said: Counter[tuple[str, str]] = Counter()
    texts = [config.to_json_string(use_diff=diff) for diff in (False, True)]
    for text in texts:
        record = report.capacity(json.loads(text), dtype=dtype, n=TOKENS)
        parts = report.parts_of(record)
        said.clear()
        for part in parts:
            said[part.kind, part.dtype] += part.numbers(TOKENS, stored=True)
        assert said == found, f"{name}, {dtype}"
        assert sum(part.bits(TOKENS, stored=True) for part in parts) == sum(
            numbers * WIDTHS[width] for (_, width), numbers in found.items()
        )
    dead = any(part.stored > part.live for part in parts)
    if dtype == "float32" and hasattr(held, "layers") and dead:
        the_oldest_column_is_dead(model, held, name)


def the_oldest_column_is_dead(model, cache, name: str) -> None:
    """Of a convolution, column 0 leaves the next token as it is; each later one does not."""
    import torch

    def step(column: int | None):
        again = copy.deepcopy(cache)
        for layer in again.layers:
            for states in getattr(layer, "conv_states", {}).values():
                if column is not None:
                    states[..., column] += 3.0
        at = torch.tensor([[TOKENS]])
        with torch.no_grad():
            return model(torch.tensor([[9]]), cache=again, use_cache=True, position_ids=at).logits

    before = step(None)
    kernel = next(
        layer.conv_states[0].shape[-1] for layer in cache.layers if hasattr(layer, "conv_states")
    )
    changed = [not torch.equal(before, step(column)) for column in range(kernel)]
    assert changed == [False] + [True] * (kernel - 1), name


def tensors(held: Any, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the tensors inside containers and objects, with their paths."""
    import torch

    seen = set() if seen is None else seen
    if isinstance(held, torch.Tensor):
        yield path, held
        return
    if id(held) in seen or type(held).__name__.endswith("Config"):
        return
    seen.add(id(held))
    if isinstance(held, dict):
        inside = list(held.items())
    elif isinstance(held, list | tuple):
        inside = list(enumerate(held))
    else:
        inside = list(getattr(held, "__dict__", {}).items())
    for key, value in inside:
        yield from tensors(value, f"{path}.{key}", seen)


def in_modules(model) -> Iterator[tuple[str, Any]]:
    """Yield what RecurrentGemma keeps in plain attributes of its modules."""
    for module in model.modules():
        for key in ("conv1d_state", "recurrent_states"):
            if vars(module).get(key) is not None:
                yield f".{key}", vars(module)[key]


def which(name: str, path: str) -> str | None:
    """Return the part that a tensor belongs to; None for what the length alone decides."""
    if path.endswith(("_sliding_window_tensor", "seqlen_offset")):
        return None
    if name == "rwkv":
        return "convolution" if path in (".0", ".1") else "recurrent"
    if name == "xlstm" or "recurrent_states" in path:
        return "recurrent"
    return "convolution" if "conv" in path else "kv"
