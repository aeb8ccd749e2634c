"""The adapter against the real ansible-playbook, on this machine only (connection local)."""

import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from avadm.cli.progress import Model, Plain
from avadm.engine.recorder import Recorder
from avadm.remote import ansible
from avadm.remote.ansible import AnsibleRunner, PlaybookRun
from avadm.remote.events import Event, Kind
from avadm.remote.redact import Redactor
from avadm.state.run_folder import RunFolder
from tests.unit.fakes.errors import refused

SECRET = "correct-horse-battery"

HOST = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
INVENTORY = {"all": {"vars": HOST, "hosts": {"n1": {}, "n2": {}, "n3": {}}}}


def request(tmp_path, *tasks, hosts="n1", limit=("n1",), text=""):
    """Return a run of a playbook of these tasks, or of a text."""
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "hosts.yml").write_text(json.dumps(INVENTORY))
    play = {"hosts": hosts, "gather_facts": False, "tasks": tasks}
    (tmp_path / "p.yml").write_text(text or json.dumps([play]))
    return PlaybookRun("base", tmp_path / "p.yml", tmp_path / "inventory", limit)


def run(wanted, on_event=None, canceled=lambda: False, secrets=()):
    """Return what came of a run, and its events."""
    events = []
    return AnsibleRunner(Redactor(secrets)).run(wanted, on_event or events.append, canceled), events


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AVADM_STRATEGY", "linear")


def private_folders() -> set[Path]:
    return set(ansible.private_root().glob(f"avadm-run-{os.getpid()}-*"))


def running(marker: str) -> bool:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes())
    return any(f"sleep\0{marker}".encode() in c for c in found)


def wait_until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.time() + seconds
    while not true():
        assert time.time() < end, "waited in vain"
        time.sleep(0.2)


def test_a_playbook_runs_with_limit_vault_and_redacted_events(tmp_path):
    from ansible.parsing.vault import VaultLib, VaultSecret

    fails = {"msg": "it was {{ vault_x }}"}
    leak = {"name": "Leak", "ansible.builtin.fail": fails, "when": "inventory_hostname == 'n2'"}
    prove = {"name": "Prove", "ansible.builtin.assert": {"that": f"vault_x == '{SECRET}'"}}
    (tmp_path / "pass").write_text("pw\n")
    vault = VaultLib([("default", VaultSecret(b"pw"))])
    (tmp_path / "vault.yml").write_bytes(vault.encrypt(f"vault_x: {SECRET}\n".encode()))
    wanted = request(tmp_path, leak, prove, hosts="all", limit=("n1", "n2"))
    wanted = replace(wanted, vault=tmp_path / "vault.yml", vault_password=tmp_path / "pass")
    before = private_folders()
    outcome, events = run(wanted, secrets=[SECRET])
    assert outcome.rc == 2
    results = {(e.host, e.task): e for e in events if e.kind in (Kind.OK, Kind.FAILED)}
    assert results["n2", "Leak"].message == "it was ***"
    assert results["n1", "Prove"].kind is Kind.OK
    (stats,) = [e.stats for e in events if e.kind is Kind.STATS]
    assert set(stats) == {"n1", "n2"}
    assert SECRET not in repr(events)
    # ansible-runner's own files, which no one redacts, are gone.
    assert private_folders() == before


def test_bytes_that_are_no_utf_8_do_not_stop_a_run(tmp_path):
    wanted = request(tmp_path, {"ansible.builtin.shell": "printf 'caf\\351' >&2; exit 1"})
    folder = RunFolder.create("apply", tmp_path / "runs")
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    with Recorder(folder, Plain(Model({"base": ["n1"]}), console)) as recorder:
        outcome, _ = run(wanted, recorder)
        folder.write_json("summary.json", recorder.summary.as_dict())
    assert outcome.rc == 2
    assert [e.stderr for e in folder.events() if e.kind is Kind.FAILED] == ["caf?"]


