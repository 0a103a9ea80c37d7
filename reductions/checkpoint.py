"""A trained machine in one safetensors file: encoder, quantiser, Bob, and where it came from.

Tensors:

- the cell's parameters under their usual names, float16, float32 or float64;
- ``quantiser.FIELD.thresholds`` (C, 2^p - 1) and ``quantiser.FIELD.levels`` (C, 2^p), float32,
  for every field of the state: a codebook for each of its C numbers (of a cache, of each
  number of one entry), in the units of the state. Thresholds do not fall, nor do levels, and
  a level lies in its cell: code = how many thresholds are at most the number;
- optionally ``bob.0.weight`` (hidden, features), ``bob.0.bias`` (hidden), ``bob.1.weight``,
  ...: the machine's own Bob, layers with ReLU between them and none at the end, from the
  dequantised numbers of all fields, in order and as they are (a standardisation is folded into
  the first layer), to ``queries * alphabet`` scores, those of query k from ``k * alphabet`` on.
  He gives the answer of the largest score, the least of equal ones.

The metadata has one key, ``statebound``: the canonical JSON of `About`. Nothing in a file is
executed; whatever is not of this form is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError

SCHEMA = 1
KEY = "statebound"
MOST_BYTES = 1 << 26
MOST_HEADER = 1 << 20
MOST_BITS = 12  # of a codebook
REMEDY = "pass a file that statebound train wrote, or train it again"

Floats = NDArray[np.floating]
Layers = tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]

_FLOATS = {"F16": np.float16, "F32": np.float32, "F64": np.float64}
_CODEBOOK = re.compile(r"quantiser\.(.+)\.(thresholds|levels)")
_LAYER = re.compile(r"bob\.(0|[1-9]\d?)\.(weight|bias)")
_TEXTS = ("problem", "model", "regime", "encoding", "dtype")
_OBJECTS = ("problem_options", "settings", "recipe", "provenance", "measured")


@dataclass(frozen=True)
class About:
    """What a trained machine is, and how it was made.

    Attributes
    ----------
    problem, n, problem_options
        What it was trained on; the options without n, as rows of results have them.
    model, settings, numbers
        The cell, its config, and how many numbers its state holds.
    bits
        Bits a number, or those of each field by its name where they differ.
    regime, encoding, dtype
        As in a machine's specification.
    recipe
        All that the training depended on.
    provenance
        Versions, the command, the seconds it took, the seed.
    measured
        ``success`` when it was made and the ``engine`` that found it, and more if wanted.
    """

    problem: str
    n: int
    problem_options: dict[str, Any]
    model: str
    settings: dict[str, int | str]
    numbers: int
    bits: int | dict[str, int]
    regime: str
    encoding: str
    dtype: str
    recipe: dict[str, Any]
    provenance: dict[str, Any]
    measured: dict[str, Any]

    def bits_of(self, field: str) -> int | None:
        """Return the bits a number of a field; None where there is no such field."""
        return self.bits.get(field) if isinstance(self.bits, dict) else self.bits

    def plain(self) -> dict[str, Any]:
        """Return it as JSON-able data, with the schema."""
        return {"schema": SCHEMA} | {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True)
class Codebook:
    """Thresholds (C, 2^p - 1) and levels (C, 2^p) of the numbers of one field."""

    thresholds: NDArray[np.float32]
    levels: NDArray[np.float32]

    @property
    def bits(self) -> int:
        """Return p."""
        return int(self.levels.shape[1]).bit_length() - 1


@dataclass(frozen=True)
class Checkpoint:
    """A trained machine, without the problem and the cell that it belongs to.

    Attributes
    ----------
    about
        What it is.
    weights
        The cell's parameters by name.
    codebooks
        The quantiser of every field by its name.
    bob
        Weight and bias of each layer of its own Bob; empty where it has none.
    """

    about: About
    weights: dict[str, Floats]
    codebooks: dict[str, Codebook]
    bob: Layers = ()


def write(checkpoint: Checkpoint) -> bytes:
    """Return the file of a checkpoint; equal checkpoints give equal bytes.

    Raises
    ------
    UsageError
        When it would not be read again.

    Examples
    --------
    >>> about = About("index", 1, {}, "rnn", {"units": 1}, 1, 1, "handoff", "bits", "float32",
    ...               {}, {}, {"success": 0.5, "engine": "enumerate"})
    >>> book = Codebook(np.zeros((1, 1), np.float32), np.array([[-1, 1]], np.float32))
    >>> held = read(write(Checkpoint(about, {"bias": np.zeros(1)}, {"h": book})))
    >>> held.about == about, held.codebooks["h"].bits
    (True, 1)
    """
    from safetensors.numpy import save

    tensors: dict[str, Floats] = dict(checkpoint.weights)
    for name, book in checkpoint.codebooks.items():
        tensors[f"quantiser.{name}.thresholds"] = book.thresholds
        tensors[f"quantiser.{name}.levels"] = book.levels
    for i, (weight, bias) in enumerate(checkpoint.bob):
        tensors[f"bob.{i}.weight"], tensors[f"bob.{i}.bias"] = weight, bias
    try:
        text = json.dumps(
            checkpoint.about.plain(), sort_keys=True, separators=(",", ":"), allow_nan=False
        )
    except (TypeError, ValueError, RecursionError) as error:
        _refuse("checkpoint", f"holds what JSON cannot say ({error})")
    plain = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    data = bytes(save(plain, {KEY: text}))
    read(data)
    return data


def is_checkpoint(data: bytes) -> bool:
    """Whether bytes begin like a checkpoint, not like any other safetensors file."""
    try:
        return KEY in _metadata(_header(data, "weights"))
    except UsageError:
        return False


def read_about(head: bytes, name: str = "checkpoint") -> About:
    """Return what the first bytes of a file, at least its header, say about it.

    Raises
    ------
    UsageError
        When they are not those of a checkpoint.
    """
    return _about(_header(head, name), name)


def read(data: bytes, name: str = "checkpoint") -> Checkpoint:
    """Return the checkpoint in a file's bytes, every part of it checked.

    `name` is how errors call the file. Whether it fits a problem and a cell is not known
    here.

    Raises
    ------
    UsageError
        When the bytes are cut short or hostile, or any part is not of the form.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    if len(data) > MOST_BYTES:
        _refuse(name, f"has {len(data)} bytes, more than the {MOST_BYTES} of any checkpoint")
    header = _header(data, name)
    about = _about(header, name)
    for tensor, entry in header.items():
        if tensor != "__metadata__" and (
            not isinstance(entry, dict) or entry.get("dtype") not in _FLOATS
        ):
            _refuse(name, f"{tensor} is not of float16, float32 or float64")
    try:
        tensors: dict[str, Floats] = load(data)
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError) as error:
        _refuse(name, f"is torn or no safetensors file ({error})", error)
    books: dict[str, dict[str, Floats]] = {}
    layers: dict[int, dict[str, Floats]] = {}
    weights: dict[str, Floats] = {}
    for tensor, array in tensors.items():
        found = _CODEBOOK.fullmatch(tensor)
        endless = found is not None and found[2] == "thresholds"  # one that is never reached
        if np.isnan(array).any() or not (endless or np.isfinite(array).all()):
            _refuse(name, f"{tensor} holds numbers that are not finite")
        if found:
            books.setdefault(found[1], {})[found[2]] = array
        elif found := _LAYER.fullmatch(tensor):
            layers.setdefault(int(found[1]), {})[found[2]] = array
        elif tensor.startswith(("quantiser.", "bob.")):
            _refuse(name, f"{tensor} is no part of a quantiser or of a Bob")
        else:
            weights[tensor] = array
    codebooks = {field: _codebook(field, parts, name) for field, parts in sorted(books.items())}
    _check_bits(about, codebooks, name)
    return Checkpoint(about, weights, codebooks, _layers(layers, name))


