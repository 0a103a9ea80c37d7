"""The verb that measures trained models which others have published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON
from statebound.experiments.ranges import number_list

_G2P = {
    "family": "family",
    "quantiser": "quantiser",
    "bits_per_number": "bits",
    "state_bits": "M",
    "phoneme_accuracy": "phonemes",
    "phoneme_accuracy_low": "low",
    "phoneme_accuracy_high": "high",
    "word_accuracy": "words",
    "word_accuracy_low": "low",
    "word_accuracy_high": "high",
}
_TEXTGEN = {
    "form": "form",
    "regime": "regime",
    "rounding": "rounding",
    "quantiser": "quantiser",
    "bits_per_number": "bits",
    "state_bits": "M",
    "bits_per_character": "bits/char",
    "bits_per_character_low": "low",
    "bits_per_character_high": "high",
}

_SMOLLM = {
    "policy": "policy",
    "entries": "entries",
    "quantiser": "quantiser",
    "bits_per_number": "bits",
    "state_bits": "M",
    "success": "success",
    "success_low": "low",
    "success_high": "high",
}


@app.command()
def subject(
    which: Annotated[str, typer.Argument(help="g2p, textgen or smollm.")],
    *,
    words: Annotated[int | None, typer.Option("--words", help="g2p: words to say (1000).")] = None,
    length: Annotated[
        int | None, typer.Option("--length", help="textgen: characters to score (2560).")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", help="smollm: prompts to answer from (40).")
    ] = None,
    entries: Annotated[
        str | None,
        typer.Option("--entries", help="smollm: entries that a head keeps, such as 16,32,48."),
    ] = None,
    bits: Annotated[
        str | None, typer.Option("--bits", help="Bits a number, such as 1,2,4 or 1..8.")
    ] = None,
    quantiser: Annotated[
        str | None,
        typer.Option("--quantiser", help="One or several by comma; floats for fp4 to fp32."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", help="Of the draw of words or prompts; of coins for textgen."),
    ] = 0,
    weights: Annotated[
        Path | None,
        typer.Option("--weights", help="The model's file or downloaded package, if not installed."),
    ] = None,
    dictionary: Annotated[
        Path | None, typer.Option("--dictionary", help="g2p: a file in the form of CMUdict.")
    ] = None,
    text: Annotated[
        Path | None, typer.Option("--text", help="textgen: a text, in place of the shipped one.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Draw to OUT.png and OUT.svg too.")
    ] = None,
    style: Annotated[str, typer.Option("--style", help="paper or slides.")] = "paper",
    as_json: JSON = False,
) -> int:
    """Measure a published model whose state is bounded: g2p-en, textgenrnn or SmolLM2."""
    for name, value, owner in (
        ("words", words, "g2p"),
        ("dictionary", dictionary, "g2p"),
        ("length", length, "textgen"),
        ("text", text, "textgen"),
        ("trials", trials, "smollm"),
        ("entries", entries, "smollm"),
    ):
        if value is not None and which != owner:
            raise UsageError(name, value, f"belongs to {owner}, not to {which}", f"drop --{name}")
    if out is not None:
        from statebound.experiments.plot import check_style

        check_style(style)
    given: dict[str, Any] = {"seed": seed, "weights": weights}
    if bits is not None:
        given["bits"] = number_list(bits, "bits")
    if quantiser is not None:
        given["quantisers"] = tuple(quantiser.split(","))
    if trials is not None:
        given["trials"] = trials
    if entries is not None:
        given["entries"] = number_list(entries, "entries")
    if which == "smollm":
        record, columns = _remembering(given, quiet=as_json), _SMOLLM
    else:
        record, columns = _measured(which, given, words, length, dictionary, text)
    if out is not None:
        from statebound.experiments.subjects.draw import draw

        record = record | {"figures": [str(path) for path in draw(record, out, style)]}
    if as_json:
        output.data(record, compact=True)
    else:
        sys.stdout.write(output.table(record["rows"], columns))
        for path in record.get("figures", ()):
            output.talk(f"wrote {path}")
        output.talk(_sentence(record))
    return 0


def _measured(
    which: str,
    given: dict[str, Any],
    words: int | None,
    length: int | None,
    dictionary: Path | None,
    text: Path | None,
) -> tuple[dict[str, Any], dict[str, str]]:
    if which == "g2p":
        from statebound.experiments.subjects.pronouncing import WORDS, pronouncing

        number = WORDS if words is None else words
        return pronouncing(number, entries=dictionary, **given), _G2P
    if which == "textgen":
        from statebound.experiments.subjects.predicting import LENGTH, predicting

        number = LENGTH if length is None else length
        return predicting(number, text=text, **given), _TEXTGEN
    raise UsageError("subject", which, "is not a known subject", "choose g2p, textgen or smollm")


def _remembering(given: dict[str, Any], *, quiet: bool) -> dict[str, Any]:
    from statebound.experiments.subjects.remembering import remembering

    progress = output.Progress(quiet=quiet)
    try:
        return remembering(told=progress, **given)
    finally:
        progress.close()


def _sentence(record: dict[str, Any]) -> str:
    if record["subject"] == "smollm":
        told = {(row["policy"], row["gap"]): row["bits_per_token"] for row in record["again"]}
        far = max(gap for name, gap in told if name == "full")
        return (
            f"smollm, {record['trials']} prompts of {record['names']} names, "
            f"{record['tokens']} tokens, {record['content_bits']:.0f} bits to know; a passage "
            f"that comes again after {far} tokens takes {told['full', far]:.2f} bits a token with "
            f"all kept, {record['fresh']['bits_per_token']:.2f} if it was never read"
        )
    whole = record["unquantised"]
    if record["subject"] == "g2p-en":
        return (
            f"g2p-en, {record['trials']} words, unquantised: phonemes "
            f"{whole['phoneme_accuracy']:.4f}, words {whole['word_accuracy']:.4f}; a word's "
            f"letters take {record['letters_bits']:.1f} bits"
        )
    return (
        f"textgenrnn, {record['characters']} characters, unquantised: "
        f"{whole['bits_per_character']:.4f} bits a character; the {record['lead']} characters "
        f"before the message take {record['lead_bits']} bits"
    )
