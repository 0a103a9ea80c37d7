"""What the structure tests know of the checkout: its files, packages and imports."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("protocols", "models", "reductions", "experiments")
IGNORED = {"build", "dist", "results", "site", "__pycache__", "wheels"}


@cache
def files() -> tuple[str, ...]:
    """Return what git holds or would hold, sorted; without git, every file in sight."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = [
            path.relative_to(ROOT).as_posix()
            for path in ROOT.rglob("*")
            if not any(
                part in IGNORED
                or part.endswith(".egg-info")
                or (part.startswith(".") and part not in (".ci", ".gitignore"))
                for part in path.relative_to(ROOT).parts
            )
        ]
    return tuple(sorted(n for n in filter(None, listed) if (ROOT / n).is_file()))


def packaged() -> dict[str, str]:
    """Return every file of the package: its path in an installation, its path here."""
    found = {}
    for name in files():
        top, _, rest = name.partition("/")
        if top in ROOMS:
            found[f"statebound/{name}"] = name
        elif rest.startswith("statebound/") and top == "src":
            found[rest] = name
    return found


def modules() -> dict[str, Path]:
    """Return every module of the package by its full name."""
    found = {}
    for installed, here in packaged().items():
        if installed.endswith(".py"):
            name = installed.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            found[name] = ROOT / here
    return found


@cache
def tree(path: Path) -> ast.Module:
    """Return the parsed source of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(
    module: str, parsed: ast.AST, *, package: bool = False, top_level: bool = False
) -> Iterator[str]:
    """Yield what a module imports, by full names; ``from a import b`` gives ``a.b``.

    With `top_level` only what runs, or is read by a type checker, when the module is
    imported: nothing inside functions.
    """
    here = module.split(".") if package else module.split(".")[:-1]
    pending = [parsed]
    while pending:
        node = pending.pop()
        if top_level and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            full = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{full}.{alias.name}" for alias in node.names)
        pending.extend(ast.iter_child_nodes(node))


def copy_files(target: Path) -> Path:
    """Copy what git would hold into a new folder, links as links."""
    for name in files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    return target


def python(*arguments: str, cwd: Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run this Python in another folder, with nothing of pytest's around it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
