"""avadm_daemon: what makes it start, restart or reload a daemon."""

import os
import time

import pytest
from ansible.module_utils import avadm_daemon as module


class Systemd:
    """Answers systemctl for one unit, and records its calls."""

    def __init__(
        self,
        active="active",
        enabled="enabled",
        age=100.0,
        load="loaded",
        fails="",
        limited=False,
        dropins="",
    ):
        self.active, self.enabled, self.load, self.fails = active, enabled, load, fails
        self.started, self.calls, self.limited = module.monotonic() - age, [], limited
        self.dropins = dropins

    def __call__(self, argv):
        if argv[0] == "journalctl":
            return 0, "bad flag\n", ""
        if argv[1] == "show":
            return 0, (
                f"LoadState={self.load}\nActiveState={self.active}\nUnitFileState={self.enabled}\n"
                f"NeedDaemonReload=no\nDropInPaths={self.dropins}\nExecMainStartTimestampMonotonic={int(self.started * 1e6)}\n"
            ), ""  # fmt: skip
        self.calls.append(argv[1])
        if argv[1] == "daemon-reload" and self.load == "error":
            self.load = "loaded"
        if argv[1] == "reset-failed":
            self.limited = False
        if self.limited:
            return 1, "", "Job for x.service failed because start of the service was attempted too often."
        return (1, "", "failed") if argv[1] == self.fails else (0, "", "")


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


FILE = ["/etc/x.conf"]
NEEDED = {
    "it runs with its files": (200, {}, FILE, FILE, [], []),
    "a newer file": (0, {}, FILE, [], FILE, ["restart"]),
    "a restart makes a reload needless": (0, {}, FILE, FILE, FILE, ["restart"]),
    "a file in a folder": (0, {}, [], ["/etc"], ["/etc"], ["reload"]),
    "it dies again and again": (50, {"active": "activating", "fails": "reload"}, [], FILE, FILE, ["restart"]),
    "it is stopped": (0, {"active": "inactive", "enabled": "disabled"}, FILE, [], [], ["enable", "start"]),
}


@pytest.mark.parametrize("case", NEEDED)
def test_what_is_needed_is_done_and_nothing_else(tmp_path, conf, monkeypatch, case):
    since, state, restart, reload, because, report = NEEDED[case]
    age(conf, since, monkeypatch)
    systemd = Systemd(**state)
    unit = daemon(systemd, tmp_path)
    assert unit.ensure(restart, reload) == because
    assert (systemd.calls, bool(unit.actions)) == (report, bool(report))


@pytest.mark.parametrize("written", [0, 200], ids=["just now", "by a run that ended half-way"])
@pytest.mark.parametrize(
    ("exists", "known", "verbs"),
    [
        pytest.param(True, False, ["daemon-reload", "restart"], id="new"),
        pytest.param(False, True, ["daemon-reload", "restart"], id="gone"),
        pytest.param(False, False, [], id="never there"),
    ],
)
def test_a_drop_in_that_systemd_has_not_read_is_read_and_the_daemon_started_with_it(
    tmp_path, monkeypatch, exists, known, verbs, written
):
    path = "/etc/systemd/system/x.service.d/proxy.conf"
    (tmp_path / path[1:]).parent.mkdir(parents=True)
    if exists:
        (tmp_path / path[1:]).write_text("[Service]")
        age(tmp_path / path[1:], written, monkeypatch)
    systemd = Systemd(dropins=f"/lib/systemd/system/x.service.d/a.conf {path if known else ''}")
    assert daemon(systemd, tmp_path).ensure([path], []) == ([path] if verbs else [])
    assert systemd.calls == verbs


def test_a_newer_file_reloads_once(tmp_path, conf, monkeypatch):
    age(conf, 50, monkeypatch)
    systemd = Systemd()
    daemon(systemd, tmp_path).ensure([], FILE)
    daemon(systemd, tmp_path).ensure([], FILE)
    assert systemd.calls == ["reload"]


