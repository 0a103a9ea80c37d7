"""What can be audited: anything with two methods, and adapters for what is common.

The protocol, for a torch module or a plain Python object::

    vocabulary: int                                   tokens are 0 .. vocabulary - 1
    fresh() -> state                                  the state before the first token
    read(tokens, state, start=0) -> (outputs, state)  go on from a state

`tokens` is an int64 array (n,), `outputs` holds one row of numbers a token, (n, K), as an
array, a tensor or nested lists, and a state may be anything, None included. `start` is how
many tokens were read before; a subject that does not need it leaves the argument out.
"""

from __future__ import annotations

import copy
import inspect
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError, UsageError
from statebound.experiments.audit import walk

Tokens = NDArray[np.int64]
Outputs = NDArray[np.float64]

PROTOCOL = (
    "return a transformers model, a torch.nn.RNN, LSTM or GRU, or an object with `vocabulary`, "
    "`fresh()` and `read(tokens, state, start=0) -> (outputs, state)`"
)


@dataclass
class Subject:
    """A subject ready to be audited.

    Attributes
    ----------
    name
        What the user asked for.
    kind
        ``protocol``, ``torch`` or ``transformers``.
    model
        The object with the two methods. It is never run: copies of it are.
    takes_start
        Whether `read` has an argument for the position.
    swallows
        Why a state that is handed over could be ignored in silence; "" if it could not.
    landmarks, windows
        Lengths at which a split may go wrong: kernels, chunks, windows. Windows alone.
    facts
        What the adapter found out, for the report.
    """

    name: str
    kind: str
    model: Any
    takes_start: bool = False
    swallows: str = ""
    landmarks: tuple[int, ...] = ()
    windows: tuple[int, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    remake: Callable[[], Any] | None = None

    @property
    def vocabulary(self) -> int:
        """How many different tokens there are."""
        return int(self.model.vocabulary)

    def copy(self, *, shared: bool = True) -> Any:
        """Return a copy of the model that has read nothing, by default with shared parameters."""
        with quiet():
            try:
                return copy.deepcopy(self.model, _shared(self.model) if shared else {})
            except Exception as error:
                if self.remake is None:
                    raise StateboundError(
                        f"{self.name}: a copy could not be made ({type(error).__name__}: {error}); "
                        "give a factory whose object copy.deepcopy can copy"
                    ) from error
        return self.remake()

    def precision(self) -> tuple[str, float]:
        """Return the coarsest floating-point dtype of the parameters and its unit roundoff."""
        coarse = ("float64", float(np.finfo(np.float64).eps))
        for _, held in walk.parameters(self.model):
            if held.is_floating_point():
                found = float(sys.modules["torch"].finfo(held.dtype).eps)
                if found > coarse[1]:
                    coarse = (walk.dtype_name(held), found)
        return coarse

    def widened(self) -> Subject:
        """Return the same subject with its parameters and buffers in float32."""
        copied = self.copy(shared=False)
        for _, held in walk.objects(copied):
            if walk.is_module(held):
                held.float()
        return replace(self, model=copied, remake=None)

    def read(
        self, model: Any, tokens: Tokens, state: Any, start: int | None
    ) -> tuple[Outputs, Any]:
        """Let `model` read tokens from a state; `start` None leaves the position out."""
        given = {"start": start} if self.takes_start and start is not None else {}
        try:
            with quiet(), catch_warnings():
                simplefilter("ignore")
                found = model.read(np.array(tokens, np.int64), state=state, **given)
                outputs, after = found
        except StateboundError:
            raise
        except Exception as error:
            raise StateboundError(
                f"{self.name}: reading {len(tokens)} tokens failed with {told(error)}; "
                "`read` must go on from a state of its own and return (outputs, state)"
            ) from error
        return rows(outputs, len(tokens), self.name), after

    def fresh(self, model: Any) -> Any:
        """Return the start state that `model` gives."""
        try:
            with quiet():
                return model.fresh()
        except Exception as error:
            raise StateboundError(
                f"{self.name}: `fresh` failed with {told(error)}; it must return the start state"
            ) from error


def told(error: Exception) -> str:
    """Return an error of somebody else's code in one line, with the place where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{said} ({Path(place.filename).name}, line {place.lineno})"


def quiet() -> AbstractContextManager[Any]:
    """Return a context without gradients, or one that does nothing where there is no torch."""
    torch = sys.modules.get("torch")
    context: AbstractContextManager[Any] = nullcontext() if torch is None else torch.no_grad()
    return context


def rows(outputs: Any, count: int, name: str) -> Outputs:
    """Return outputs as (count, K) float64.

    Raises
    ------
    StateboundError
        When there is not one row a token.
    """
    if isinstance(outputs, list | tuple) and outputs and walk.is_tensor(outputs[0]):
        outputs = [walk.array(row) for row in outputs]
    try:
        found = np.asarray(walk.array(outputs), np.float64)
    except (ValueError, TypeError) as error:
        raise StateboundError(
            f"{name}: outputs are no numbers ({error}); `read` must return one row of numbers for "
            "each token"
        ) from error
    if found.ndim > 1 and found.shape[0] == 1 and found.shape[1] == count:
        found = found[0]
    if not found.ndim or found.shape[0] != count:
        raise StateboundError(
            f"{name}: {count} tokens gave outputs of shape {found.shape}; `read` must return one "
            "row of numbers for each token"
        )
    return found.reshape(count, -1)


def _shared(model: Any) -> dict[int, Any]:
    """Return the memo that keeps parameters from being copied."""
    return {id(held): held for _, held in walk.parameters(model)}


def adapt(made: Any, name: str) -> Subject:
    """Return a subject from what a factory returned.

    Raises
    ------
    UsageError
        When it is nothing that can be audited.
    """
    if isinstance(made, Subject):
        return made
    if callable(getattr(made, "read", None)) and callable(getattr(made, "fresh", None)):
        return _plain(made, name)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(made, torch.nn.RNNBase):
        from statebound.experiments.audit.torch_rnn import subject as recurrent

        return recurrent(made, name)
    transformers = sys.modules.get("transformers")
    if transformers is not None and isinstance(made, transformers.PreTrainedModel):
        from statebound.experiments.audit.transformers_model import subject as pretrained

        return pretrained(made, name)
    raise UsageError("subject", name, f"gave a {type(made).__qualname__}", PROTOCOL)


def _plain(made: Any, name: str) -> Subject:
    vocabulary = getattr(made, "vocabulary", None)
    if not isinstance(vocabulary, int | np.integer) or vocabulary < 2:
        raise UsageError(
            "subject",
            name,
            f"its vocabulary is {vocabulary!r}, not a number of tokens of at least 2",
            "set `vocabulary` to how many different tokens `read` accepts",
        )
    taken = inspect.signature(made.read).parameters
    keywords = any(p.kind is p.VAR_KEYWORD for p in taken.values())
    swallows = ""
    if "state" not in taken:
        if not keywords:
            raise UsageError("subject", name, "its `read` has no argument `state`", PROTOCOL)
        swallows = f"`read` has no argument `state` and **kwargs takes it ({', '.join(taken)})"
    if walk.is_module(made):
        made.eval()
    landmarks = tuple(int(n) for n in getattr(made, "landmarks", ()))
    return Subject(name, "protocol", made, "start" in taken, swallows, landmarks, landmarks)
