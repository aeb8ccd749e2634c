"""The controller's half: it pushes what the node lacks by plain ssh, and nothing in a dry run."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleError

from tests.unit.fakes.roles import program

plugin = program("../plugins/action/avadm_artifact.py", "avadm_artifact_action")


class Connection:
    transport = "ssh"
    _shell = SimpleNamespace(tmpdir="/unused")

    def __init__(self, fails=""):
        self.puts, self.fails = [], fails

    def put_file(self, source, place):
        if self.fails:
            raise AnsibleError(self.fails)
        self.puts.append((source, place))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "prog"
    path.write_bytes(b"x")
    return {"artifact": {"path": str(path), "sha256": "0" * 64}, "path": "/usr/local/bin/prog"}


def action(monkeypatch, file, answers, connection, check_mode=False):
    task = SimpleNamespace(
        args={"files": [file]}, check_mode=check_mode, async_val=0, diff=False, environment=None
    )
    made = plugin.ActionModule(task, connection, SimpleNamespace(), None, None, None)
    asked = []

    def execute(module_args, task_vars):
        asked.append(module_args)
        return answers.pop(0)

    monkeypatch.setattr(made, "_execute_module", execute)
    monkeypatch.setattr(made, "_plain", lambda task_vars: connection)
    return made, asked


def test_what_the_node_has_is_not_pushed(monkeypatch, file):
    wire = Connection()
    made, asked = action(monkeypatch, file, [{"changed": False, "missing": {}}], wire)
    assert made.run(task_vars={"ansible_user": "ops"})["changed"] is False
    assert (wire.puts, asked[0]["login"]) == ([], "ops")


def test_what_it_lacks_is_pushed_and_then_put_in_place(monkeypatch, file):
    wire = Connection()
    answers = [{"changed": False, "missing": {file["path"]: "/in/0"}}, {"changed": True, "missing": {}}]
    made, asked = action(monkeypatch, file, answers, wire)
    assert made.run(task_vars={})["changed"] is True
    assert wire.puts == [(file["artifact"]["path"], "/in/0")]
    assert asked[1]["pushed"] == [file["path"]]


def test_a_dry_run_pushes_nothing(monkeypatch, file):
    wire = Connection()
    answers = [{"changed": True, "missing": {file["path"]: "/in/0"}}]
    made, _ = action(monkeypatch, file, answers, wire, check_mode=True)
    assert made.run(task_vars={})["changed"] is True
    assert wire.puts == []


@pytest.mark.parametrize("gone", [True, False], ids=["no file on the controller", "no space on the node"])
def test_a_push_that_fails_is_reported_as_it_is(monkeypatch, file, gone):
    if gone:
        Path(file["artifact"]["path"]).unlink()
    wire = Connection(fails="no space left")
    made, asked = action(monkeypatch, file, [{"missing": {file["path"]: "/in/0"}}], wire)
    reply = made.run(task_vars={})
    assert reply["failed"] is True
    assert ("is gone from the controller" if gone else "no space left") in reply["msg"]
    assert len(asked) == 1
