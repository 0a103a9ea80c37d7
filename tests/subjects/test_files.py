"""Weight files are found and read without running anything; damaged ones are refused."""

from __future__ import annotations

import io
import json
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from statebound.errors import StateboundError, UsageError
from statebound.experiments.subjects import arrays, g2p, packages, textgen

from .conftest import npz_bytes

LAYOUT = {"a": (2, "H"), "b": ("3H",)}
GOOD = {"a": np.arange(8, dtype=np.float32).reshape(2, 4), "b": np.ones(12, np.float64)}
MEMBER = packages.Member("no-such-package", "1.0", "some/inner/file.npz")


def refused(match: str, work, *arguments) -> None:
    with pytest.raises(UsageError, match=match) as caught:
        work(*arguments)
    assert "\n" not in str(caught.value)


def test_an_npz_is_read_with_its_sizes():
    found, sizes = arrays.npz(npz_bytes(GOOD), LAYOUT, "here")
    assert sizes == {"H": 4}
    assert found["b"].dtype == np.float32
    np.testing.assert_array_equal(found["a"], GOOD["a"])
    turned, _ = arrays.npz(npz_bytes(GOOD | {"a": np.asfortranarray(GOOD["a"])}), LAYOUT, "here")
    np.testing.assert_array_equal(turned["a"], GOOD["a"])


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"a": np.ones((3, 4))}, r"a must be 2 x H .*is \(3, 4\)"),
        ({"b": np.ones(11)}, "b must be 3H .* with H = 4"),
        ({"a": np.ones((2, 0))}, "a must be 2 x H"),
        ({"a": np.ones((2, 4), np.int64)}, "floating-point"),
        ({"a": np.full((2, 4), np.nan)}, "a holds a number that is not finite"),
        ({"a": np.full((2, 4), 1e300)}, "not finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_arrays_that_do_not_fit_are_named(changed, match):
    refused(match, arrays.npz, npz_bytes(GOOD | changed), LAYOUT, "here")


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_nothing_is_unpickled():
    held = np.empty((2, 4), object)
    held[:] = Trap()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "|O", "fortran_order": False, "shape": (2, 4)}
        )
        archive.writestr("a.npy", header.getvalue() + pickle.dumps(held[0, 0]))
    refused("floating-point", arrays.npz, buffer.getvalue(), LAYOUT, "here")


def test_a_header_that_claims_too_much_is_refused_before_reading():
    buffer = io.BytesIO()
    header = io.BytesIO()
    shape = {"descr": "<f4", "fortran_order": False, "shape": (2, 10**15)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.npy", header.getvalue())
    refused("at most", arrays.npz, buffer.getvalue(), LAYOUT, "here")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a zip at all" * 9])
def test_what_is_no_archive_is_refused(content):
    refused("cannot be read", arrays.npz, content, LAYOUT, "here")


def test_every_cut_of_an_npz_is_refused():
    whole = npz_bytes(GOOD)
    for end in range(0, len(whole), 41):
        with pytest.raises(UsageError):
            arrays.npz(whole[:end], LAYOUT, "here")


def test_damage_anywhere_is_refused_or_harmless():
    whole = npz_bytes(GOOD)
    for at in range(0, len(whole), 7):
        broken = bytearray(whole)
        broken[at] ^= 0xFF
        try:
            found, _ = arrays.npz(bytes(broken), LAYOUT, "here")
        except UsageError:
            continue
        np.testing.assert_array_equal(found["a"], GOOD["a"])


def test_a_package_that_is_missing_has_a_remedy():
    refused("pip install --no-deps no-such-package==1.0", packages.read, MEMBER, None)


def test_a_file_is_found_in_a_folder_or_an_archive(tmp_path):
    wheel, sdist = tmp_path / "a.whl", tmp_path / "a.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(MEMBER.path, b"zip")
    with tarfile.open(sdist, "w:gz") as archive:
        for name in ("a-1.0/other", f"a-1.0/{MEMBER.path}"):
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"tar"))
    (tmp_path / MEMBER.name).write_bytes(b"file")
    assert packages.read(MEMBER, wheel) == b"zip"
    assert packages.read(MEMBER, sdist) == b"tar"
    assert packages.read(MEMBER, tmp_path) == packages.read(MEMBER, tmp_path / MEMBER.name)
    assert packages.read(MEMBER, tmp_path / "beside.json") == b"file"


