"""A walk over a state of unknown make: its numbers, in a stable order, read and written by path.

Dictionaries, lists, tuples, deques and objects (``__dict__``, ``__slots__``, the buffers and
attributes of torch modules) are entered; tensors, arrays, numbers, booleans, text and None are
leaves. Parameters, configurations, devices, dtypes, functions, classes and Python modules are
no state and are passed over. Whatever else has nothing to enter is `opaque`.
"""

from __future__ import annotations

import copy
import hashlib
import sys
import types
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Step = tuple[str, Any]  # ("item", key or index) or ("attr", name)
Path = tuple[Step, ...]

DEEPEST = 40
_SCALARS = (bool, int, float, complex, str, bytes, type(None), np.generic, set, frozenset)
_PASSED = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
    types.GenericAlias,
    partial,
    property,
    np.dtype,
)
_MODULE_INNARDS = {"_parameters", "_buffers", "_modules", "training", "_non_persistent_buffers_set"}


@dataclass(frozen=True)
class Leaf:
    """One value of a state and where it is."""

    path: Path
    value: Any


@dataclass(frozen=True)
class Opaque:
    """Something that cannot be entered, so what it holds is unknown."""

    path: Path
    kind: str


def text(path: Path) -> str:
    """Return a path as Python would write it.

    Examples
    --------
    >>> text((("attr", "layers"), ("item", 0), ("item", "k")))
    "layers[0]['k']"
    """
    parts = [f".{key}" if kind == "attr" else f"[{key!r}]" for kind, key in path]
    return "".join(parts).removeprefix(".")


def is_tensor(value: object) -> bool:
    """Whether a value is a torch tensor; False while nobody has imported torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_module(value: object) -> bool:
    """Whether a value is a torch module."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def _is_passed(value: object) -> bool:
    """Whether a value is no state, by what it is."""
    if isinstance(value, _PASSED) or type(value).__name__.endswith("Config"):
        return True
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    kinds = (torch.nn.Parameter, torch.device, torch.dtype, torch.layout, torch.memory_format)
    return isinstance(value, kinds)


def is_leaf(value: object) -> bool:
    """Whether a value is one that `leaves` yields."""
    return isinstance(value, (*_SCALARS, np.ndarray)) or (
        is_tensor(value) and not _is_passed(value)
    )


def children(value: Any) -> list[tuple[Step, Any]] | None:
    """Return what a value holds, in a stable order; None if it cannot be entered."""
    if isinstance(value, dict):
        return [(("item", key), held) for key, held in value.items()]
    if isinstance(value, list | tuple | deque):
        return [(("item", at), held) for at, held in enumerate(value)]
    if is_module(value):
        own = [
            (name, held)
            for name, held in vars(value).items()
            if name not in _MODULE_INNARDS and not name.endswith(("_hooks", "_hooks_with_kwargs"))
        ]
        held_there = [*value._buffers.items(), *own, *value._modules.items()]
        return [(("attr", name), held) for name, held in held_there]
    slots = [
        name
        for base in type(value).__mro__
        for name in _slots(base)
        if name not in ("__dict__", "__weakref__") and hasattr(value, name)
    ]
    if hasattr(value, "__dict__"):
        slots += vars(value)
    elif not slots:
        return None
    return [(("attr", name), getattr(value, name)) for name in dict.fromkeys(slots)]


def _slots(base: type) -> tuple[str, ...]:
    named = base.__dict__.get("__slots__", ())
    return (named,) if isinstance(named, str) else tuple(named)


def walk(root: Any) -> Iterator[Leaf | Opaque]:
    """Yield every leaf and every opaque object below `root`, depth first.

    An object met twice is entered once; a tensor or array is yielded at each of its paths.
    """
    entered: set[int] = set()

    def below(path: Path, value: Any) -> Iterator[Leaf | Opaque]:
        if is_leaf(value):
            yield Leaf(path, value)
            return
        if _is_passed(value) or id(value) in entered or len(path) > DEEPEST:
            return
        held = children(value)
        if held is None:
            yield Opaque(path, type(value).__qualname__)
            return
        entered.add(id(value))
        for step, child in held:
            yield from below((*path, step), child)

    return below((), root)


def leaves(root: Any) -> dict[Path, Any]:
    """Return every leaf below `root` by its path."""
    return {found.path: found.value for found in walk(root) if isinstance(found, Leaf)}


def opaque(root: Any) -> list[Opaque]:
    """Return what below `root` cannot be entered."""
    return [found for found in walk(root) if isinstance(found, Opaque)]


def objects(root: Any) -> Iterator[tuple[Path, Any]]:
    """Yield everything that `walk` enters, with its path."""
    entered: dict[int, Any] = {}
    pending: list[tuple[Path, Any]] = [((), root)]
    while pending:
        path, value = pending.pop()
        if is_leaf(value) or _is_passed(value) or id(value) in entered or len(path) > DEEPEST:
            continue
        entered[id(value)] = value
        yield path, value
        pending.extend(((*path, step), child) for step, child in children(value) or ())


def parameters(root: Any) -> Iterator[tuple[Path, Any]]:
    """Yield every parameter of every torch module below `root`, with its path."""
    for path, value in objects(root):
        if is_module(value):
            for key, held in value._parameters.items():
                if held is not None:
                    yield (*path, ("attr", key)), held


def at(root: Any, path: Path) -> Any:
    """Return what is at a path.

    Raises
    ------
    LookupError, AttributeError
        Where there is no such path.
    """
    for kind, key in path:
        root = getattr(root, key) if kind == "attr" else root[key]
    return root


