"""A hybrid: a stack in which some layers are attention and the others one recurrent model.

The recurrence, the parameters and the state are those of `_stack`, with the attention of
`_attention`. Settings: ``cell`` names the recurrent model, ``depth`` the number of layers;
``attention`` lists the places that attend, from 1 at the bottom, as in ``2,4``, or says
every how many, as in ``1/4``; ``width`` is D. Others go to the layers as in `stack`.

Attention keeps all that it has read: that part of the state grows by 2 H K numbers a
token and layer, and the size that is asked for is that of a stream of one token. With
``window`` W it keeps W - 1 tokens and the state has a fixed size.

The pattern is that of Jamba (Lieber et al., 2024), Griffin (De et al., 2024) and others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from statebound.errors import UsageError
from statebound.models._stack import StackCell
from statebound.models._stack_size import StackConfig, depth_of, layer_of

ATTENTION = "attention"


def places(text: str, depth: int) -> frozenset[int]:
    """Return the places of attention, from 1, of `depth` layers.

    Examples
    --------
    >>> sorted(places("1/2", 5)), sorted(places("1,3", 3))
    ([2, 4], [1, 3])
    """
    try:
        if text.startswith("1/"):
            every = int(text[2:])
            found = list(range(every, depth + 1, every))
        else:
            found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1 or max(found) > depth or len(set(found)) < len(found):
        raise UsageError(
            "set",
            f"attention={text}",
            f"gives no places from 1 to {depth}, each once",
            "write attention=2, a list as 2,4 or a share as 1/2",
        )
    return frozenset(found)


@dataclass(frozen=True)
class HybridConfig(StackConfig):
    """A stack of one model and attention."""

    own: ClassVar[tuple[str, ...]] = ("cell", "depth", "attention", "width")

    @classmethod
    def models_of(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the models of the layers; linear attention below attention unless set."""
        model, depth = str(settings.get("cell", "linear_attention")), depth_of(settings, 2)
        layer_of(model, f"cell={model}")
        attends = places(str(settings.get("attention", depth)), depth)
        return tuple(ATTENTION if i in attends else model for i in range(1, depth + 1))

    def told(self) -> dict[str, int | str]:
        """Return the model, the depth and the places."""
        attends = [str(i) for i, m in enumerate(self.models, 1) if m == ATTENTION]
        return {
            "cell": next((m for m in self.models if m != ATTENTION), ATTENTION),
            "depth": len(self.models),
            "attention": ",".join(attends),
        }


class Hybrid(StackCell):
    """A recurrent model with attention in between."""

    name: ClassVar[str] = "hybrid"
    summary: ClassVar[str] = "stack with attention at chosen places; grows without a window"
    encoding: ClassVar[str] = "pairs"
    Config = HybridConfig

    @classmethod
    def check_named(cls, settings: Mapping[str, Any]) -> None:
        """Refuse settings that do not name the model and its places."""
        missing = {"cell", "depth", "attention"} - settings.keys()
        if missing:
            raise UsageError(
                "weights",
                "hybrid",
                f"do not tell {', '.join(sorted(missing))}",
                "pass --set cell=NAME --set depth=L --set attention=PLACES",
            )


CELL = Hybrid
