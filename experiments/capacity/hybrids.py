"""Families that mix layers of fixed state with attention.

Defaults are those of the classes in transformers 5.24, and so is what is float32.
"""

from __future__ import annotations

from statebound.errors import UsageError
from statebound.experiments.capacity import parts
from statebound.experiments.capacity.config import Config
from statebound.experiments.capacity.parts import Part
from statebound.experiments.capacity.recurrent import positive

LINEAR, FULL, BOTH, CONV = "linear_attention", "full_attention", "hybrid", "conv"


def attention(
    config: Config,
    layers: int,
    width: int,
    heads: int,
    kv: int | None,
    dtype: str,
    *,
    head: int | None = None,
    head_key: str | None = "head_dim",
) -> list[Part]:
    """Return the keys and values of layers that attend to all tokens.

    Parameters
    ----------
    config
        Where the numbers of heads and their size are.
    layers
        How many there are; without any, nothing is held.
    width
        Of the model.
    heads, kv, head
        Defaults; None for as many as there are heads, and for width / heads.
    dtype
        Of the model.
    head_key
        The name of the heads' size; None where the family always divides.
    """
    if not layers:
        return []
    heads = config.size("num_attention_heads", heads)
    kv = config.size("num_key_value_heads", kv or heads, null=heads)
    size = width // heads
    if head_key is not None and (head is not None or config.has(head_key)):
        size = config.size(head_key, head or size, null=size)
    return parts.keys_and_values(layers, kv, positive("num_attention_heads", size), dtype)


def mamba2_by_expansion(
    config: Config, layers: int, width: int, dtype: str, *, inner: int | None = None
) -> list[Part]:
    """Return Mamba-2 layers whose keys begin with ``mamba_``, as in Bamba and its relatives."""
    if not layers:
        return []
    if inner is None:
        inner = config.size("mamba_expand", 2) * width
    heads = config.size("mamba_n_heads", 128)
    head = inner // heads
    if config.values.get("mamba_d_head") != "auto":
        head = config.size("mamba_d_head", head)
    if heads * head != inner:
        raise UsageError(
            "mamba_n_heads",
            heads,
            f"{heads} heads of {head} are not the layer's width {inner}",
            "correct mamba_n_heads or mamba_d_head",
        )
    return parts.mamba2(
        layers,
        heads,
        head,
        config.size("mamba_d_state", 256),
        config.size("mamba_n_groups", 1),
        config.size("mamba_d_conv", 4),
        dtype,
    )


def jamba(config: Config, dtype: str) -> list[Part]:
    """Return the parts of Jamba: Mamba, and attention once a period."""
    width, layers = config.size("hidden_size", 4096), config.layers(32)
    period = config.size("attn_layer_period", 8)
    offset = config.size("attn_layer_offset", 4, least=0, most=period - 1)
    attending = sum(i % period == offset for i in range(layers))
    found: list[Part] = []
    if attending < layers:
        found += parts.mamba(
            layers - attending,
            config.size("mamba_expand", 2) * width,
            config.size("mamba_d_state", 16),
            config.size("mamba_d_conv", 4),
            dtype,
        )
    return found + attention(config, attending, width, 32, 8, dtype)


