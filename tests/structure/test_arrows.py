"""Which module may import which: protocols, models <- reductions <- experiments."""

from __future__ import annotations

import ast
import re

import pytest

from .checkout import ROOMS, imports, modules, tree

ALLOWED = {
    "protocols": {"protocols"},
    "models": {"models"},
    "reductions": {"protocols", "models", "reductions"},
    "experiments": set(ROOMS),
}
VARIANTS = (
    "statebound.models",
    "statebound.protocols.problems",
    "statebound.protocols.codes",
    "statebound.protocols.controls",
    "statebound.reductions.quantisers",
    "statebound.reductions.roundings",
    "statebound.reductions.encodings",
    "statebound.reductions.maps",
)
ONLY_EXPERIMENTS = {"typer", "rich", "matplotlib", "time", "subprocess", "tempfile", "pathlib"}
ANYWHERE_IN_SRC = {"pathlib"}  # jit.py hashes sources, the public API takes paths


def room_of(name: str) -> str | None:
    """Return the room of a full name, None for the base modules and foreign ones."""
    parts = name.split(".")
    return parts[1] if parts[0] == "statebound" and len(parts) > 1 and parts[1] in ROOMS else None


def wrong_arrows(module: str, parsed: ast.AST, *, package: bool = False) -> list[str]:
    """Return what this module must not import."""
    room = room_of(module)
    wrong = []
    for target in imports(module, parsed, package=package):
        top = target.split(".")[0]
        there = room_of(target)
        variant = next((v for v in VARIANTS if module.startswith(f"{v}.")), None)
        name = module.removeprefix(f"{variant}.")
        if top in ROOMS:
            wrong.append(f"{module} imports {target} without statebound.")
        elif room is not None and there is not None and there not in ALLOWED[room]:
            wrong.append(f"{module} imports {target}")
        elif room != "experiments" and top in ONLY_EXPERIMENTS:
            if not (room is None and top in ANYWHERE_IN_SRC):
                wrong.append(f"{module} imports {target}, for experiments alone")
        elif variant and "." not in name and target.startswith(f"{variant}."):
            other = target.removeprefix(f"{variant}.").split(".")[0]
            if other != name and f"{variant}.{other}" in modules() and not other.startswith("_"):
                wrong.append(f"{module} imports another variant, {target}")
    if room is None:
        early = imports(module, parsed, package=package, top_level=True)
        wrong += [f"{module} imports {t} when it is imported" for t in early if room_of(t)]
    return wrong


@pytest.mark.parametrize("module", sorted(modules()))
def test_no_arrow_is_wrong(module):
    path = modules()[module]
    assert wrong_arrows(module, tree(path), package=path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("statebound.protocols.message", "import statebound.models"),
        ("statebound.protocols.message", "from statebound import reductions"),
        ("statebound.protocols.message", "from ..models import Cell"),
        ("statebound.models.gru", "def f():\n    from statebound.protocols import problem"),
        ("statebound.models.gru", "if TYPE_CHECKING:\n    import statebound.experiments.run"),
        ("statebound.models.gru", "from statebound.models.rnn import RNN"),
        ("statebound.models.gru", "from .rnn import RNN"),
        ("statebound.models.gru", "from . import rnn"),
        ("statebound.models.stack", "from statebound.models.gru import GRU"),
        ("statebound.models.gru", "import matplotlib"),
        ("statebound.reductions.machine", "from statebound.experiments import tally"),
        ("statebound.reductions.machine", "from models import Cell"),
        ("statebound.experiments.run", "import protocols.message"),
        ("statebound.registry", "from statebound.models import Cell"),
        ("statebound.jit", "import time"),
    ],
)
def test_a_wrong_arrow_is_named(module, source):
    assert len(wrong_arrows(module, ast.parse(source))) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("statebound.models.gru", "from statebound.models._torch import TorchCell"),
        ("statebound.models.gru", "from statebound.jit import kernel"),
        ("statebound.reductions.machine", "from statebound.protocols import message"),
        ("statebound.experiments.run", "import time\nfrom statebound.models import Cell"),
        ("statebound.registry", "def f():\n    from statebound.models import Cell"),
    ],
)
def test_a_right_arrow_is_not(module, source):
    assert wrong_arrows(module, ast.parse(source)) == []


def test_only_stacks_look_models_up():
    """A model that is named at run time is an import that no arrow shows: it has one place."""

    def importers(*targets):
        return {
            module.removeprefix("statebound.models.")
            for module, path in modules().items()
            if module.startswith("statebound.models.")
            and any(
                t.startswith(targets) and not t.startswith("importlib.resources")
                for t in imports(module, tree(path))
            )
        }

    assert importers("statebound.registry", "importlib", "pkgutil") == {"_build", "_stack_size"}
    assert importers("statebound.models._build.") == {"_stack_size"}
    assert importers("statebound.models._stack") == {"_stack", "stack", "hybrid"}


def calls(parsed: ast.AST) -> list[tuple[str, ast.Call]]:
    """Return all calls with the dotted name of what is called."""
    return [(ast.unparse(n.func), n) for n in ast.walk(parsed) if isinstance(n, ast.Call)]


WORKERS = "statebound.experiments.sweeping.workers"


def unsafe(module: str, parsed: ast.AST) -> list[str]:
    """Return what could run foreign code, draw on a screen, or escape the door to numba."""
    wrong = []
    for target in imports(module, parsed):
        top = target.split(".")[0]
        if top in ("pickle", "dill", "cloudpickle", "marshal", "shelve"):
            wrong.append(f"imports {target}")
        if top == "joblib" and module != WORKERS:  # its processes, never its files
            wrong.append(f"imports {target}")
        if target.startswith(("matplotlib.pyplot", "pylab", "scipy.stats")):
            wrong.append(f"imports {target}")
        if top in ("numba", "llvmlite") and target != "numba" and module != "statebound.jit":
            wrong.append(f"imports {target} past the door")
    for node in ast.walk(parsed):
        used = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        harmless = used == "numba.__version__" or module == "statebound.jit"
        if used in ("joblib.load", "joblib.dump"):
            wrong.append(f"uses {used}")
        if re.fullmatch(r"numba\.\w+", used) and not harmless:
            wrong.append(f"uses {used} past the door")
    for name, call in calls(parsed):
        given = {k.arg: k.value for k in call.keywords}
        if name in ("eval", "exec", "compile", "__import__"):
            wrong.append(f"calls {name}")
        if name.endswith("np.load") or name == "numpy.load":
            allow = given.get("allow_pickle")
            if not (isinstance(allow, ast.Constant) and allow.value is False):
                wrong.append("np.load without allow_pickle=False")
        if given.keys() & {"parallel", "fastmath"}:
            wrong.append(f"{name} with parallel or fastmath")
    return wrong


@pytest.mark.parametrize("module", sorted(modules()))
def test_nothing_unsafe(module):
    assert unsafe(module, tree(modules()[module])) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from matplotlib import pyplot",
        "import matplotlib.pyplot as plt",
        "from scipy.stats import norm",
        "from numba import njit",
        "import numba\nf = numba.njit(f)",
        "eval('1')",
        "exec(text)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "njit(parallel=True)(f)",
    ],
)
def test_the_unsafe_is_named(source):
    assert len(unsafe("statebound.experiments.run", ast.parse(source))) == 1
