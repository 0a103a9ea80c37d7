"""Which models are known, by their ``model_type``, and how their sizes are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from statebound.experiments.capacity import hybrids, recurrent, transformers
from statebound.experiments.capacity.config import Config
from statebound.experiments.capacity.parts import Part

_DEPTH = {"layers": "num_hidden_layers", "vocabulary": "vocab_size"}
_USUAL = {**_DEPTH, "width": "hidden_size"}
_ATTENTION = {"heads": "num_attention_heads", "kv_heads": "num_key_value_heads"}


@dataclass(frozen=True)
class Family:
    """A ``model_type``.

    Parameters
    ----------
    parts
        Gives the parts of the state, from the sizes and the dtype of the model.
    vocabulary
        The default number of tokens.
    names
        What a few sizes are called in the configuration, by the name of their option.
    note
        What a reader of its table should know.
    """

    parts: Callable[[Config, str], list[Part]]
    vocabulary: int
    names: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


_RWKV = "a mean and a mass of each channel tell as much as numerator, denominator and maximum"
_XLSTM = "this class stores its state in the dtype of the model, and computes it in float32"
_LATENT = "the latent is cached, as in transformers 5; expanded keys and values are larger"


def _mamba_names(state: str, kernel: str) -> dict[str, str]:
    return {**_USUAL, "state": state, "kernel": kernel}


def _hybrid_names(state: str, kernel: str, **more: str) -> dict[str, str]:
    return {**_mamba_names(state, kernel), **_ATTENTION, **more}


def _plain_names(name: str) -> dict[str, str]:
    kind = transformers.PLAIN[name]
    depth, breadth, many = kind.names
    found = {**_USUAL, "layers": depth, "width": breadth, "heads": many}
    if kind.grouped:
        found |= {
            "kv_heads": "num_key_value_heads",
            "head_dim": "head_dim",
            "window": "sliding_window",
        }
    return found


_MAMBA = _mamba_names("state_size", "conv_kernel")
_BY_EXPANSION = _hybrid_names("mamba_d_state", "mamba_d_conv")
_DELTA = {**_USUAL, **_ATTENTION, "head_dim": "head_dim", "kernel": "linear_conv_kernel_dim"}

FAMILIES: dict[str, Family] = {
    "mamba": Family(recurrent.mamba, 50280, _MAMBA),
    "falcon_mamba": Family(recurrent.mamba, 50280, _MAMBA),
    "mamba2": Family(
        recurrent.mamba2, 32768, {**_MAMBA, "heads": "num_heads", "head_dim": "head_dim"}
    ),
    "rwkv": Family(recurrent.rwkv, 50277, _USUAL, _RWKV),
    "recurrent_gemma": Family(
        recurrent.recurrent_gemma,
        256000,
        {
            **_USUAL,
            **_ATTENTION,
            "state": "lru_width",
            "kernel": "conv1d_width",
            "window": "attention_window_size",
        },
    ),
    "xlstm": Family(recurrent.xlstm, 50304, {**_USUAL, "heads": "num_heads"}, _XLSTM),
    "jamba": Family(hybrids.jamba, 65536, _BY_EXPANSION),
    "zamba2": Family(hybrids.zamba2, 32000, _BY_EXPANSION),
    "bamba": Family(hybrids.bamba, 128000, _BY_EXPANSION),
    "falcon_h1": Family(hybrids.falcon_h1, 128000, _BY_EXPANSION),
    "granitemoehybrid": Family(hybrids.granite, 32000, _BY_EXPANSION),
    "nemotron_h": Family(
        hybrids.nemotron_h,
        131072,
        {
            k: v
            for k, v in _hybrid_names("ssm_state_size", "conv_kernel", head_dim="head_dim").items()
            if k != "layers"  # counted in the list
        },
    ),
    "qwen3_next": Family(hybrids.qwen3_next, 151936, _DELTA),
    "qwen3_5_text": Family(hybrids.qwen3_5, 248320, _DELTA),
    "lfm2": Family(hybrids.lfm2, 65536, {**_USUAL, **_ATTENTION, "kernel": "conv_L_cache"}),
    **{
        name: Family(transformers.plain(kind), kind.vocabulary, _plain_names(name))
        for name, kind in transformers.PLAIN.items()
    },
    "deepseek_v2": Family(transformers.latent(32), 102400, _DEPTH, _LATENT),
    "deepseek_v3": Family(transformers.latent(61), 129280, _DEPTH, _LATENT),
}
