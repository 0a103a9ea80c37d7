"""Arrays of weights from the bytes of a file: named, of known shapes, finite, no pickles.

A layout maps names to shapes. A side is a number, or a symbol with a factor: ``"3H"`` is
three times the H that the other shapes agree on. Sizes are read off the headers and
checked before any array is made.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError, UsageError

Layout = Mapping[str, tuple[int | str, ...]]
Arrays = dict[str, NDArray[np.float32]]
Sizes = dict[str, int]

MOST_NUMBERS = 1 << 24
_DAMAGE = (OSError, ArithmeticError, RuntimeError, ValueError, TypeError, EOFError, MemoryError)
_HEADERS = {(1, 0): "read_array_header_1_0", (2, 0): "read_array_header_2_0"}


def npz(content: bytes, layout: Layout, where: str) -> tuple[Arrays, Sizes]:
    """Return the arrays of an ``.npz`` file, and what the symbols of its layout are.

    Raises
    ------
    UsageError
        When it is no such file, an array is missing or has another shape, or a number
        is not finite.
    """
    arrays: dict[str, NDArray[Any]] = {}
    sizes: Sizes = {}
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            for name, sides in layout.items():
                with archive.open(f"{name}.npy") as stream:
                    arrays[name] = _npy(stream, name, sides, sizes, where)
    except UsageError:
        raise
    except KeyError as error:
        raise _bad(where, f"lacks an array ({error.args[0]})") from error
    except (
        zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError,
        ValueError,
    ) as error:  # fmt: skip
        raise _bad(where, f"cannot be read ({_one_line(error)})") from error
    return _checked(arrays, where), sizes


def _npy(
    stream: Any, name: str, sides: tuple[int | str, ...], sizes: Sizes, where: str
) -> NDArray[Any]:
    version = np.lib.format.read_magic(stream)
    reader = getattr(np.lib.format, _HEADERS.get(version, ""), None)
    if reader is None:
        raise _bad(where, f"{name} is in an unknown version of the format, {version}")
    shape, by_columns, dtype = reader(stream)
    _match(name, shape, dtype, sides, sizes, where)
    size = math.prod(shape) * dtype.itemsize
    held = stream.read(size)
    if len(held) != size:
        raise _bad(where, f"{name} is cut off")
    return np.frombuffer(held, dtype).reshape(shape, order="F" if by_columns else "C")


def hdf5(content: bytes, layout: Layout, where: str) -> tuple[Arrays, Sizes]:
    """Return the datasets of an HDF5 file; see `npz`.

    Only datasets that lie in the file itself are read: no links elsewhere, no external or
    virtual storage.

    Raises
    ------
    StateboundError
        When h5py is not installed.
    """
    try:
        import h5py
    except ImportError as error:
        raise StateboundError(
            "h5py is not installed: this file is HDF5; run: pip install 'statebound[subjects]'"
        ) from error
    arrays: dict[str, NDArray[Any]] = {}
    sizes: Sizes = {}
    try:
        with h5py.File(BytesIO(content), "r") as file:
            for name, sides in layout.items():
                parts = name.split("/")
                for end in range(1, len(parts) + 1):
                    link = file.get("/".join(parts[:end]), getlink=True)
                    if link is None:
                        raise _bad(where, f"lacks {name}")
                    if not isinstance(link, h5py.HardLink):
                        raise _bad(where, f"{name} is not in the file itself, but a link")
                found = file[name]
                if not isinstance(found, h5py.Dataset) or found.is_virtual or found.external:
                    raise _bad(where, f"{name} is not an array in the file itself")
                _match(name, found.shape, found.dtype, sides, sizes, where)
                arrays[name] = found[()]
    except UsageError:
        raise
    except KeyError as error:
        raise _bad(where, f"lacks {name}") from error
    except _DAMAGE as error:  # whatever the library makes of it
        raise _bad(where, f"cannot be read ({_one_line(error)})") from error
    return _checked(arrays, where), sizes


def _match(
    name: str, shape: Any, dtype: Any, sides: tuple[int | str, ...], sizes: Sizes, where: str
) -> None:
    """Check one array's header, and learn the symbols that it is the first to tell."""
    wanted = f"{name} must be {' x '.join(map(str, sides))} floating-point numbers"
    if not isinstance(shape, tuple) or len(shape) != len(sides) or np.dtype(dtype).kind != "f":
        raise _bad(where, f"{wanted}, is {shape} of {dtype}")
    if math.prod(shape) > MOST_NUMBERS:
        raise _bad(where, f"{name} would hold {math.prod(shape)} numbers, at most {MOST_NUMBERS}")
    for side, length in zip(sides, shape, strict=True):
        factor, symbol = _side(side)
        size = sizes.get(symbol, length // factor) if symbol else 1
        if size < 1 or size * factor != length:
            known = ", ".join(f"{k} = {v}" for k, v in sizes.items())
            raise _bad(where, f"{wanted}{f' with {known}' if known else ''}, is {shape}")
        if symbol:
            sizes[symbol] = size


def _side(side: int | str) -> tuple[int, str]:
    """Split a side into its factor and its symbol.

    Examples
    --------
    >>> _side("3H"), _side("H"), _side(29)
    ((3, 'H'), (1, 'H'), (29, ''))
    """
    if isinstance(side, int):
        return side, ""
    found = re.fullmatch(r"(\d*)([A-Z])", side)
    assert found is not None
    return int(found[1] or 1), found[2]


def _checked(arrays: Mapping[str, NDArray[Any]], where: str) -> Arrays:
    made = {}
    for name, array in arrays.items():
        made[name] = np.ascontiguousarray(array, np.float32)
        if not np.isfinite(made[name]).all():
            raise _bad(where, f"{name} holds a number that is not finite")
    return made


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:100] or type(error).__name__


def _bad(where: str, what: str) -> UsageError:
    return UsageError("weights", where, what, "pass the file as its package ships it")
