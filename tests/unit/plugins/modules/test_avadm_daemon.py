"""avadm_daemon: what makes it start, restart or reload a daemon."""

import importlib.util
import os
import time
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[4] / "plugins/modules/avadm_daemon.py"
spec = importlib.util.spec_from_file_location("avadm_daemon", SOURCE)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


class Systemd:
    """Answers systemctl for one unit, and remembers what it was told."""

    def __init__(self, active="active", enabled="enabled", age=100.0, load="loaded"):
        self.active, self.enabled, self.load = active, enabled, load
        self.started = module.monotonic() - age
        self.told = []
        self.fails = ()
        self.limited = False

    def __call__(self, argv):
        if argv[0] == "journalctl":
            return 0, "bad flag\n", ""
        if argv[1] == "show":
            return 0, (
                f"LoadState={self.load}\nActiveState={self.active}\nUnitFileState={self.enabled}\n"
                f"NeedDaemonReload=no\nExecMainStartTimestampMonotonic={int(self.started * 1e6)}\n"
            ), ""  # fmt: skip
        self.told.append(argv[1])
        if argv[1] == "daemon-reload" and self.load == "error":
            self.load = "loaded"
        if argv[1] == "reset-failed":
            self.limited = False
        if self.limited:
            return 1, "", "Job for x.service failed because start of the service was attempted too often."
        return (1, "", "failed") if argv[1] in self.fails else (0, "", "")


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "etc/x.conf"
    path.parent.mkdir()
    path.write_text("x")
    return path


def daemon(systemd, root, **more):
    return module.Daemon("x", systemd, root=str(root), **more)


def age(path, seconds, monkeypatch):
    """Make a file look changed that long ago (a file's ctime cannot be set)."""
    when = time.time() - seconds
    real = os.stat

    def stat(name, *rest, **kw):
        found = real(name, *rest, **kw)
        if str(name) != str(path):
            return found
        fields = list(found)
        fields[8] = fields[9] = when
        return os.stat_result(fields)

    monkeypatch.setattr(module.os, "stat", stat)


def test_a_daemon_that_runs_with_its_files_is_left_alone(tmp_path, conf, monkeypatch):
    age(conf, 200, monkeypatch)
    systemd = Systemd(age=100)
    unit = daemon(systemd, tmp_path)
    assert unit.ensure(["/etc/x.conf"], ["/etc/x.conf"]) == []
    assert (systemd.told, unit.actions) == ([], [])


def test_a_newer_file_restarts(tmp_path, conf):
    systemd = Systemd(age=100)
    assert daemon(systemd, tmp_path).ensure(["/etc/x.conf"], []) == ["/etc/x.conf"]
    assert systemd.told == ["restart"]


def test_a_newer_file_reloads_once(tmp_path, conf, monkeypatch):
    age(conf, 50, monkeypatch)
    systemd = Systemd(age=100)
    daemon(systemd, tmp_path).ensure([], ["/etc/x.conf"])
    daemon(systemd, tmp_path).ensure([], ["/etc/x.conf"])
    assert systemd.told == ["reload"]


def test_a_reload_that_failed_is_tried_again(tmp_path, conf, monkeypatch):
    age(conf, 50, monkeypatch)
    systemd = Systemd(age=100)
    systemd.fails = ("reload",)
    with pytest.raises(module.DaemonError, match="bad flag"):
        daemon(systemd, tmp_path).ensure([], ["/etc/x.conf"])
    systemd.fails = ()
    daemon(systemd, tmp_path).ensure([], ["/etc/x.conf"])
    assert systemd.told == ["reload", "reload"]


def test_what_dies_again_and_again_is_restarted_instead_of_reloaded(tmp_path, conf, monkeypatch):
    age(conf, 50, monkeypatch)
    systemd = Systemd(active="activating", age=100)
    systemd.fails = ("reload",)
    assert daemon(systemd, tmp_path).ensure([], ["/etc/x.conf"]) == ["/etc/x.conf"]
    assert systemd.told == ["restart"]