def _refuse(name: str, rule: str, cause: Exception | None = None) -> NoReturn:
    """Refuse a file, in one line however long what it holds may be."""
    line = " ".join(rule.split())
    shown = line if len(line) <= 200 else line[:197] + "..."
    raise UsageError("weights", name, shown, REMEDY) from cause


def _header(data: bytes, name: str) -> dict[str, Any]:
    """Return the header of a safetensors file: its length in eight bytes, then JSON."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > MOST_HEADER or len(data) < 8 + length:
        _refuse(name, "is cut short, or no safetensors file with a header of sensible size")
    return _parsed(data[8 : 8 + length], name)


def _parsed(text: str | bytes, name: str) -> dict[str, Any]:
    def never(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no number")

    try:
        held = json.loads(text, parse_constant=never)
    except (ValueError, RecursionError) as error:
        _refuse(name, f"has a header that is no JSON ({error})", error)
    if not isinstance(held, dict):
        _refuse(name, "has a header that is no JSON object")
    return held


def _metadata(header: Mapping[str, Any]) -> dict[str, Any]:
    held = header.get("__metadata__")
    return held if isinstance(held, dict) else {}


def _about(header: Mapping[str, Any], name: str) -> About:
    text = _metadata(header).get(KEY)
    if not isinstance(text, str):
        _refuse(name, f"has no metadata {KEY}, so it is no checkpoint")
    held = _parsed(text, name)
    schema = held.pop("schema", None)
    if type(schema) is not int or schema != SCHEMA:
        _refuse(name, f"has schema {schema!r}, this version reads {SCHEMA}")
    known = {f.name for f in fields(About)}
    if set(held) != known:
        wrong = sorted(set(held) ^ known)
        _refuse(
            name, f"must say {', '.join(sorted(known))}; missing or unknown: {', '.join(wrong)}"
        )
    for key in _TEXTS:
        if not isinstance(held[key], str):
            _refuse(name, f"{key} must be text")
    for key in _OBJECTS:
        if not isinstance(held[key], dict):
            _refuse(name, f"{key} must be an object")
    for key in ("n", "numbers"):
        if type(held[key]) is not int or held[key] < 1:
            _refuse(name, f"{key} must be a positive whole number")
    if not all(type(value) in (int, str) for value in held["settings"].values()):
        _refuse(name, "settings must be whole numbers or texts")
    if not all(type(value) in (int, str, bool) for value in held["problem_options"].values()):
        _refuse(name, "problem_options must be whole numbers, texts, or true and false")
    bits = held["bits"]
    each = list(bits.values()) if isinstance(bits, dict) else [bits]
    if not each or not all(type(p) is int and 1 <= p <= MOST_BITS for p in each):
        _refuse(name, f"bits must be 1 to {MOST_BITS}, or an object of such by field")
    success = held["measured"].get("success")
    if type(success) not in (int, float) or not 0 <= success <= 1:
        _refuse(name, "measured must have a success from 0 to 1")
    if not isinstance(held["measured"].get("engine"), str):
        _refuse(name, "measured must name its engine")
    return About(**held)


def _codebook(field: str, parts: Mapping[str, Floats], name: str) -> Codebook:
    """Return the codebook of a field, checked."""
    for part in ("thresholds", "levels"):
        if part not in parts:
            _refuse(name, f"quantiser.{field}.{part} is missing")
        if parts[part].dtype != np.float32 or parts[part].ndim != 2:
            _refuse(name, f"quantiser.{field}.{part} must be a float32 matrix")
    cuts, levels = parts["thresholds"], parts["levels"]
    numbers, size = levels.shape
    if (
        not numbers
        or size not in {1 << p for p in range(1, MOST_BITS + 1)}
        or cuts.shape != (numbers, size - 1)
    ):
        _refuse(
            name,
            f"quantiser.{field} must have levels (C, 2^p) with p from 1 to {MOST_BITS} and "
            f"thresholds (C, 2^p - 1), not {levels.shape} and {cuts.shape}",
        )
    if (cuts[:, 1:] < cuts[:, :-1]).any() or (levels[:, 1:] < levels[:, :-1]).any():
        _refuse(name, f"quantiser.{field} must not fall: thresholds and levels are sorted")
    edge = np.full((numbers, 1), np.inf, np.float32)
    low, high = np.hstack([-edge, cuts]), np.hstack([cuts, edge])
    if ((low < high) & ((levels < low) | (levels >= high))).any():
        _refuse(name, f"quantiser.{field} has a level outside its cell")
    return Codebook(
        np.asarray(cuts, np.float32),
        np.asarray(levels, np.float32),
    )


def _check_bits(about: About, codebooks: Mapping[str, Codebook], name: str) -> None:
    found = {field: book.bits for field, book in codebooks.items()}
    if not found:
        _refuse(name, "has no quantiser")
    said = about.bits if isinstance(about.bits, dict) else dict.fromkeys(found, about.bits)
    if found != said:
        _refuse(name, f"has codebooks of {found} bits and says {about.bits}")


def _layers(parts: Mapping[int, Mapping[str, Floats]], name: str) -> Layers:
    """Return the layers of a Bob, checked against each other."""
    made = []
    inputs = None
    for i in range(len(parts)):
        held = parts.get(i, {})
        weight, bias = held.get("weight"), held.get("bias")
        if weight is None or bias is None:
            _refuse(name, f"bob.{i} must have a weight and a bias")
        if weight.ndim != 2 or bias.shape != weight.shape[:1] or 0 in weight.shape:
            _refuse(name, f"bob.{i} must be a matrix and a vector of its rows")
        if inputs is not None and weight.shape[1] != inputs:
            _refuse(name, f"bob.{i}.weight must have {inputs} columns, not {weight.shape[1]}")
        inputs = weight.shape[0]
        with np.errstate(over="ignore"):
            layer = np.asarray(weight, np.float32), np.asarray(bias, np.float32)
        if not all(np.isfinite(part).all() for part in layer):
            _refuse(name, f"bob.{i} holds numbers that are too large")
        made.append(layer)
    return tuple(made)
