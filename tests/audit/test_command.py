"""The command: what it takes, what it refuses, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from statebound.errors import StateboundError, UsageError
from statebound.experiments.audit import load
from statebound.experiments.audit.examine import audit
from statebound.experiments.audit.record import Audit
from statebound.experiments.audit.report import headline
from statebound.experiments.audit.subject import adapt

from . import subjects

HERE = Path(__file__).parent


def command(*arguments, cwd=HERE):
    return subprocess.run(
        [sys.executable, "-m", "statebound", "audit", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_report():
    done = command("subjects:StateInAnAttribute", "--no-survive")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("subjects:StateInAnAttribute: can be split, going on by steps")
    for said in ("hidden-state", "model.memory", "steps from the start", "live: 6 numbers"):
        assert said in done.stdout
    assert "\x1b" not in done.stdout


def test_a_record_and_exit_code_1():
    done = command("subjects:StateIgnored", "--json", "--seed", "3")
    assert done.returncode == 1
    assert done.stderr == (
        "error: subjects:StateIgnored cannot be split (state-not-consumed): the state of other "
        "tokens in its place changes no output: it is not used\n"
    )
    record = json.loads(done.stdout)
    assert list(record) == [field.name for field in fields(Audit)]
    assert (record["ok"], record["seed"], record["continue_with"]) == (False, 3, None)
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "is no folder, no .json file and no module:factory"),
        (["no_such_module:f"], "cannot be imported"),
        (["subjects:VOCABULARY"], "has no callable"),
        (["subjects:Honest", "--tokens", "3"], "must be in 12..4096"),
        (["subjects:Hider"], "return a transformers model"),
        (["subjects:fails"], "fails with ZeroDivisionError: in the factory (subjects.py, line"),
        (["subjects:takes"], "fails with TypeError: takes() missing 1 required"),
    ],
)
def test_what_is_refused(arguments, said):
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_module_that_fails_is_one_line(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "without.py").write_text("import torch.no_such_part\n")
    done = command("broken:f", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "cannot be imported (ZeroDivisionError: division by zero)" in done.stderr
    assert command("without:f", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (subjects.FreshFails, r"`fresh` failed with RuntimeError: no state \(subjects\.py, line"),
        (subjects.ReadsWords, "outputs are no numbers .* one row of numbers for each token"),
    ],
)
def test_code_that_fails_says_where(kind, said):
    with pytest.raises(StateboundError, match=said):
        audit(adapt(kind(), "subject"))


def test_a_vocabulary_may_be_a_number_of_numpy():
    assert adapt(subjects.CountsInNumpy(), "subject").vocabulary == subjects.VOCABULARY


def test_a_subject_that_grows_is_told_in_a_sentence():
    found = audit(adapt(subjects.GrowingCache(), "subject"))
    assert "; its state grows with n, " in headline(found)


def folder(tmp_path, config="{}", **files):
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    for name, content in files.items():
        (tmp_path / name.replace("__", ".")).write_bytes(content)
    return str(tmp_path)


def test_pickled_weights_are_never_read(tmp_path):
    with pytest.raises(UsageError, match=r"pytorch_model\.bin\), which are never read; save"):
        load.load(folder(tmp_path, pytorch_model__bin=b"cos\nsystem\n(S'false'\ntR."))
    (tmp_path / "config.json").unlink()
    with pytest.raises(UsageError, match=r"holds no config\.json"):
        load.load(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 10_000, "is not JSON"),
        ("[1]", "has no model_type"),
        ('{"model_type": 3}', "has no model_type"),
        ('{"model_type": "x", "auto_map": {"AutoModel": "evil.Model"}}', "is not run"),
    ],
)
def test_damaged_configurations(tmp_path, text, said):
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        load.load(str(path))
    save_file({"a": np.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(UsageError, match=said):
        load.load(str(tmp_path))


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama"}', encoding="utf-8")
    monkeypatch.setattr(load.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StateboundError, match=r"needs torch.*pip install 'statebound\[audit\]'"):
        load.load(str(path))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "needs_it.py").write_text("raise ModuleNotFoundError('no', name='torch')\n")
    with pytest.raises(StateboundError, match=r"needs torch.*pip install 'statebound\[audit\]'"):
        load.load("needs_it:f")