def test_the_users_own_settings_of_ansible_reach_no_playbook(tmp_path, monkeypatch):
    planted = {
        "ANSIBLE_SSH_ARGS": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null",
        "ANSIBLE_SSH_COMMON_ARGS": "-o StrictHostKeyChecking=no",
        "ANSIBLE_HOST_KEY_CHECKING": "False",
        "ANSIBLE_LOG_PATH": str(tmp_path / "unredacted.log"),
        "ANSIBLE_CACHE_PLUGIN": "yaml",
        "ANSIBLE_CALLBACK_PLUGINS": str(tmp_path / "planted"),
        "ANSIBLE_STDOUT_CALLBACK": "minimal",
        "ANSIBLE_STRATEGY": "debug",
    }
    for name, value in planted.items():
        monkeypatch.setenv(name, value)
    wanted = request(tmp_path, {"ansible.builtin.shell": "env | grep ^ANSIBLE_ | sort; exit 1"})
    outcome, events = run(wanted)
    assert outcome.rc == 2
    (report,) = [e.stdout for e in events if e.kind is Kind.FAILED]
    seen = dict(line.split("=", 1) for line in report.splitlines())
    ours = ansible.environment(wanted, ansible.ansible_playbook())
    assert set(seen) == {n for n in ours if n.startswith("ANSIBLE_")} | set(ansible._RUNNERS)
    assert seen["ANSIBLE_HOST_KEY_CHECKING"] == "True"
    assert seen["ANSIBLE_STRATEGY"] == "linear"
    assert not planted.items() & seen.items()
    assert not (tmp_path / "unredacted.log").exists()


def test_a_playbook_that_cannot_be_read_says_so_in_a_log_event(tmp_path):
    outcome, events = run(request(tmp_path, text="- hosts: ["))
    assert outcome.rc not in (0, 2)
    assert "ERROR!" in "".join(e.message for e in events if e.kind is Kind.LOG)


def test_a_canceled_playbook_ends_at_once_with_its_children(tmp_path):
    marker = f"{300 + time.time() % 100:.6f}"
    stop = threading.Event()

    def on_event(event: Event) -> None:
        if event.kind is Kind.HOST_START:
            threading.Thread(target=lambda: wait_until(lambda: running(marker)) or stop.set()).start()

    started = time.time()
    wanted = request(tmp_path, {"ansible.builtin.command": f"sleep {marker}"})
    outcome, _ = run(wanted, on_event, stop.is_set)
    assert outcome.canceled
    assert time.time() - started < 20
    assert not running(marker)


def test_a_playbook_ends_with_us_even_if_we_are_killed(tmp_path):
    marker = f"{400 + time.time() % 100:.6f}"
    wanted = request(tmp_path, {"ansible.builtin.command": f"sleep {marker}"})
    code = (
        "from pathlib import Path; from avadm.remote.ansible import *;"
        f"AnsibleRunner(Redactor()).run(PlaybookRun('p', Path({str(wanted.playbook)!r}),"
        f"Path({str(wanted.inventory)!r}), ('n1',)), print, lambda: False)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    wait_until(lambda: running(marker))
    parent.kill()
    parent.wait()
    wait_until(lambda: not running(marker))
    # The next run clears away what the killed one could not.
    left = list(ansible.private_root().glob(f"avadm-run-{parent.pid}-*"))
    assert left
    ansible.sweep(ansible.private_root())
    assert not any(p.exists() for p in left)


def test_a_missing_ansible_is_a_finding(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert refused(AnsibleRunner, Redactor())[0].remedy


def test_the_environment_has_a_utf8_locale_pinned_keys_and_the_measured_strategy(monkeypatch, tmp_path):
    monkeypatch.delenv("AVADM_STRATEGY")
    run = PlaybookRun("p", tmp_path, tmp_path, ("a",), vault_password=tmp_path / "pw")
    env = ansible.environment(run, Path("/venv/bin/ansible-playbook"))
    assert env["LC_ALL"] == "C.UTF-8"
    assert env["ANSIBLE_HOST_KEY_CHECKING"] == "True"
    assert env["ANSIBLE_STRATEGY"] == "mitogen_linear"
    assert Path(env["ANSIBLE_STRATEGY_PLUGINS"], "mitogen_linear.py").is_file()
    assert env["ANSIBLE_VAULT_PASSWORD_FILE"] == str(tmp_path / "pw")
    assert env["PATH"].startswith("/venv/bin:")
