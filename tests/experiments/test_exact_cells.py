"""Quantised recurrent cells against values enumerated independently in float64."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.parity

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "exact_cells.json").read_text())
TASKS = {"index": ("index", 0), "neighbour_xor": ("istree", 2)}


def words(case, task, weights) -> list[str]:
    problem, more = TASKS[task]
    machine = GOLDEN["machines"][case["machine"]]
    return [
        *("measure", problem, "--n", str(case["n"] + more), "--model", machine["cell"]),
        *("--weights", str(weights), "--bits", str(case["bits"]), "--regime", case["regime"]),
        *("--quantiser", "uniform", "--encoding", "bits", "--dtype", "float64", "--json"),
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("weights")
    made = []
    for number, machine in enumerate(GOLDEN["machines"]):
        path = folder / f"{number}.json"
        path.write_text(json.dumps({"weights": machine["weights"]}))
        made.append(path)
    return made


def agrees(row, case, task) -> None:
    wanted = case[task]
    assert row["success"] == pytest.approx(wanted["success"], abs=1e-6)
    assert row["success_by_query"] == pytest.approx(wanted["success_by_query"], abs=1e-6)
    assert row["information_by_query"] == pytest.approx(wanted["information_by_query"], abs=1e-6)
    assert row["distinct_messages"] == case["index"]["distinct_messages"]
    assert row["message_entropy"] == pytest.approx(case["index"]["message_entropy"], abs=1e-6)
    assert row["violates_wall"] is False
    assert row["trials"] == 2 ** case["n"]


def test_all_are_there():
    assert len(GOLDEN["cases"]) == 72
    regimes = {(c["machine"], c["bits"], c["regime"], c["n"]) for c in GOLDEN["cases"]}
    assert len(regimes) == 72


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "case", GOLDEN["cases"], ids=lambda c: "-".join(map(str, [*c.values()][:4]))
)
def test_reproduced(cli, files, case, task):
    outcome = cli(*words(case, task, files[case["machine"]]))
    assert outcome.code == 0
    assert outcome.err == ""
    agrees(outcome.row, case, task)


@pytest.mark.slow
@pytest.mark.parametrize("number", [5, 40])
@pytest.mark.parametrize("task", TASKS)
def test_reproduced_by_a_process(files, number, task):
    case = GOLDEN["cases"][number]
    command = [sys.executable, "-m", "statebound", *words(case, task, files[case["machine"]])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    agrees(json.loads(done.stdout), case, task)
