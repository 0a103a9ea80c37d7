"""A stack of layers of the other models, each with a norm before it and a sum around it.

The recurrence, the parameters and the state are those of `_stack`. Settings: ``layers``
lists models from below, as in ``mamba*2,gru``; or ``cell`` and ``depth`` make it ``depth``
times the same. Any registered model with a `layer` can be there. ``width`` is D. Every
other setting goes to all layers that know it, with a place before it to that layer alone:
``d_state=8``, ``1.d_state=8``, places from 0.

The total of numbers is divided evenly over the layers, but for those whose width decides
their size: a layer of D units, as of `gru`, takes what it takes and the others share the
rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

from statebound.errors import UsageError
from statebound.models._stack import StackCell
from statebound.models._stack_size import MOST_LAYERS, StackConfig, depth_of, layer_of


def parse(text: str) -> tuple[str, ...]:
    """Return the models that a list names.

    Examples
    --------
    >>> parse("mamba*2,gru")
    ('mamba', 'mamba', 'gru')
    """
    models: list[str] = []
    for part in text.split(","):
        model, star, count = part.strip().partition("*")
        if star and not (count.isdecimal() and 1 <= int(count) <= MOST_LAYERS):
            raise UsageError(
                "set",
                f"layers={text}",
                f"{count or 'nothing'} is not a count from 1 to {MOST_LAYERS}",
                "write gru*2",
            )
        layer_of(model, f"layers={text}")
        models += [model] * (int(count) if star else 1)
    if len(models) > MOST_LAYERS:
        raise UsageError(
            "set", f"layers={text}", f"are more than {MOST_LAYERS} layers", "name fewer"
        )
    return tuple(models)


@dataclass(frozen=True)
class ListedConfig(StackConfig):
    """A stack of listed models."""

    own: ClassVar[tuple[str, ...]] = ("layers", "cell", "depth", "width")

    @classmethod
    def models_of(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the models of the layers; two of `gru` unless set."""
        if "layers" not in settings:
            model = str(settings.get("cell", "gru"))
            layer_of(model, f"cell={model}")
            return (model,) * depth_of(settings, 2)
        text = str(settings["layers"])
        if "cell" in settings or "depth" in settings:
            raise UsageError(
                "set", f"layers={text}", "contradicts cell and depth", "pass one or the others"
            )
        return parse(text)

    def told(self) -> dict[str, int | str]:
        """Return the list, with runs of one model together."""
        runs = [(model, len(list(run))) for model, run in groupby(self.models)]
        return {"layers": ",".join(f"{m}*{count}" if count > 1 else m for m, count in runs)}


class Stack(StackCell):
    """Layers of other models."""

    name: ClassVar[str] = "stack"
    summary: ClassVar[str] = "layers of other models with norms and sums, gru*2 unless set"
    Config = ListedConfig

    @classmethod
    def check_named(cls, settings: Mapping[str, Any]) -> None:
        """Refuse settings that do not name the models."""
        if "layers" not in settings and not {"cell", "depth"} <= settings.keys():
            raise UsageError(
                "weights", "stack", "do not tell the models", "pass --set layers=NAME*COUNT,NAME"
            )


CELL = Stack
