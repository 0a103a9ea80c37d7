"""What mkdocs calls while it builds the site: adds the generated pages and the navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from statebound.experiments.reference import pages
from statebound.experiments.reference.nav import nav


def on_config(config: Any) -> Any:
    """Make the pages, and the navigation of all that there are."""
    config.extra["generated"] = pages()
    folder = Path(config.docs_dir)
    written = [path.relative_to(folder).as_posix() for path in folder.rglob("*.md")]
    config.nav = nav([*written, *config.extra["generated"]])
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are generated."""
    for path, text in config.extra.pop("generated").items():
        files.append(File.generated(config, path, content=text))
    return files
