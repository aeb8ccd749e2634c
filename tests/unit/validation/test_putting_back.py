"""A run holds scrubs off, and puts everything back even without a listener; what it cannot put back it says."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from acceptance_fakes import FakeFleet, execute
from test_suite_runner import EFFORTS, OK, answers, measured, suite, with_check

from avadm_validation.measuring.runner import Runner
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.storage import run
from avadm_validation.suites.storage.guard import STOP

HELD = {
    "status": "HEALTH_WARN",
    "checks": {"OSDMAP_FLAGS": {"summary": {"message": "noscrub,nodeep-scrub flag(s) set"}}},
}


def test_scrubs_are_held_off_before_the_preconditions_want_quiet(tmp_path, monkeypatch):
    with_check(monkeypatch, measured)
    fleet = FakeFleet(answers(status={"health": HELD}))
    first, _ = execute(run, suite(tmp_path, fleet))
    assert first.verdict is Verdict.PASS, first.reasons
    commands = [c for _, c in fleet.ran]
    assert next(i for i, c in enumerate(commands) if "osd set" in c) < commands.index(
        "ceph status --format json"
    )


def test_a_running_scrub_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda s: None)
    with_check(monkeypatch, measured)
    states = iter(["active+clean+scrubbing+deep", "active+clean"])

    def status(node, command):
        return {
            "stdout": json.dumps(
                {**OK, "pgmap": {"pgs_by_state": [{"state_name": next(states), "count": 1}]}}
            )
        }

    first, _ = execute(run, suite(tmp_path, FakeFleet({**answers(), "ceph status": status})))
    assert first.verdict is Verdict.PASS, first.reasons


@pytest.mark.parametrize(
    "health",
    [
        {
            "status": "HEALTH_WARN",
            "checks": {**HELD["checks"], "OSD_NEARFULL": {"summary": {"message": "1 nearfull"}}},
        },
        {
            "status": "HEALTH_WARN",
            "checks": {"OSDMAP_FLAGS": {"summary": {"message": "noscrub,noout flag(s) set"}}},
        },
        {**HELD, "status": "HEALTH_ERR"},
    ],
    ids=["more", "other-flag", "error"],
)
def test_no_other_warning_is_tolerated(tmp_path, monkeypatch, health):
    with_check(monkeypatch, measured)
    monkeypatch.setattr(
        Runner, "efforts", lambda self, package: {c: {**p, "settle_s": 0} for c, p in EFFORTS.items()}
    )
    fleet = FakeFleet(answers(status={"health": health}))
    first, _ = execute(run, suite(tmp_path, fleet))
    assert first.verdict is Verdict.BLOCKED


def test_no_one_listening_stops_no_restoring(tmp_path, monkeypatch):
    with_check(monkeypatch, measured)
    fleet = FakeFleet(answers())

    def gone(step):  # what the command line does where the other end of `| tee` is gone
        if step.check == "A-BD6" or fleet.commands("osd set"):
            raise SystemExit(1)

    ran = suite(tmp_path, fleet)
    ran.progress = gone
    noted = {"rc": 0, "stdout": '{"run": "run1", "flags": ["noscrub"]}'}
    fleet.answers = {
        **fleet.answers,
        "config-key get": lambda n, c: noted if fleet.commands("osd set") else {"rc": 2},
    }
    with pytest.raises(SystemExit):
        execute(run, ran)
    assert fleet.commands("osd unset noscrub") and fleet.commands("images()")[-1].count("avadm-accept-run1")


def test_what_could_not_be_put_back_is_reported(tmp_path, monkeypatch, capsys):
    with_check(monkeypatch, measured)
    fleet = FakeFleet(answers(noted='{"run": "run1", "flags": ["noscrub"]}'))
    failing = {"osd unset": lambda n, c: {"rc": 1 if fleet.commands("osd set") else 0, "stderr": "no quorum"}}
    fleet.answers = {**failing, "images()": "image avadm-accept-run1-bench-c1-0", **fleet.answers}
    ran = suite(tmp_path, fleet)
    execute(run, ran)
    assert any("noscrub" in text and "no quorum" in text for text in ran.left)
    assert any("image avadm-accept-run1-bench-c1-0 could not be taken away" in text for text in ran.left)
    assert "no quorum" in capsys.readouterr().err


def test_an_unreachable_mon_is_not_taken_for_no_note(tmp_path, monkeypatch):
    with_check(monkeypatch, measured)
    fleet = FakeFleet(answers())
    gone = {"rc": 255, "error": "unreachable"}
    fleet.answers = {
        **fleet.answers,
        "config-key get": lambda n, c: gone if fleet.commands("osd set") else {"rc": 2},
    }
    ran = suite(tmp_path, fleet)
    execute(run, ran)
    assert any("may still be set" in text for text in ran.left)


@pytest.fixture
def kills(tmp_path):
    """Return a function: run the guard's own script and return what it printed and every kill that it asked for."""

    def run(name, prefix="avadm-accept-"):
        noted = tmp_path / "kills"
        # In front of the shell's own kill, so that a wrong one harms no one here.
        fake = f'kill() {{ echo "$*" >> {noted}; command kill "$@"; }}\n'
        if not any(Path("/tmp").glob(f"{name}*/pid.[0-9]*")):
            fake = f'kill() {{ echo "$*" >> {noted}; }}\n'
        script = fake + STOP % {"name": name, "prefix": prefix}
        # As on a node, where no one waits for what was killed: it must not stay a zombie here.
        return subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True), noted

    return run


@pytest.mark.parametrize("left", [[], ["read.json"], ["pid.*", "pid.", "pid.1", "pid.0", "pid.x1"]])
def test_where_nothing_runs_no_one_is_killed_and_nothing_waited_for(kills, left):
    name = f"avadm-accept-none{os.getpid()}"
    folder = Path(f"/tmp/{name}")
    if left:
        folder.mkdir()
        for file in left:
            (folder / file).write_text("")
    begun = time.monotonic()
    script, noted = kills(name)
    assert script.communicate(timeout=30)[0] == ""
    assert time.monotonic() - begun < 5
    assert not noted.exists() and not folder.exists()


def test_what_a_killed_run_left_running_is_ended_and_nothing_else(kills):
    # The guard's own script, on a folder of this test; the name stands in the command line of what is ours.
    name = f"avadm-accept-test{os.getpid()}"
    folder = Path(f"/tmp/{name}")
    folder.mkdir()
    (folder / "work.py").write_text("import time\ntime.sleep(60)\n")
    line = f"echo $$ > {folder}/pid.$$; exec python3 {folder}/work.py"
    ours = subprocess.Popen(["sh", "-c", line], start_new_session=True)
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    (folder / f"pid.{other.pid}").write_text("")  # this pid is somebody else's by now
    try:
        until = time.monotonic() + 10
        while not (folder / f"pid.{ours.pid}").exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.3)
        done, noted = kills(name)
        assert ours.wait(15) != 0
        assert done.communicate(timeout=15)[0] == ""
        assert other.poll() is None and not folder.exists()
        assert set(noted.read_text().split("\n")) == {f"-s TERM -- -{ours.pid}", ""}
    finally:
        other.kill()
        other.wait()
