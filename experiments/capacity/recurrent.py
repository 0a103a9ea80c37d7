"""Families whose state is fixed in size: Mamba, Mamba-2, RWKV-4, Griffin, xLSTM.

Defaults are those of the classes in transformers 5.24, and so is what is float32.
"""

from __future__ import annotations

from statebound.errors import UsageError
from statebound.experiments.capacity import parts
from statebound.experiments.capacity.config import Config
from statebound.experiments.capacity.parts import Part


def mamba(config: Config, dtype: str) -> list[Part]:
    """Return the parts of Mamba and FalconMamba."""
    width = config.size("hidden_size", 768)
    inner = int(config.factor("expand", 2) * width)
    return parts.mamba(
        config.layers(32),
        positive("expand", inner),
        config.size("state_size", 16),
        config.size("conv_kernel", 4),
        dtype,
    )


def mamba2(config: Config, dtype: str) -> list[Part]:
    """Return the parts of Mamba-2."""
    width = config.size("hidden_size", 4096)
    inner = int(config.factor("expand", 2) * width)
    head = config.size("head_dim", 64)
    heads = config.size("num_heads", inner // head)
    if heads * head != inner:
        raise UsageError(
            "num_heads",
            heads,
            f"{heads} heads of {head} are not expand x hidden_size = {inner}",
            "correct num_heads or head_dim",
        )
    return parts.mamba2(
        config.layers(64),
        heads,
        head,
        config.size("state_size", 128),
        config.size("n_groups", 8),
        config.size("conv_kernel", 4),
        dtype,
    )


def rwkv(config: Config, dtype: str) -> list[Part]:
    """Return the parts of RWKV-4 [1]_: two inputs of the token before, and three sums.

    References
    ----------
    .. [1] Peng et al., "RWKV: Reinventing RNNs for the Transformer Era", arXiv:2305.13048,
       2023.
    """
    width, layers = config.size("hidden_size", 4096), config.layers(32)
    shift = Part("token shift", "convolution", layers, (2, width), 2 * width, 2 * width, dtype)
    return [shift, *parts.recurrent(layers, "numerator, denominator, maximum", (3, width))]


def recurrent_gemma(config: Config, dtype: str) -> list[Part]:
    """Return the parts of RecurrentGemma [1]_: RG-LRU layers, and attention in a window.

    References
    ----------
    .. [1] De et al., "Griffin", arXiv:2402.19427, 2024.
    """
    width, layers = config.size("hidden_size", 2560), config.layers(26)
    pattern = config.kinds(
        "block_types",
        None,
        ("recurrent", "full_attention"),
        lambda: ["recurrent", "recurrent", "full_attention"],
    )
    attention = sum(pattern[i % len(pattern)] != "recurrent" for i in range(layers))
    recurrent = layers - attention
    lru = config.size("lru_width", width, null=width)
    kernel = config.size("conv1d_width", 4)
    heads = config.size("num_attention_heads", 10)
    kv = config.size("num_key_value_heads", heads, null=heads)
    window = config.size("attention_window_size", 2048, "sliding_window", least=2)
    found: list[Part] = []
    if recurrent:
        found += parts.convolution(recurrent, lru, kernel, dtype, dead=0)
        found += parts.recurrent(recurrent, "RG-LRU", (lru,))
    if attention:
        head = positive("num_attention_heads", width // heads)
        found += parts.keys_and_values(attention, kv, head, dtype, window)
    return found


def xlstm(config: Config, dtype: str) -> list[Part]:
    """Return the parts of xLSTM-7B's layers [1]_, mLSTM alone: C, n and m of each head.

    Widths are rounded up to multiples of 64.

    References
    ----------
    .. [1] Beck et al., "xLSTM 7B", arXiv:2503.13427, 2025.
    """
    width = config.size("hidden_size", 4096, "embedding_dim")
    layers = config.layers(32, "num_blocks")
    heads = config.size("num_heads", 8)
    key, value = (
        positive("num_heads", int((width * config.factor(name, default) + 63) // 64 * 64) // heads)
        for name, default in (("qk_dim_factor", 0.5), ("v_dim_factor", 1.0))
    )
    return [
        *parts.recurrent(layers, "matrix C", (heads, key, value), dtype),
        *parts.recurrent(layers, "normaliser n", (heads, key), dtype),
        *parts.recurrent(layers, "maximum m", (heads, 1), dtype),
    ]


def positive(key: str, value: int) -> int:
    """Return a size that follows from others, or refuse the key that makes it 0."""
    if value < 1:
        raise UsageError(key, value, "leaves nothing of another size", "correct the configuration")
    return value
