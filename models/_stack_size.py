"""The size of a stack: which layers it has, and how its numbers are divided over them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Self

from statebound import registry
from statebound.errors import UsageError
from statebound.models._build import GROUP, PACKAGE, family
from statebound.models._cell import Config
from statebound.models._layer import Layer

MOST_LAYERS = 64
WIDE = 8  # the width where it costs no state, unless a layer asks for more
NEAR = 64  # how far from a total that cannot be had others are looked for


@cache
def _known() -> tuple[str, ...]:
    return (*registry.names(PACKAGE), *registry.external(GROUP))


def layer_of(model: str, setting: str) -> type[Layer]:
    """Return the layer of a registered model; `setting` is what named it.

    Raises
    ------
    UsageError
        When there is no such model, or it has no layer.
    """
    found = getattr(family(model), "layer", None) if model in _known() else None
    if found is None:
        able = [name for name in _known() if getattr(family(name), "layer", None) is not None]
        raise UsageError(
            "set",
            setting,
            f"{model or 'nothing'} is not a model that has a layer",
            f"choose from {', '.join(able)}",
        )
    layer: type[Layer] = found
    return layer


def whole(settings: Mapping[str, Any], name: str, default: int) -> int:
    """Return a setting that must be a whole number from 1 on."""
    value = settings.get(name, default)
    if isinstance(value, str) or value < 1:
        raise UsageError("set", f"{name}={value}", "must be a positive number", f"write {name}=2")
    return int(value)


def depth_of(settings: Mapping[str, Any], default: int) -> int:
    """Return the setting ``depth``."""
    depth = whole(settings, "depth", default)
    if depth > MOST_LAYERS:
        raise UsageError("set", f"depth={depth}", f"is beyond {MOST_LAYERS}", "take fewer layers")
    return depth


def _width_name(layer: type[Layer]) -> str | None:
    """Return the setting by which a layer is told its width, None where it has none."""
    return next((n for n in ("width", "d_model") if n in layer.Config.names()), None)


@dataclass(frozen=True)
class StackConfig(Config):
    """The models of the layers, their width D, and the size of each."""

    models: tuple[str, ...]
    width: int
    parts: tuple[Config, ...]

    own: ClassVar[tuple[str, ...]]

    @property
    def numbers(self) -> int:
        """The sum over layers."""
        return sum(part.numbers for part in self.parts)

    @property
    def growing(self) -> int:
        """The sum over layers."""
        return sum(part.growing for part in self.parts)

    def reaching(self, length: int) -> Self:
        """Return the config for a stream of this length."""
        return replace(self, parts=tuple(part.reaching(length) for part in self.parts))

    @classmethod
    @abstractmethod
    def models_of(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the models that the settings name."""

    @abstractmethod
    def told(self) -> dict[str, int | str]:
        """Return the settings that name these models."""

    def settings(self) -> dict[str, int | str]:
        """Return what names the models, D, and the sizes as ``PLACE.NAME``."""
        told = self.told() | {"width": self.width}
        for place, (model, part) in enumerate(zip(self.models, self.parts, strict=True)):
            shared = _width_name(layer_of(model, model))
            for name, value in part.settings().items():
                if name != shared:
                    told[f"{place}.{name}"] = value
        return told

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the settings of a stack itself; its layers have their own."""
        return cls.own

    @classmethod
    def layers(cls, models: Sequence[str]) -> list[type[Layer]]:
        """Return the layers of these models."""
        return [layer_of(model, f"layers={','.join(models)}") for model in models]

    @classmethod
    def shares(
        cls, models: Sequence[str], settings: Mapping[str, Any]
    ) -> list[tuple[type[Layer], dict[str, Any]]]:
        """Return each layer with its settings.

        A name goes to every layer that knows it, ``PLACE.NAME`` (from 0) to one.

        Raises
        ------
        UsageError
            When no layer knows a name.
        """
        layers = cls.layers(models)
        given: list[dict[str, Any]] = [{} for _ in layers]
        known = [[n for n in la.Config.names() if n != _width_name(la)] for la in layers]
        others = {n: v for n, v in settings.items() if n not in cls.own}
        for name, value in sorted(others.items(), key=lambda item: "." in item[0]):
            place, dot, inner = name.partition(".")
            if dot and place.isdecimal() and int(place) < len(layers):
                takers = [int(place)]
            else:
                takers, inner = list(range(len(layers))), name
            takers = [i for i in takers if inner in known[i]]
            if not takers:
                every = sorted({n for names in known for n in names})
                raise UsageError(
                    "set",
                    f"{name}={value}",
                    "is not a field of this stack's configuration, nor of one of its layers",
                    f"choose from {', '.join([*cls.own, *every])}, or PLACE.NAME for one layer",
                )
            for i in takers:
                given[i][inner] = value
        return list(zip(layers, given, strict=True))

    @classmethod
    def check_settings(cls, settings: Mapping[str, Any]) -> None:
        """Refuse a setting that neither the stack nor one of its layers has."""
        cls.shares(cls.models_of(settings), settings)

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, Any]) -> Self:
        """Divide the numbers evenly over layers of one width."""
        models = cls.models_of(settings)
        shares = cls.shares(models, settings)
        width = whole(settings, "width", 1) if "width" in settings else None
        for layer, given in shares:
            _check(layer, max(1, numbers // len(shares)), given)
        found = _sized(shares, numbers, width)
        if found is not None:
            return cls(models, *found)
        near = []
        for sign in (-1, 1):
            others = range(numbers + sign, max(0, numbers + sign * NEAR), sign)
            near += [t for t in others if _sized(shares, t, width)][:1]
        rule = f"cannot be divided over {', '.join(models)} of one width"
        if width is not None:
            rule = f"cannot be divided over {', '.join(models)} of width {width}"
        remedy = f"pass {' or '.join(map(str, near))}" if near else "set another width or sizes"
        raise UsageError("numbers", numbers, rule, remedy)


Shares = list[tuple[type[Layer], dict[str, Any]]]
Sized = tuple[int, tuple[Config, ...]]


def _sized(shares: Shares, numbers: int, width: int | None) -> Sized | None:
    """Return D and the layers' configs for a total of numbers, None where there are none."""
    for D in _widths(shares, numbers) if width is None else [width]:
        parts = _divided(shares, numbers, D)
        if parts is not None:
            return D, parts
    return None


