"""`avadm doctor`: what it asks, prints and exits with, over nodes that are made up."""

from __future__ import annotations

import json
import sys

import pytest

from avadm.cli import main
from avadm.doctor import collect as collecting
from avadm.runner.fleet import Result
from tests.unit.doctor.healthy import NODES, data, snapshot

SITE = """
name: base
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: lab.internal}
time: {servers: [ntp.example.com]}
nodes: [{name: cpu01, address: 10.0.0.1}, {name: cpu02, address: 10.0.0.2}]
"""


@pytest.fixture
def avadm(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("avadm.runner.keyfile.usable", lambda path: None)
    (tmp_path / "site.yml").write_text(SITE)

    def run(*arguments):
        monkeypatch.setattr(
            sys, "argv", ["avadm", "--site", str(tmp_path / "site.yml"), "doctor", *arguments]
        )
        with pytest.raises(SystemExit) as ended:
            main.main()
        told = capsys.readouterr()
        return ended.value.code, told.out, told.err

    return run


def saved(path, changed):
    path.write_text(snapshot(changed).as_json())
    return str(path)


def test_a_healthy_snapshot_is_good(avadm, tmp_path):
    code, out, _ = avadm(saved(tmp_path / "s.json", data()))
    assert code == 0
    assert "0 bad, 0 to watch, 0 not known" in out


def test_json_has_the_promised_fields_and_a_bad_thing_exits_1(avadm, tmp_path):
    changed = data()
    changed["nodes"]["comp2"]["parts"]["gpu"]["uvm"] = False
    code, out, _ = avadm(saved(tmp_path / "s.json", changed), "--json")
    rows = json.loads(out)["checks"]
    assert code == 1
    assert {tuple(r) for r in rows} == {("id", "status", "where", "evidence", "remedy", "requirement")}
    (row,) = [r for r in rows if r["status"] != "ok"]
    assert (row["id"], row["status"], row["where"], row["requirement"]) == ("gpu-uvm", "bad", "comp2", "K8")
    assert "avadm-nvidia-uvm" in row["remedy"]


def test_a_warning_alone_exits_0_and_what_is_not_known_2(avadm, tmp_path):
    changed = data()
    changed["nodes"]["mast1"]["parts"]["haproxy"]["client"] = 60
    assert avadm(saved(tmp_path / "s.json", changed))[0] == 0
    del changed["nodes"]["mast1"]["parts"]["memory"]
    code, out, _ = avadm(saved(tmp_path / "s.json", changed))
    assert code == 2
    assert "? memory" in out


def test_the_same_trouble_of_many_nodes_is_told_once(avadm, tmp_path):
    changed = data()
    for name in ("comp1", "comp2"):
        changed["nodes"][name]["parts"]["cni"]["there"] = []
    _, out, _ = avadm(saved(tmp_path / "s.json", changed))
    assert out.count("✗ cni-plugins") == 1
    assert "comp1-2" in out
    assert "do  `avadm apply nodes` puts plug-ins and configuration there again.\n" in out


def test_a_silent_node_is_told_once(avadm, tmp_path):
    changed = data()
    changed["nodes"]["comp2"] |= {"silent": "No route to host", "parts": {}, "clock": None}
    code, out, _ = avadm(saved(tmp_path / "s.json", changed))
    assert code == 1
    assert out.count("No route to host") == 2  # as a trouble, and as why the checks could not look


def test_only_a_topic_or_a_check(avadm, tmp_path):
    path = saved(tmp_path / "s.json", data())
    rows = json.loads(avadm(path, "--json", "--only", "gpu")[1])["checks"]
    assert {r["id"] for r in rows} == {"gpu-uvm", "gpu-devices", "gpu-memory", "gpu-allocatable"}
    code, _, err = avadm(path, "--only", "gpu-uvn")
    assert code == 2
    assert "gpu-uvm" in err


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"not json", b'{"taken": 1, "format": 99, "site": {"name": "a", "nodes": []}, "nodes": {}}'],
)
@pytest.mark.parametrize("name", ["s.json", "s.tar.gz"])
def test_what_is_no_bundle_is_said(avadm, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    code, _, err = avadm(str(tmp_path / name))
    assert code == 2
    assert "bundle" in err or "snapshot" in err


def answering(monkeypatch, silent=()):
    commands = []

    class Fleet:
        def run(self, node, command, *, timeout=60.0, stdin=None):
            commands.append((node, command, stdin))
            if node in silent:
                return Result(node, command, 255, "", "", 0.0, 0.0, "No route to host")
            if stdin is None:
                return Result(node, command, 0, "100.0\n", "", 100.0, 0.0)
            given = json.loads(json.loads(stdin.decode().partition("\n")[0].partition(" = ")[2]))
            parts = {name: data()["nodes"]["comp2"]["parts"].get(name) for name in given["parts"]}
            said = json.dumps({"parts": parts, "errors": {}})
            return Result(node, command, 0, f"100.0\n{said}\n100.1\n", "", 100.0, 0.1)

        def close(self, nodes=None):
            pass

    monkeypatch.setattr("avadm.cli.main.App.fleet", lambda self: Fleet())
    return commands


def test_every_node_is_asked_once_for_what_its_checks_need(avadm, monkeypatch):
    commands = answering(monkeypatch)
    code, out, _ = avadm("--json", "--only", "memory")
    assert code == 0, out
    assert sorted(node for node, _, stdin in commands if stdin) == ["cpu01", "cpu02"]
    given = [
        json.loads(json.loads(s.decode().partition("\n")[0].partition(" = ")[2])) for _, _, s in commands if s
    ]
    assert [g["parts"] for g in given] == [{"memory": 40}] * 2


def test_where_no_node_answers_it_could_not_look(avadm, monkeypatch):
    answering(monkeypatch, silent=("cpu01", "cpu02"))
    code, out, _ = avadm("--json")
    assert code == 2
    assert {r["status"] for r in json.loads(out)["checks"] if r["id"] == "node-reached"} == {"bad"}


def test_an_answer_that_is_no_answer_is_silence():
    result = Result("a", "", 127, "", "python3: not found", 0.0, 0.0)
    assert "python3: not found" in collecting.answer(result).silent


def test_the_healthy_site_has_nodes_of_every_role_that_is_asked():
    from avadm.doctor.parts import QUESTIONS

    held = {role for row in NODES.values() for role in row[1]}
    assert [q.name for q in QUESTIONS if q.duties and not held & set(q.duties)] == []
