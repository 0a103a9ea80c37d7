"""What an installation holds, and that this one is of this checkout."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from statebound import registry

from .checkout import ROOT, copy_files, files, modules, packaged, python

KINDS = {
    "statebound.models": "CELL",
    "statebound.protocols.problems": "PROBLEM",
    "statebound.protocols.codes": "PROTOCOL",
    "statebound.protocols.controls": "PROTOCOL",
    "statebound.reductions.quantisers": "QUANTISER",
    "statebound.reductions.roundings": "ROUNDING",
    "statebound.reductions.encodings": "ENCODING",
    "statebound.reductions.maps": "MAP",
}


def test_the_package_is_this_checkout():
    for module, path in modules().items():
        if path.name == "__init__.py":
            loaded = importlib.import_module(module)
            assert loaded.__file__ is not None
            assert Path(loaded.__file__).resolve() == path


@pytest.mark.parametrize("package", sorted(KINDS))
def test_the_registry_lists_the_files(package):
    files = {m for m, path in modules().items() if path.name != "__init__.py"}
    stems = {m.removeprefix(f"{package}.") for m in files if m.startswith(f"{package}.")}
    wanted = sorted(s for s in stems if not s.startswith("_") and "." not in s)
    assert registry.names(package) == wanted
    for name in wanted:
        variant = getattr(registry.load(package, name, "name"), KINDS[package])
        assert variant.__module__ == f"{package}.{name}"
        if KINDS[package] == "MAP":
            assert f"{variant.source_name}_to_{variant.target_name}" == name
        elif KINDS[package] != "PROTOCOL":
            assert variant.name == name


@pytest.mark.slow
def test_the_wheel_is_the_files(tmp_path):
    copy = copy_files(tmp_path / "copy")
    built = python(
        *("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"),
        *("--disable-pip-version-check", "-w", str(tmp_path / "dist"), "."),
        cwd=copy,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as held:
        names = [n for n in held.namelist() if ".dist-info/" not in n]
        assert sorted(names) == sorted(packaged())
        for name in names:
            assert held.read(name) == (ROOT / packaged()[name]).read_bytes()


@pytest.mark.slow
def test_the_sdist_holds_what_tests_need(tmp_path):
    copy = copy_files(tmp_path / "copy")
    built = python(
        *("-m", "build", "--sdist", "--no-isolation", "-o", str(tmp_path / "dist"), "."), cwd=copy
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as held:
        names = {m.name.partition("/")[2] for m in held.getmembers() if m.isfile()}
    wanted = {n for n in files() if not n.startswith(("typings/", ".github/"))}
    assert wanted - names == set()
    assert [n for n in names if n.startswith("typings/") or n.endswith(".pyc")] == []


@pytest.mark.parametrize("way", ["python -m", "script"])
def test_it_runs_from_another_folder(tmp_path, way):
    script = Path(sys.executable).parent / "statebound"
    command = [sys.executable, "-m", "statebound"] if way == "python -m" else [str(script)]
    done = subprocess.run(
        [*command, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("statebound ")


LOADED = """
import sys
sys.argv = ["statebound", *{arguments!r}]
code = 0
if sys.argv[1:]:
    from statebound.__main__ import main
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code
else:
    import statebound
heavy = ("numpy", "numba", "scipy", "matplotlib", "pandas", "torch")
print(code, *[name for name in heavy if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        ([], []),
        (["--help"], []),
        (["--version"], []),
        (["measure", "--help"], []),
        (["limits", "index", "--n", "23", "--state-bits", "12"], ["numpy"]),
        (["limits", "index", "--n", "23", "--success", "0.9"], ["numpy"]),
    ],
    ids=" ".join,
)
def test_only_what_is_needed_is_loaded(tmp_path, arguments, loaded):
    done = python("-c", LOADED.format(arguments=arguments), cwd=tmp_path)
    assert done.stderr.split() == ["0", *loaded]
