"""A task that keys pass through fails: the run tells why, and no file of it holds the key."""

import pwd
import sys
from pathlib import Path

import pytest
from rich.console import Console

from avadm.cli.progress import Model, Plain
from avadm.engine.recorder import Recorder
from avadm.remote.ansible import STRATEGY, AnsibleRunner, PlaybookRun
from avadm.remote.redact import Redactor
from avadm.state.run_folder import RunFolder
from tests.unit.fakes.running import sh

ROOT = Path(__file__).parents[4]
KEY = "AQBcorrectHorseBatteryStaple=="
REMEDY = "Remedy: install the package that makes this user or group."
PLAYBOOK = f"""
- hosts: all
  gather_facts: false
  vars: {{ceph_mgr_name: a, ceph_mgr_key: "{KEY}", ceph_mgr_packages: []}}
  tasks:
    - ansible.builtin.include_tasks: {ROOT}/roles/ceph_mgr/tasks/main.yml
"""
INVENTORY = (
    f"all: {{hosts: {{n1: {{ansible_connection: local, ansible_python_interpreter: {sys.executable}}}}}}}"
)

pytestmark = pytest.mark.skipif("ceph" in {user.pw_name for user in pwd.getpwall()}, reason="has a user ceph")


@pytest.fixture
def wanted(tmp_path):
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/hosts.yml").write_text(INVENTORY)
    (tmp_path / "p.yml").write_text(PLAYBOOK)
    return PlaybookRun("ceph", tmp_path / "p.yml", tmp_path / "inventory", ("n1",))


@pytest.mark.parametrize("strategy", ["linear", STRATEGY])
def test_no_file_of_the_run_holds_the_key_though_no_one_redacts_it(tmp_path, monkeypatch, wanted, strategy):
    monkeypatch.setenv("AVADM_STRATEGY", strategy)
    folder = RunFolder.create("apply", tmp_path / "runs")
    with Recorder(folder, Plain(Model({"ceph": ["n1"]}), Console(quiet=True))) as recorder:
        outcome = AnsibleRunner(Redactor()).run(wanted, recorder, lambda: False)
    assert outcome.rc == 2
    texts = [path.read_text() for path in folder.path.rglob("*") if path.is_file()]
    assert any(REMEDY in text for text in texts)
    assert not any(KEY in text for text in texts)


def test_ansible_at_its_most_talkative_shows_the_arguments_without_the_key(wanted):
    command = Path(sys.executable).with_name("ansible-playbook")
    done = sh(command, "-vvvv", "--diff", "-i", wanted.inventory, wanted.playbook, cwd=ROOT)
    assert done.returncode == 2
    assert "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER" in done.stdout
    assert KEY not in done.stdout + done.stderr