def assign(root: Any, path: Path, value: Any) -> Any:
    """Write a value at a path and return the root, a new one where tuples had to be rebuilt.

    A tensor or array of the same shape and dtype is overwritten in place, so that other
    references to it see the new value too.
    """
    if not path:
        return _overwrite(root, value)
    (kind, key), rest = path[0], path[1:]
    old = getattr(root, key) if kind == "attr" else root[key]
    new = assign(old, rest, value)
    if new is old:
        return root
    if kind == "attr":
        if is_module(root):
            setattr(root, key, new)
        else:
            object.__setattr__(root, key, new)
        return root
    if isinstance(root, tuple):
        items = [*root[:key], new, *root[key + 1 :]]
        return type(root)(*items) if hasattr(root, "_fields") else type(root)(items)
    root[key] = new
    return root


def _overwrite(old: Any, new: Any) -> Any:
    if is_tensor(old) and is_tensor(new) and old.shape == new.shape and old.dtype == new.dtype:
        overlapping = any(s == 0 and n > 1 for s, n in zip(old.stride(), old.shape, strict=True))
        if not overlapping:
            old.copy_(new)
            return old
        return new.clone()
    both = isinstance(old, np.ndarray) and isinstance(new, np.ndarray)
    if both and old.shape == new.shape and old.dtype == new.dtype and old.flags.writeable:
        old[...] = new
        return old
    return new.clone() if is_tensor(new) else copy.copy(new)  # whoever goes on may add to a set


def array(value: Any) -> NDArray[Any]:
    """Return a tensor, array or number as a numpy array; bfloat16 and smaller as float32."""
    if is_tensor(value):
        held = value.detach().cpu()
        if held.is_floating_point() and held.element_size() < 4:
            held = held.float()
        return np.array(held.numpy())
    return np.asarray(value)


def like(value: Any, numbers: NDArray[Any]) -> Any:
    """Return numbers as what `value` is: a tensor of its dtype, an array, a Python number."""
    if is_tensor(value):
        torch = sys.modules["torch"]
        made = torch.from_numpy(np.ascontiguousarray(numbers)).reshape(numbers.shape)
        return made.to(device=value.device, dtype=value.dtype)
    if isinstance(value, np.ndarray | np.generic):
        return (
            numbers.astype(value.dtype)
            if isinstance(value, np.ndarray)
            else (value.dtype.type(numbers))
        )
    return type(value)(numbers.item())


def is_numeric(value: Any) -> bool:
    """Whether a leaf is made of numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return bool(np.issubdtype(value.dtype, np.number) or value.dtype == bool)
    return is_tensor(value) or isinstance(value, bool | int | float | complex)


def is_real(value: Any) -> bool:
    """Whether a leaf is of floating-point numbers, complex ones included."""
    if is_tensor(value):
        return bool(value.is_floating_point() or value.is_complex())
    if isinstance(value, np.ndarray | np.generic):
        return bool(np.issubdtype(value.dtype, np.inexact))
    return isinstance(value, float | complex)


def count(value: Any) -> int:
    """Return how many numbers (or characters, or members) a leaf holds."""
    if is_tensor(value):
        return int(value.numel())
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, str | bytes | set | frozenset):
        return len(value)
    return 0 if value is None else 1


def bits(value: Any) -> int:
    """Return the native bits of a leaf.

    A tensor or array takes what its dtype takes; a Python integer its binary digits, at
    least one, and one more below 0, a boolean 1, a float 64, text 8 a byte, a set the sum of
    its members.

    Examples
    --------
    >>> bits(True), bits(5), bits(-5), bits(0.5), bits(np.zeros(3, np.float32))
    (1, 3, 4, 64, 96)
    """
    if is_tensor(value):
        return int(value.numel() * value.element_size() * 8)
    if isinstance(value, np.ndarray | np.generic):
        return int(value.nbytes * 8)
    if isinstance(value, bool):
        return 1
    if isinstance(value, int):
        return max(1, value.bit_length()) + (value < 0)
    if isinstance(value, float | complex):
        return 64 if isinstance(value, float) else 128
    if isinstance(value, str | bytes):
        return 8 * len(value.encode() if isinstance(value, str) else value)
    return sum(bits(member) for member in value) if isinstance(value, set | frozenset) else 0


def dtype_name(value: Any) -> str:
    """Return the dtype of a tensor or array, or the type of anything else."""
    if is_tensor(value):
        return str(value.dtype).removeprefix("torch.")
    if isinstance(value, np.ndarray | np.generic):
        return str(value.dtype)
    return type(value).__name__


def shape(value: Any) -> list[int]:
    """Return the shape of a tensor or array, [] for anything else."""
    return list(value.shape) if is_tensor(value) or isinstance(value, np.ndarray) else []


def place(value: Any) -> tuple[int, ...] | None:
    """Return where in memory the numbers of a tensor or array are, None if it has none."""
    if not count(value):
        return None
    if is_tensor(value):
        return (int(value.data_ptr()), *value.shape, -1, *value.stride())
    if isinstance(value, np.ndarray):
        return (value.ctypes.data, *value.shape, -1, *value.strides)
    return None


def digest(value: Any) -> str:
    """Return what tells a leaf from any other: type, shape and a hash of its numbers."""
    if is_tensor(value) or isinstance(value, np.ndarray):
        held = array(value)
        if held.dtype == object:
            return repr(value)
        marks = hashlib.blake2b(np.ascontiguousarray(held).tobytes(), digest_size=16).hexdigest()
        return f"{dtype_name(value)}{held.shape}{marks}"
    if isinstance(value, set | frozenset):
        return f"set{sorted(map(repr, value))}"
    return f"{type(value).__name__}{value!r}"


def same(left: Any, right: Any) -> bool:
    """Whether two leaves hold the same."""
    return digest(left) == digest(right)