def test_a_restart_makes_a_reload_needless(tmp_path, conf):
    systemd = Systemd(age=100)
    daemon(systemd, tmp_path).ensure(["/etc/x.conf"], ["/etc/x.conf"])
    assert systemd.told == ["restart"]


def test_a_file_in_a_folder_counts(tmp_path, conf):
    systemd = Systemd(age=100)
    assert daemon(systemd, tmp_path).ensure([], ["/etc"]) == ["/etc"]


@pytest.mark.parametrize(
    ("state", "verb"), [("failed", "start"), ("inactive", "start"), ("active", "restart")]
)
def test_a_daemon_that_was_started_too_often_gets_another_try(tmp_path, conf, state, verb):
    systemd = Systemd(active=state, age=100)
    systemd.limited = True
    daemon(systemd, tmp_path).ensure(["/etc/x.conf"], [])
    assert systemd.told == [verb, "reset-failed", verb]


def test_another_failure_to_start_is_told_at_once(tmp_path):
    systemd = Systemd(active="failed")
    systemd.fails = ("start",)
    with pytest.raises(module.DaemonError, match="bad flag"):
        daemon(systemd, tmp_path).ensure([], [])
    assert systemd.told == ["start"]


def test_a_stopped_daemon_is_enabled_and_started(tmp_path, conf):
    systemd = Systemd(active="inactive", enabled="disabled")
    unit = daemon(systemd, tmp_path)
    unit.ensure(["/etc/x.conf"], [])
    assert systemd.told == ["enable", "start"]


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({}, ["stop", "disable"]),
        ({"active": "activating", "enabled": "static"}, ["stop"]),
        ({"active": "inactive", "enabled": "disabled"}, []),
        ({"active": "inactive", "enabled": "", "load": "not-found"}, []),
    ],
)
def test_what_is_to_stand_still_is_stopped_for_good(tmp_path, state, told):
    systemd = Systemd(**state)
    daemon(systemd, tmp_path).stop()
    assert systemd.told == told


def test_settings_are_written_once_and_restart(tmp_path):
    systemd = Systemd(age=100)
    daemon(systemd, tmp_path).ensure([], [], "[Service]\nRestart=always\n")
    assert systemd.told == ["daemon-reload", "restart"]
    assert (
        tmp_path / "etc/systemd/system/x.service.d/avadm.conf"
    ).read_text() == "[Service]\nRestart=always\n"
    again = Systemd(age=-1)
    daemon(again, tmp_path).ensure([], [], "[Service]\nRestart=always")
    assert again.told == []


def test_check_mode_says_and_does_nothing(tmp_path, conf):
    systemd = Systemd(age=100)
    unit = daemon(systemd, tmp_path, check_mode=True)
    unit.ensure(["/etc/x.conf"], [], "[Service]\n")
    assert unit.actions == ["settings", "restart"]
    assert systemd.told == []
    assert not (tmp_path / "etc/systemd").exists()


def test_a_missing_unit_is_named(tmp_path):
    with pytest.raises(module.DaemonError, match=r"no unit x\.service"):
        daemon(Systemd(load="not-found"), tmp_path).ensure([], [])


def test_a_unit_whose_file_came_back_is_loaded_again_before_its_start(tmp_path):
    systemd = Systemd(active="failed", load="error")
    daemon(systemd, tmp_path).ensure([], [])
    assert systemd.told == ["daemon-reload", "start"]


def test_a_daemon_that_does_not_answer_is_an_error_with_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "answers", lambda url, tls: "refused")
    clock = iter(range(100))
    with pytest.raises(module.DaemonError, match=r"refused.*bad flag"):
        daemon(Systemd(), tmp_path).await_ready(
            "http://n/", 5, sleep=lambda s: None, clock=lambda: next(clock)
        )


def test_waiting_ends_when_it_answers(tmp_path, monkeypatch):
    answers = iter(["refused", "status 503", None])
    monkeypatch.setattr(module, "answers", lambda url, tls: next(answers))
    daemon(Systemd(), tmp_path).await_ready("http://n/", 5, sleep=lambda s: None)
