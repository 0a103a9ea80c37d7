"""Models of the transformers library as subjects; versions 4.5x and 5.x are told by trying.

The keyword under which a model takes its state is read off its signature, and which attribute
of the output holds the state is looked up there: names differ by class and version. A model
that returns no state gets a cache from here and is believed to write into it.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

from statebound.errors import StateboundError
from statebound.experiments.audit import walk
from statebound.experiments.audit.subject import Outputs, Subject, Tokens

NAMES = ("cache", "past_key_values", "cache_params", "state", "mems", "past")
MADE_UP = "no_such_state"
_WINDOWS = ("sliding_window", "attention_window_size")
_KERNELS = ("conv_kernel", "mamba_d_conv", "conv1d_width", "linear_conv_kernel_dim", "conv_L_cache")
_CHUNKS = ("chunk_size", "mamba_chunk_size", "block_size")


class Pretrained:
    """A causal language model of the library, a batch of one."""

    def __init__(self, model: Any, keyword: str | None, *, supplies: bool, positions: bool) -> None:
        self._inner, self.keyword, self.supplies = model, keyword, supplies
        self.positions = positions
        self.vocabulary = int(model.config.get_text_config().vocab_size)

    def fresh(self) -> Any:
        """Return None, or an empty cache for a model that returns none of its own."""
        if not self.supplies:
            return None
        from transformers import DynamicCache

        return DynamicCache(config=self._inner.config)

    def read(self, tokens: Tokens, state: Any = None, start: int | None = None) -> tuple[Any, Any]:
        """Call the model once; positions are passed only where `start` is given."""
        given: dict[str, Any] = {}
        if self.keyword is not None and state is not None:
            given[self.keyword] = state
        if self.positions and start is not None:
            given["position_ids"] = _row(np.arange(start, start + len(tokens)))
        output = call(self._inner, tokens, given)
        found = returned(output)
        return logits(output), state if found is None else getattr(output, found)


def subject(model: Any, name: str) -> Subject:
    """Return the subject of a model, after a few calls that find out how it takes its state."""
    model.eval()
    taken = inspect.signature(model.forward).parameters
    keyword = next((n for n in NAMES if n in taken), None)
    first = np.array([1, 0, 1], np.int64)
    plain = Pretrained(model, keyword, supplies=False, positions="position_ids" in taken)
    made = Subject(name, "transformers", plain, takes_start=plain.positions)
    trial = made.copy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = returned(call(trial._inner, first, {}))
    except Exception as error:
        raise StateboundError(
            f"{name}: a call with three tokens failed with {type(error).__name__}: {error}"
        ) from error
    plain.supplies = found is None and keyword is not None
    config = model.config.get_text_config()
    made.landmarks = tuple(sorted(set(_numbers(config, (*_WINDOWS, *_KERNELS, *_CHUNKS)))))
    made.windows = tuple(sorted(set(_numbers(config, _WINDOWS))))
    made.facts = {
        "class": type(model).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "state_keyword": keyword,
        "state_returned_as": found,
        "windows": list(made.windows),
    }
    if keyword is None:
        made.swallows = "`forward` has no argument for a state"
    else:
        made.facts["other_names"] = other_names(made, keyword)
    return made


def call(model: Any, tokens: Tokens, given: dict[str, Any]) -> Any:
    """Call a model on tokens (n,), with its cache on."""
    import torch

    with torch.no_grad():
        return model(input_ids=_row(tokens), use_cache=True, return_dict=True, **given)


def logits(output: Any) -> Outputs:
    """Return (n, K) outputs: logits, or hidden states of a model without a head."""
    held = getattr(output, "logits", None)
    held = output.last_hidden_state if held is None else held
    return np.asarray(walk.array(held[0]), np.float64)


def returned(output: Any) -> str | None:
    """Return the name under which an output holds a state, if it does."""
    return next((n for n in NAMES if getattr(output, n, None) is not None), None)


def other_names(made: Subject, keyword: str) -> dict[str, str]:
    """Return what happens to a state that is passed under another name.

    ``refused`` (an error), ``consumed`` (as under the right name), ``ignored`` (as if none had
    been passed: plausible outputs, and no warning).
    """
    from transformers.utils import logging

    tokens = np.array([1, 0, 1, 1, 0], np.int64)
    found: dict[str, str] = {}
    told = logging.get_verbosity()
    logging.set_verbosity_error()  # names that are deprecated are tried on purpose
    try:
        for name in [n for n in NAMES[:4] if n != keyword] + [MADE_UP]:
            model = made.copy()
            _, state = model.read(tokens, model.fresh())
            bare = logits(call(made.copy()._inner, tokens[:1], {}))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    got = logits(call(model._inner, tokens[:1], {name: state}))
            except (TypeError, ValueError, AttributeError, NotImplementedError):
                found[name] = "refused"
                continue
            found[name] = "ignored" if np.allclose(got, bare, rtol=1e-4, atol=1e-6) else "consumed"
    finally:
        logging.set_verbosity(told)
    return found


def _numbers(config: Any, names: tuple[str, ...]) -> list[int]:
    held = [getattr(config, name, None) for name in names]
    return [n for n in held if isinstance(n, int) and not isinstance(n, bool) and n > 0]


def _row(numbers: Tokens) -> Any:
    import torch

    return torch.tensor([numbers.tolist()])


def louden(model: Any, seed: int) -> None:
    """Give a model's matrices random weights under which differences in the state show.

    Libraries start language models so quietly (standard deviation 0.02) that logits hardly
    depend on the state. Here every tensor of two or more axes is drawn with standard deviation
    1 / sqrt(inputs), and an embedding with 1. Vectors (biases, decays, norms) stay.
    """
    import torch

    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim < 2 or not parameter.is_floating_point():
                continue
            inputs = int(np.prod(parameter.shape[2 if parameter.ndim == 3 else 1 :]))
            scale = 1.0 if "embed" in name else inputs**-0.5
            parameter.copy_(torch.randn(parameter.shape, generator=drawn) * scale)