def _widths(shares: Shares, numbers: int) -> Iterator[int]:
    """Yield the widths to try, the best first."""
    share = max(1, numbers // len(shares))
    configs = [_config(layer, share, given) for layer, given in shares]
    wanted = {config.width for config in configs if config is not None}
    bound = any(_bound(layer, given, WIDE) for layer, given in shares)
    if not bound:
        yield max(WIDE, *wanted, 1)
        yield from range(WIDE, 0, -1)
    yield from sorted(wanted, reverse=True)
    if bound:
        yield from sorted(range(1, numbers + 1), key=lambda D: abs(D - share))[:NEAR]


def _divided(shares: Shares, numbers: int, D: int) -> tuple[Config, ...] | None:
    """Return configs of one width D, None where the numbers cannot be divided.

    Where the width or the settings decide how large a layer is, the others share the rest.
    """
    sizes = [_decided(layer, _wide(layer, given, D)) for layer, given in shares]
    free = sizes.count(None)
    rest = numbers - sum(size or 0 for size in sizes)
    if free and (rest < free or rest % free):
        return None
    if not free and rest and any(_bound(layer, given, D) for layer, given in shares):
        return None  # where the settings alone decide, they have the say
    parts = []
    for (layer, given), size in zip(shares, sizes, strict=True):
        part = _config(layer, rest // free if size is None else size, _wide(layer, given, D))
        if part is None or part.width != D:
            return None
        parts.append(part)
    return tuple(parts)


def _wide(layer: type[Layer], settings: Mapping[str, Any], D: int) -> dict[str, Any]:
    """Return a layer's settings with its width, where that is one of them."""
    name = _width_name(layer)
    return {**settings, name: D} if name else dict(settings)


def _decided(layer: type[Layer], settings: Mapping[str, Any]) -> int | None:
    """Return the numbers of a layer if the settings decide them, whatever is asked for."""
    made = [_config(layer, asked, settings) for asked in (1, 2)]
    if None in made or made[0].numbers != made[1].numbers:
        return None
    decided: int = made[0].numbers
    return decided


def _bound(layer: type[Layer], settings: Mapping[str, Any], D: int) -> bool:
    """Whether the width, and not the other settings, decides the numbers of a layer."""
    with_width = _decided(layer, _wide(layer, settings, D))
    return with_width is not None and _decided(layer, settings) is None


def _check(layer: type[Layer], numbers: int, settings: Mapping[str, Any]) -> None:
    """Refuse settings that are wrong whatever the size."""
    try:
        layer.Config.of(numbers, settings)
    except UsageError as error:
        if error.argument != "numbers":
            raise


def _config(layer: type[Layer], numbers: int, settings: Mapping[str, Any]) -> Any:
    """Return a layer's config, None where there is none."""
    try:
        return layer.Config.of(numbers, settings)
    except UsageError:
        return None