def zamba2(config: Config, dtype: str) -> list[Part]:
    """Return the parts of Zamba2: Mamba-2 in all layers, shared attention before some.

    The attention reads the hidden state beside the embedding, so that its width is twice
    that of the model; its weights are shared, its keys and values are not.
    """
    width, layers = config.size("hidden_size", 2560), config.layers(54)
    standard = [LINEAR] * 6 + [BOTH]
    standard += ([LINEAR] * 5 + [BOTH]) * 6 + [LINEAR] * 4 + [BOTH] + [LINEAR] * 3 + [BOTH]
    standard += [LINEAR] * 2
    kinds = config.kinds("layers_block_type", layers, (LINEAR, BOTH), lambda: standard)
    if len(kinds) != layers:
        raise UsageError(
            "layers_block_type", None, f"is missing for {layers} layers", "list a kind for each"
        )
    inner = int(config.factor("mamba_expand", 2) * width)
    heads = config.size("n_mamba_heads", 8)
    found = parts.mamba2(
        layers,
        heads,
        positive("n_mamba_heads", inner // heads),
        config.size("mamba_d_state", 64),
        config.size("mamba_ngroups", 1),
        config.size("mamba_d_conv", 4),
        dtype,
    )
    return found + attention(config, kinds.count(BOTH), 2 * width, 32, None, dtype, head_key=None)


def bamba(config: Config, dtype: str) -> list[Part]:
    """Return the parts of Bamba: Mamba-2, and attention in the layers that are listed."""
    width, layers = config.size("hidden_size", 4096), config.layers(32)
    attending = len(set(config.indices("attn_layer_indices", layers)))
    found = mamba2_by_expansion(config, layers - attending, width, dtype)
    return found + attention(config, attending, width, 32, 8, dtype)


def falcon_h1(config: Config, dtype: str) -> list[Part]:
    """Return the parts of FalconH1: Mamba-2 and attention side by side in every layer."""
    width, layers = config.size("hidden_size", 4096), config.layers(32)
    inner = None
    if config.has("mamba_d_ssm") or "mamba_d_ssm" not in config.values:
        inner = config.size("mamba_d_ssm", 1024)
    found = mamba2_by_expansion(config, layers, width, dtype, inner=inner)
    return found + attention(config, layers, width, 32, 8, dtype)


def granite(config: Config, dtype: str) -> list[Part]:
    """Return the parts of GraniteMoeHybrid: Mamba-2, and attention where the list says so."""
    width, layers = config.size("hidden_size", 4096), config.layers(32)
    kinds = config.kinds("layer_types", layers, (LINEAR, FULL), lambda: [LINEAR] * layers)
    found = mamba2_by_expansion(config, kinds.count(LINEAR), width, dtype)
    return found + attention(config, kinds.count(FULL), width, 32, None, dtype)


def nemotron_h(config: Config, dtype: str) -> list[Part]:
    """Return the parts of NemotronH: a layer is Mamba-2, attention, or holds nothing."""
    letters = {"M": LINEAR, "*": FULL, "-": "mlp", "E": "moe"}
    known = tuple(letters.values())
    pattern = config.values.get("hybrid_override_pattern")
    if isinstance(pattern, str) and not config.has("layers_block_type"):
        listed = [letters.get(letter, letter) for letter in pattern]
        config = _with(config, "layers_block_type", listed)
    key = "layer_types" if config.has("layer_types") else "layers_block_type"
    kinds = config.kinds(key, None, known, lambda: [LINEAR, "moe", FULL, "mlp"])
    found: list[Part] = []
    if LINEAR in kinds:
        found += parts.mamba2(
            kinds.count(LINEAR),
            config.size("mamba_num_heads", 128),
            config.size("mamba_head_dim", 64),
            config.size("ssm_state_size", 128),
            config.size("n_groups", 8, "mamba_n_groups"),
            config.size("conv_kernel", 4, "mamba_d_conv"),
            dtype,
        )
    width = config.size("hidden_size", 4096)
    return found + attention(config, kinds.count(FULL), width, 32, 8, dtype, head=128)


def qwen3_next(config: Config, dtype: str) -> list[Part]:
    """Return the parts of Qwen3-Next: gated DeltaNet, and attention in every fourth layer."""
    return _delta(config, dtype, width=2048, layers=48, kv=2)


def qwen3_5(config: Config, dtype: str) -> list[Part]:
    """Return the parts of Qwen3.5's language model: as Qwen3-Next at other sizes."""
    return _delta(config, dtype, width=4096, layers=32, kv=4)


def _delta(config: Config, dtype: str, *, width: int, layers: int, kv: int) -> list[Part]:
    layers = config.layers(layers)
    if not config.has("layer_types"):
        period = config.size("full_attention_interval", 4)
    kinds = config.kinds(
        "layer_types",
        layers,
        (LINEAR, FULL),
        lambda: [FULL if (i + 1) % period == 0 else LINEAR for i in range(layers)],
    )
    found: list[Part] = []
    if LINEAR in kinds:
        found += parts.delta(
            kinds.count(LINEAR),
            (config.size("linear_num_key_heads", 16), config.size("linear_key_head_dim", 128)),
            (config.size("linear_num_value_heads", 32), config.size("linear_value_head_dim", 128)),
            config.size("linear_conv_kernel_dim", 4),
            dtype,
        )
    width = config.size("hidden_size", width)
    return found + attention(config, kinds.count(FULL), width, 16, kv, dtype, head=256)


def lfm2(config: Config, dtype: str) -> list[Part]:
    """Return the parts of LFM2: gated short convolutions, and attention."""
    width, layers = config.size("hidden_size", 2560), config.layers(32)
    if config.has("layer_types"):
        kinds = config.kinds("layer_types", layers, (CONV, FULL), list)
    else:
        listed = config.has("full_attn_idxs")
        attending = set(config.indices("full_attn_idxs", layers) if listed else range(layers))
        kinds = [FULL if i in attending else CONV for i in range(layers)]
        if not listed:
            config.assume("layer_types", f"{layers} {FULL}")
    found: list[Part] = []
    if CONV in kinds:
        kernel = config.size("conv_L_cache", 3)
        found += parts.convolution(kinds.count(CONV), width, kernel, dtype)
    return found + attention(config, kinds.count(FULL), width, 32, 8, dtype)


def _with(config: Config, key: str, value: object) -> Config:
    """Return a configuration with one more key, which remembers in the same place."""
    more = Config({**config.values, key: value})
    more.assumed = config.assumed
    return more
