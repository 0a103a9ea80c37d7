"""The collide verb: certificates found, written, checked, and forged ones refused."""

from __future__ import annotations

import json

import pytest

GRU = ["index", "--n", "12", "--model", "gru"]


@pytest.fixture
def certificate(cli, tmp_path):
    path = tmp_path / "c.json"
    done = cli("collide", *GRU, "--out", str(path), "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["certificate"] == json.loads(path.read_text())
    assert found["exhausted"] is True
    assert found["encodings"] == 2**12
    return path


def test_a_certificate_is_valid(cli, certificate):
    held = json.loads(certificate.read_text())
    assert held["x1"] != held["x2"]
    assert held["answers"][0] != held["answers"][1]
    k = held["query"] - 1
    assert [int(held["x1"][k]), int(held["x2"][k])] == held["answers"]
    done = cli("collide", "--verify", str(certificate), "--json")
    assert (done.code, json.loads(done.out)) == (0, {"valid": True, "faults": []})


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"x1": "000000000000"}, "message of x1"),
        ({"message": "00"}, "message"),
        ({"answers": [0, 0]}, "answers"),
        ({"query": 13}, "query"),
        ({"state_bits": 9}, "size"),
    ],
)
def test_a_forged_certificate_is_refused(cli, certificate, change, fault):
    held = json.loads(certificate.read_text()) | change
    certificate.write_text(json.dumps(held))
    done = cli("collide", "--verify", str(certificate))
    assert done.code == 1
    assert fault in done.out


def test_a_certificate_for_another_machine_is_refused(cli, certificate):
    held = json.loads(certificate.read_text())
    held["request"]["machine_seed"] = 1
    certificate.write_text(json.dumps(held))
    done = cli("collide", "--verify", str(certificate))
    assert done.code == 1
    assert "protocol is another one" in done.out


def test_where_there_is_no_collision_that_is_said(cli):
    done = cli("collide", "index", "--n", "6", "--model", "sliding_window", "--numbers", "6")
    assert done.code == 0
    assert json.loads(done.out)["certificate"] is None
    assert "there is none" in done.err


@pytest.mark.parametrize(
    "arguments",
    [[], ["index", "--model", "gru"], ["--verify", "/no/such/file"], [*GRU, "--method", "guess"]],
)
def test_requests_without_meaning(cli, arguments):
    done = cli("collide", *arguments)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert not done.out


@pytest.mark.slow
def test_two_contexts_that_a_forty_bit_state_cannot_tell_apart(cli, tmp_path):
    path = tmp_path / "c.json"
    arguments = ["--n", "64", "--model", "gru", "--bits", "5", "--quantiser", "uniform"]
    done = cli("collide", "index", *arguments, "--out", str(path))
    assert done.code == 0
    held = json.loads(path.read_text())
    assert held["state_bits"] == 40
    assert len(held["x1"]) == len(held["x2"]) == 64
    assert cli("collide", "--verify", str(path)).code == 0


def test_limits_with_the_matrix_and_as_a_figure(cli, tmp_path):
    done = cli("limits", "istree", "--n", "8", "--state-bits", "2", "--matrix", "--json")
    record = json.loads(done.out)
    assert record["matrix"]["one_way_deterministic"] == record["effective_n"] == 5
    assert record["matrix"]["ball_fraction"] == record["ball_fraction"]
    done = cli("limits", "index", "--n", "7", "--out", str(tmp_path / "fig"), "--json")
    assert done.code == 0
    assert json.loads(done.out)["figures"] == [
        str(tmp_path / f"fig.{kind}") for kind in ("png", "svg")
    ]
    assert (tmp_path / "fig.png").read_bytes().startswith(b"\x89PNG")
    assert cli("limits", "index", "--n", "7").code == 2