def test_a_reload_that_failed_is_tried_again(tmp_path, conf, monkeypatch):
    age(conf, 50, monkeypatch)
    systemd = Systemd(fails="reload")
    with pytest.raises(module.DaemonError, match="bad flag"):
        daemon(systemd, tmp_path).ensure([], FILE)
    systemd.fails = ""
    daemon(systemd, tmp_path).ensure([], FILE)
    assert systemd.calls == ["reload", "reload"]


@pytest.mark.parametrize(
    ("state", "verb"), [("failed", "start"), ("inactive", "start"), ("active", "restart")]
)
def test_a_daemon_that_was_started_too_often_gets_another_try(tmp_path, conf, state, verb):
    systemd = Systemd(active=state, limited=True)
    daemon(systemd, tmp_path).ensure(FILE, [])
    assert systemd.calls == [verb, "reset-failed", verb]


def test_another_failure_to_start_is_reported_at_once(tmp_path):
    systemd = Systemd(active="failed", fails="start")
    with pytest.raises(module.DaemonError, match="bad flag"):
        daemon(systemd, tmp_path).ensure([], [])
    assert systemd.calls == ["start"]


@pytest.mark.parametrize(
    ("state", "expected_calls"),
    [
        ({}, ["stop", "disable"]),
        ({"active": "activating", "enabled": "static"}, ["stop"]),
        ({"active": "inactive", "enabled": "disabled"}, []),
        ({"active": "inactive", "enabled": "", "load": "not-found"}, []),
    ],
)
def test_what_is_to_stand_still_is_stopped_for_good(tmp_path, state, expected_calls):
    systemd = Systemd(**state)
    daemon(systemd, tmp_path).stop()
    assert systemd.calls == expected_calls


def test_settings_are_written_once_and_restart(tmp_path):
    path = "/etc/systemd/system/x.service.d/avadm.conf"
    systemd = Systemd(dropins=path)
    daemon(systemd, tmp_path).ensure([], [], "[Service]\nRestart=always\n")
    assert systemd.calls == ["daemon-reload", "restart"]
    written = (tmp_path / "etc/systemd/system/x.service.d/avadm.conf").read_text()
    assert written == "[Service]\nRestart=always\n"
    again = Systemd(age=-1, dropins=path)
    daemon(again, tmp_path).ensure([], [], "[Service]\nRestart=always")
    assert again.calls == []


@pytest.mark.parametrize("restart_on", [["/etc/x.conf"], []], ids=["a newer file", "the settings alone"])
def test_check_mode_says_and_does_nothing(tmp_path, conf, restart_on):
    systemd = Systemd()
    unit = daemon(systemd, tmp_path, check_mode=True)
    unit.ensure(restart_on, [], "[Service]\n")
    assert unit.actions == ["settings", "restart"]
    assert systemd.calls == []
    assert not (tmp_path / "etc/systemd").exists()


def test_a_missing_unit_is_named(tmp_path):
    with pytest.raises(module.DaemonError, match=r"no unit x\.service"):
        daemon(Systemd(load="not-found"), tmp_path).ensure([], [])


def test_a_unit_whose_file_came_back_is_loaded_again_before_its_start(tmp_path):
    systemd = Systemd(active="failed", load="error")
    daemon(systemd, tmp_path).ensure([], [])
    assert systemd.calls == ["daemon-reload", "start"]


def test_a_daemon_that_does_not_answer_is_an_error_with_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "answers", lambda url, tls: "refused")
    clock = iter(range(100))
    with pytest.raises(module.DaemonError, match=r"refused.*bad flag"):
        daemon(Systemd(), tmp_path).await_ready("http://n/", 5, sleep=bool, clock=lambda: next(clock))


def test_waiting_ends_when_it_answers(tmp_path, monkeypatch):
    answers = iter(["refused", "status 503", None])
    monkeypatch.setattr(module, "answers", lambda url, tls: next(answers))
    daemon(Systemd(), tmp_path).await_ready("http://n/", 5, sleep=lambda s: None)
