"""Making a cell from a request: its size, its parameters, and the checks on both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from statebound import registry
from statebound.errors import UsageError
from statebound.models._cell import Cell, Config, Weights
from statebound.models._vocabulary import Vocabulary

PACKAGE = "statebound.models"
GROUP = "statebound.models"
DEFAULT_NUMBERS = 8
MOST_NUMBERS = 1 << 19


def family(name: str) -> type[Cell]:
    """Return the cell class of a registry name, ``module:factory`` or entry point.

    Raises
    ------
    UsageError
        When there is none, or when what is named is not a `Cell` class.
    """
    if ":" in name or name in registry.external(GROUP):
        found = registry.factory(name, "model", GROUP)
        try:
            cell = found if isinstance(found, type) else found()
        except TypeError as error:
            raise UsageError(
                "model",
                name,
                f"cannot be called without arguments ({error})",
                "name a Cell class, or a function that returns one",
            ) from error
    else:
        try:
            cell = registry.load(PACKAGE, name, "model").CELL
        except UsageError as error:
            raise UsageError(
                "model", name, error.rule, f"{error.remedy}, or write module:Class"
            ) from error
    if not (isinstance(cell, type) and issubclass(cell, Cell)):
        raise UsageError(
            "model",
            name,
            "does not give a subclass of statebound.models.Cell",
            "return the class, not an instance of it",
        )
    return cell


def _sized(cell: type[Cell], numbers: int | None, settings: Mapping[str, Any]) -> Config:
    config = _config(cell, numbers, settings)
    if config.numbers < 1:
        raise UsageError(
            "set",
            ", ".join(f"{name}={value}" for name, value in settings.items()),
            "makes a state of no numbers",
            "pass sizes of at least 1",
        )
    return config


def _reaching(config: Config, vocabulary: Vocabulary) -> Config:
    """Return the config for the length of the stream."""
    whole = config.reaching(vocabulary.length)
    if whole.growing and whole.numbers > MOST_NUMBERS:
        raise UsageError(
            "numbers",
            config.numbers,
            f"grows to {whole.numbers} in {vocabulary.length} tokens, the cap is {MOST_NUMBERS}",
            "take fewer numbers a token or a shorter stream",
        )
    return whole


def default_numbers(cell: type[Cell], settings: Mapping[str, Any] | None = None) -> int:
    """Return the total of numbers in a state of default size, after one token if it grows."""
    return _sized(cell, None, settings or {}).numbers


def growing(cell: type[Cell]) -> int | None:
    """Return how many numbers a token adds to a state of default size, None without one."""
    try:
        return _sized(cell, None, {}).growing
    except (UsageError, TypeError):
        return None


def _config(cell: type[Cell], numbers: int | None, settings: Mapping[str, Any]) -> Config:
    if numbers is not None:
        if numbers > MOST_NUMBERS:
            raise UsageError(
                "numbers", numbers, f"is beyond the cap of {MOST_NUMBERS}", "take a smaller state"
            )
        if numbers < 1:
            raise UsageError(
                "numbers", numbers, "a state needs at least 1 number", "pass 1 or more"
            )
        config = cell.Config.of(numbers, settings)
        if config.numbers != numbers:
            raise UsageError(
                "numbers",
                numbers,
                f"contradicts the settings, which make {config.numbers} numbers",
                "drop --numbers or the setting",
            )
        return config
    for near in range(DEFAULT_NUMBERS):  # 8, or the nearest size that the cell can have
        for total in (DEFAULT_NUMBERS + near, DEFAULT_NUMBERS - near):
            try:
                return cell.Config.of(total, settings)
            except UsageError as error:
                if error.argument != "numbers":
                    raise
    return cell.Config.of(DEFAULT_NUMBERS, settings)


def _token_shape(weights: Weights, name: str) -> tuple[int, ...] | None:
    """Return a parameter's shape as if tokens were one-hot, None where it is missing."""
    if name not in weights:
        return None
    shape: tuple[int, ...] = weights[name].shape
    if name == "weight_ih" and "embedding.weight" in weights:
        rows, width = weights["embedding.weight"].shape
        return (*shape[:-1], rows) if shape[-1:] == (width,) else shape
    return shape