def test_links_and_bombs_in_archives_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo(f"a/{MEMBER.path}")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    refused("holds no", packages.read, MEMBER, path)
    monkeypatch.setattr(packages, "MOST_BYTES", 5000)
    with tarfile.open(path, "w:gz") as archive:
        big = tarfile.TarInfo("a/big")
        big.size = 6000
        archive.addfile(big, io.BytesIO(bytes(6000)))
    refused("at most 5000", packages.read, MEMBER, path)
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER.path, bytes(6000))
    refused("at most 5000", packages.read, MEMBER, wheel)


def test_broken_archives_are_refused(tmp_path):
    for name in ("a.whl", "a.tar.gz"):
        path = tmp_path / name
        for content in (b"", b"\x1f\x8b\x08\x00 broken", b"PK\x05\x06" + bytes(9)):
            path.write_bytes(content)
            refused("archive|holds no", packages.read, MEMBER, path)
    refused("is no file", packages.read, MEMBER, tmp_path / "missing.npz")


def test_real_layouts_are_read_from_a_wheel(g2p_wheel, g2p_arrays):
    model = g2p.G2P.load(g2p_wheel)
    assert model.fields[0].numbers == 8
    np.testing.assert_array_equal(model.weights["fc_w"], g2p_arrays["fc_w"])


@pytest.mark.parity
def test_hdf5_is_read_and_its_damage_refused(textgen_folder, textgen_arrays):
    path = textgen_folder / textgen.FILE.name
    whole = path.read_bytes()
    found, sizes = arrays.hdf5(whole, textgen.LAYOUT, "here")
    assert sizes == {"V": 32, "E": 6, "H": 8, "C": 22}
    for name, array in textgen_arrays.items():
        np.testing.assert_array_equal(found[name], array)
    for end in (0, 100, len(whole) // 2, len(whole) - 1):
        refused("cannot be read|lacks", arrays.hdf5, whole[:end], textgen.LAYOUT, "here")
    refused("lacks", arrays.hdf5, whole, {"no/such": (1,)}, "here")
    refused("must be 3 floating", arrays.hdf5, whole, {"output/output/bias:0": (3,)}, "here")
    refused("not an array", arrays.hdf5, whole, {"output/output": (3,)}, "here")


@pytest.mark.parity
def test_hdf5_links_and_storage_elsewhere_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.hdf5"
    raw = tmp_path / "raw"
    raw.write_bytes(struct.pack("<4f", 1, 2, 3, 4))
    layout = h5py.VirtualLayout((4,), "f4")
    with h5py.File(path, "w") as file:
        file["soft"] = h5py.SoftLink("/a")
        file["outer"] = h5py.ExternalLink("b.hdf5", "/a")
        file.create_dataset("raw", (4,), "f4", external=[(str(raw), 0, 16)])
        file.create_virtual_dataset("virtual", layout)
    content = path.read_bytes()
    for name, match in (
        ("soft", "link"),
        ("outer", "link"),
        ("outer/inner", "link"),
        ("raw", "in the file itself"),
        ("virtual", "in the file itself"),
    ):
        refused(match, arrays.hdf5, content, {name: (4,)}, "here")


@pytest.mark.parity
@pytest.mark.parametrize(
    "content", [b"", b"[" * 100_000, b"[]", b'{"a": 1}', json.dumps({"a": [1]}).encode(), b"\xff"]
)
def test_bad_symbols_are_refused(textgen_folder, content):
    (textgen_folder / textgen.SYMBOLS.name).write_bytes(content)
    refused("textgenrnn_vocab.json", textgen.TextGen.load, textgen_folder)


def test_without_h5py_the_error_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(StateboundError, match=r"statebound\[subjects\]"):
        arrays.hdf5(b"", {}, "here")


def test_no_weights_are_in_the_package():
    folder = Path(packages.__file__).resolve().parent
    assert {path.suffix for path in folder.iterdir() if path.is_file()} == {".py", ".txt"}
