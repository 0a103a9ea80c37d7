"""Read a ``config.json`` that nobody has checked, and remember what was assumed.

A size is a whole number in 1..`MOST`. A missing key takes the default of the model's class
in transformers 5.24, and is remembered in `Config.assumed`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from statebound.errors import UsageError

MOST = 2**31 - 1  # of a size
MOST_LAYERS = 10_000
_LONGEST = 16 * 2**20  # bytes of a file
_NESTED = ("text_config", "llm_config", "language_config")
_LEGACY = {"mamba": "linear_attention", "attention": "full_attention"}


def load(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or in the ``config.json`` of a folder.

    ``NaN`` and ``Infinity`` are read, since published configurations hold them where no
    size is (a limit of time steps); as a size they are refused.

    Raises
    ------
    UsageError
        When there is no such file, or it is not one JSON object of at most 16 MiB.
    """
    file = path / "config.json" if path.is_dir() else path
    remedy = "pass the config.json of a model"
    try:
        with file.open("rb") as stream:
            raw = stream.read(_LONGEST + 1)
    except OSError as error:
        raise UsageError("config", file, f"cannot be read ({error.strerror})", remedy) from error
    if len(raw) > _LONGEST:
        raise UsageError("config", file, "is larger than 16 MiB", remedy)
    try:
        found = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0][:100] or "nested too deeply"
        raise UsageError("config", file, f"is not JSON ({reason})", remedy) from error
    if not isinstance(found, dict):
        raise UsageError("config", file, "is not a JSON object", remedy)
    return found


def language_model(values: dict[str, Any], known: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Return the part of a configuration that describes the language model, and where it was.

    A model of several modalities nests it; the dtype may then stand outside.
    """
    if values.get("model_type") in known:
        return values, ""
    for key in _NESTED:
        inner = values.get(key)
        if isinstance(inner, dict) and inner.get("model_type") in known:
            outer = {k: values[k] for k in ("dtype", "torch_dtype") if values.get(k) is not None}
            return outer | {k: v for k, v in inner.items() if v is not None or k not in outer}, key
    return values, ""


class Config:
    """Sizes by name, and in `assumed` those that were not given.

    Parameters
    ----------
    values
        The JSON object.

    Examples
    --------
    >>> config = Config({"hidden_size": 768})
    >>> config.size("hidden_size", 4096), config.size("state_size", 16), config.assumed
    (768, 16, {'state_size': 16})
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.assumed: dict[str, Any] = {}

    def has(self, key: str) -> bool:
        """Tell whether a key is there and not null."""
        return self.values.get(key) is not None

    def size(
        self,
        key: str,
        default: int,
        *others: str,
        null: int | None = None,
        least: int = 1,
        most: int = MOST,
    ) -> int:
        """Return a whole number.

        Parameters
        ----------
        key
            Its name.
        default
            What it is where it is missing.
        others
            Other names that it goes by.
        null
            What it is where it is null; by default that counts as missing.
        least, most
            Its range.

        Raises
        ------
        UsageError
            When it is no whole number in the range.
        """
        name = next((k for k in (key, *others) if self.has(k)), key)
        value = self.values.get(name)
        if value is None:
            if null is not None and key in self.values:
                return self._whole(key, null, least, most)
            self.assumed[key] = found = self._whole(key, default, least, most)
            return found
        return self._whole(name, value, least, most)

    def window(self, default: int | None, key: str = "sliding_window") -> int | None:
        """Return the tokens that a query sees in a sliding window; None for all."""
        if key not in self.values:
            if default is not None:
                self.assume(key, default)
            return default
        return None if self.values[key] is None else self.size(key, 1)

    def factor(self, key: str, default: float) -> float:
        """Return a positive number that need not be whole."""
        value = self.values.get(key)
        if value is None:
            return float(self.assume(key, default))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e6:
            raise UsageError(
                key, value, "is not a number in (0, 10^6]", "correct the configuration"
            )
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.values.get(key)
        if value is None:
            return bool(self.assume(key, default))
        if not isinstance(value, bool):
            raise UsageError(key, value, "is neither true nor false", "correct the configuration")
        return value

    def layers(self, default: int, *others: str, key: str = "num_hidden_layers") -> int:
        """Return the number of layers."""
        return self.size(key, default, *others, most=MOST_LAYERS)

    def kinds(
        self, key: str, layers: int | None, known: Sequence[str], default: Callable[[], list[str]]
    ) -> list[str]:
        """Return the kind of each layer, older names replaced by the present ones.

        Parameters
        ----------
        key
            The name of the list.
        layers
            How many there must be; None for as many as are listed.
        known
            The kinds that this family has.
        default
            Makes the list where it is missing.

        Raises
        ------
        UsageError
            When it is not such a list.
        """
        value = self.values.get(key)
        if value is None:
            made = default()
            self.assumed[key] = summary(made)
            return made
        if not isinstance(value, list) or not 1 <= len(value) <= MOST_LAYERS:
            raise UsageError(key, value, "is not a list of layers", "list a kind for each layer")
        found = [_LEGACY.get(kind, kind) if isinstance(kind, str) else kind for kind in value]
        for kind in found:
            if kind not in known:
                raise UsageError(key, kind, "is no kind of layer here", f"use {', '.join(known)}")
        if layers is not None and len(found) != layers:
            raise UsageError(
                key, f"{len(found)} layers", f"there are {layers}", "list a kind for each layer"
            )
        return found

    def indices(self, key: str, layers: int) -> list[int]:
        """Return the layers, numbered from 0, that a list names; none where it is null."""
        value = self.values.get(key)
        if value is None:
            self.assume(key, [])
            return []
        if not isinstance(value, list) or len(value) > MOST_LAYERS:
            raise UsageError(key, value, "is not a list of layers", "list numbers from 0")
        return [self._whole(key, v, 0, layers - 1) for v in value]

    def assume(self, key: str, value: Any) -> Any:
        """Remember that a key was missing, and return what it is taken to be."""
        self.assumed[key] = value
        return value

    @staticmethod
    def _whole(key: str, value: object, least: int, most: int) -> int:
        whole = isinstance(value, int | float) and not isinstance(value, bool)
        # NaN fails both comparisons, so that int() below is safe
        if not (whole and least <= value <= most and int(value) == value):  # type: ignore[operator, call-overload]
            raise UsageError(
                key, value, f"is not a whole number in {least}..{most}", "correct the configuration"
            )
        return int(value)  # type: ignore[call-overload, no-any-return]


def summary(kinds: Sequence[str]) -> str:
    """Return how many layers there are of each kind.

    Examples
    --------
    >>> summary(["conv", "full_attention", "conv"])
    '2 conv, 1 full_attention'
    """
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
