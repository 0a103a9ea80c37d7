"""A page for each other kind of variant: codes, controls, quantisers, encodings, maps."""

from __future__ import annotations

from statebound import registry
from statebound.experiments.reference.docstrings import body, markdown, summary

KINDS = {
    "codes": ("Codes", "statebound.protocols.codes", "../protocols.md"),
    "controls": ("Controls", "statebound.protocols.controls", "../counting-bits.md"),
    "quantisers": ("Quantisers", "statebound.reductions.quantisers", "../counting-bits.md"),
    "roundings": ("Roundings", "statebound.reductions.roundings", "../counting-bits.md"),
    "encodings": ("Encodings", "statebound.reductions.encodings", "../adding-variants.md"),
    "maps": ("Maps", "statebound.reductions.maps", "../problems.md"),
    "constructions": ("Constructions", "statebound.models.constructions", "../closing-the-gap.md"),
}


def pages() -> dict[str, str]:
    """Return a page for each kind."""
    return {f"reference/{kind}.md": page(kind) for kind in KINDS}


def page(kind: str) -> str:
    """Return the page of one kind: what every module of its folder says of itself."""
    title, package, more = KINDS[kind]
    lines = [f"# {title}", "", f"One file each in `{package}`. More: [here]({more}).", ""]
    for name in registry.names(package):
        module = registry.load(package, name, "name")
        lines += [f"## {name}", "", markdown(f"{summary(module)}."), "", markdown(body(module)), ""]
    return "\n".join(lines) + "\n"