def _checked(cell: type[Cell], config: object, weights: Weights, vocabulary: Vocabulary) -> None:
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise UsageError(
                "weights", name, "holds numbers that are not finite", "repair or retrain the file"
            )
    shapes = cell.shapes(config, vocabulary)
    known = {*shapes, *cell.readout_shapes(config, vocabulary), *cell.optional}
    unknown = sorted(set(weights) - known)
    if unknown:
        raise UsageError(
            "weights",
            ", ".join(unknown),
            f"is no parameter of {cell.name}, which has {cell.form} and reads "
            f"{', '.join(sorted(known))}",
            "save those tensors alone, under these names",
        )
    for name, shape in shapes.items():
        if name not in weights:
            raise UsageError(
                "weights",
                name,
                f"is missing; {cell.name} needs {', '.join(shapes)}",
                "add it to the file",
            )
        found = _token_shape(weights, name)
        if found != shape:
            raise UsageError(
                "weights",
                f"{name} {found}",
                f"must have the shape {shape} here",
                "pass weights for this model, problem size and encoding",
            )
    for name, free in cell.readout_shapes(config, vocabulary).items():
        if name not in weights:
            continue
        shape = weights[name].shape
        if len(shape) != len(free) or any(
            b not in (None, a) for a, b in zip(shape, free, strict=True)
        ):
            wanted = tuple("any" if size is None else size for size in free)
            raise UsageError(
                "weights",
                f"{name} {shape}",
                f"must have the shape {wanted} here",
                "pass a readout for this problem, or none",
            )


def build(
    cell: type[Cell],
    vocabulary: Vocabulary,
    *,
    numbers: int | None = None,
    settings: Mapping[str, Any] | None = None,
    init: str | None = None,
    weights: Weights | None = None,
    seed: int = 0,
    dtype: str = "float32",
) -> tuple[Cell, str]:
    """Make a cell and say where its parameters are from.

    Parameters
    ----------
    cell
        Its class.
    vocabulary
        The tokens, query tokens included; a cell without a readout reads only the
        stream's.
    numbers
        Total of state numbers; 8 or the nearest possible by default. Where the state
        grows, the total for one token, unless the settings tell a length.
    settings
        Overrides of config fields.
    init
        One of the names that the cell lists, such as ``random`` or ``constructed``; by
        default the first of them that can be made here.
    weights
        Parameters from a file instead; ``_l0`` endings are dropped.
    seed
        Seed of the parameters.
    dtype
        ``float32`` or ``float64``.

    Returns
    -------
    The cell, and the name of its initialisation or ``file``.

    Raises
    ------
    UsageError
        When a size, a name or a weight does not fit.
    """
    settings = settings or {}
    if dtype not in ("float32", "float64"):
        raise UsageError("dtype", dtype, "is not a supported type", "choose float32 or float64")
    if weights is not None:
        return _from_weights(cell, vocabulary, numbers, settings, weights, dtype), "file"
    config = _reaching(_sized(cell, numbers, settings), vocabulary)
    if init is not None and init not in cell.inits:
        raise UsageError(
            "init", init, f"{cell.name} has no such parameters", f"choose {' or '.join(cell.inits)}"
        )
    for choice in (init,) if init else cell.inits:
        generator = np.random.Generator(np.random.PCG64(seed))
        try:
            made = cell.parameters(choice, config, vocabulary, generator)
        except UsageError:
            if init:
                raise
            continue
        language = _language(cell, config, made, vocabulary, asks=choice in cell.by_hand)
        return cell(config, made, language, dtype), choice
    raise UsageError("init", init, f"{cell.name} cannot be made here", "pass weights")


def _language(
    cell: type[Cell], config: object, weights: Weights, vocabulary: Vocabulary, asks: bool = False
) -> Vocabulary:
    """Return the vocabulary where a parameter has a column for every query, or just the stream.

    `asks` decides where no parameter tells.
    """
    stream = vocabulary.without_queries()
    shapes = [cell.shapes(config, language) for language in (vocabulary, stream)]
    for name in shapes[0]:
        found = _token_shape(weights, name)
        shape, without = (tuple(each[name]) for each in shapes)
        if shape != without and found in (shape, without):
            asks = found == shape
            break
    return vocabulary if asks else stream


def _from_weights(
    cell: type[Cell],
    vocabulary: Vocabulary,
    numbers: int | None,
    settings: Mapping[str, Any],
    weights: Weights,
    dtype: str,
) -> Cell:
    named = {name.removesuffix("_l0"): np.asarray(a, np.float64) for name, a in weights.items()}
    try:
        config = cell.config_of(named, settings)
    except UsageError:
        raise
    except (KeyError, ValueError, IndexError) as error:
        needed = ", ".join(cell.shapes(_sized(cell, None, {}), vocabulary))
        raise UsageError(
            "weights",
            ", ".join(named) or "no tensors",
            f"{cell.name} needs {needed}",
            "pass a file with these names",
        ) from error
    if numbers is not None and numbers != config.numbers:
        raise UsageError(
            "numbers",
            numbers,
            f"the weights make a state of {config.numbers} numbers",
            "drop --numbers",
        )
    config = _reaching(config, vocabulary)
    language = _language(cell, config, named, vocabulary)
    _checked(cell, config, named, language)
    return cell(config, named, language, dtype)
