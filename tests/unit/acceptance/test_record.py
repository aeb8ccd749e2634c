import json

import pytest

from avadm.cli.runs import overview
from avadm.state.run_folder import RunFolder
from avadm_acceptance.record import AcceptanceRecord
from avadm_validation.measuring.context import Progress
from avadm_validation.protocol.model import CheckResult, Command, Verdict


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create("accept", tmp_path)


def result(verdict=Verdict.PASS, rc=0):
    command = Command(node="comp1", command="fio", started=1.0, seconds=2.0, rc=rc)
    about = {"id": "A-FS1", "title": "t", "class_": "lab", "reasons": ["because"], "seconds": 3.0}
    return CheckResult(verdict=verdict, commands=[command], **about)


def test_an_acceptance_run_has_the_files_of_every_run(folder):
    record = AcceptanceRecord(folder, "room1")
    record.step(Progress("A-FS1", "create"))
    record.done(result(Verdict.FAIL))
    record.finish(None)
    names = {"events.jsonl", "log.txt", "ledger.json", "summary.json"}
    assert {p.name for p in folder.path.iterdir()} == names
    assert all(p.stat().st_mode & 0o077 == 0 for p in folder.path.iterdir())
    kinds = [e.kind.value for e in folder.events()]
    assert kinds == ["phase_start", "task_start", "stats", "log", "phase_end"]
    assert folder.read_json("ledger.json")["checks"]["A-FS1"]["verdict"] == "FAIL"
    assert "because" in folder.log.read_text()


def test_the_summary_counts_commands_by_host_and_names_those_that_did_not_run(folder):
    record = AcceptanceRecord(folder, "room1")
    record.done(result())
    record.done(result(rc=255).model_copy(update={"id": "A-FS2"}))
    record.finish(None)
    hosts = json.loads((folder.path / "summary.json").read_text())["hosts"]
    assert (hosts["comp1"]["ok"], hosts["comp1"]["failed"]) == (1, 1)


def test_a_stopped_run_is_no_good_one(folder):
    AcceptanceRecord(folder, "room1").finish(None)
    assert overview(folder)["result"] == "canceled"
    assert overview(folder)["site"] == "room1"


def test_the_way_on_is_the_command_with_its_site(folder):
    AcceptanceRecord(folder, "room1", "avadm --site x.yml accept run").finish(None)
    assert folder.read_json("summary.json")["next"] == "avadm --site x.yml accept run"
