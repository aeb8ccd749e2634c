"""The ceph modules as programs, on a machine that has no ceph: dry runs, and what is stated where keys pass."""

import json
import pwd
import shutil

import pytest

from tests.unit.fakes import running

KEY = "AQBcorrectHorseBatteryStaple=="
POOL = {"name": "rbd", "pg_num": 32, "size": 2, "min_size": 1, "application": "rbd"}
RULE = {"name": "replicated_host", "failure_domain": "host"}
ENTITY = {"entity": "client.x", "key": KEY, "caps": {"mon": "allow r"}}

MODULES = {
    "auth": {"entities": [ENTITY]},
    "keyring": {"files": [{"path": "/nowhere/keyring", "entity": "mgr.a", "key": KEY, "owner": "no-ceph"}]},
    "mon_store": {"name": "a", "fsid": "F", "addresses": [], "keys": [ENTITY], "root": "/nowhere"},
    "pool": {"pools": [POOL], "rule": RULE},
    "fs": {"name": "cephfs", "metadata_pool": "m", "data_pool": "d"},
    "mgr_module": {"enabled": ["prometheus"]},
    "wait": {"until": "health", "osds": 3},
    "settings": {"config": {"mon": {"x": 1}}, "sockets": "/nowhere"},
    "osd": {"devices": [], "fsid": "F", "bootstrap_key": KEY},
}
WAITING = {"wait", "settings", "osd"}  # these have nothing to do there


def has_ceph():
    return shutil.which("ceph") or any(user.pw_name == "ceph" for user in pwd.getpwall())


pytestmark = pytest.mark.skipif(bool(has_ceph()), reason="this machine has ceph")


def module(name, /, check=True, **changes):
    given = {**MODULES[name], **changes, "_ansible_check_mode": check, "_ansible_verbosity": 3}
    return running.module(f"avadm_ceph_{name}", **given)


@pytest.mark.parametrize("name", MODULES)
def test_a_dry_run_on_a_machine_without_ceph_says_what_would_change(name):
    answer, reply = module(name)
    assert not answer.get("failed"), reply
    assert answer["changed"] is (name not in WAITING), reply


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("auth", "`ceph` cannot be run: No such file"),
        ("keyring", "Install the daemon's package first."),
        ("mon_store", "Install ceph-common first."),
    ],
)
def test_a_module_that_fails_says_why_and_shows_no_key(name, reason):
    """The tasks have no no_log of their own, so that this can be read; the result holds the arguments, masked."""
    answer, reply = module(name, check=False)
    assert answer["failed"]
    assert reason in answer["msg"]
    assert "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER" in str(answer["invocation"])
    assert KEY not in reply


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("auth", {"entities": [{"entity": "client.x", "key": KEY}]}),
        ("keyring", {"files": [{"path": "/nowhere/keyring", "key": KEY}]}),
        ("mon_store", {"keys": [{"entity": "mon.", "key": KEY}]}),
        ("osd", {"timeout": "soon"}),
        *((name, {"surprise": 1}) for name, given in MODULES.items() if KEY in json.dumps(given)),
    ],
)
def test_a_module_that_is_called_wrongly_shows_no_key(name, wrong):
    answer, reply = module(name, **wrong)
    assert answer["failed"], reply
    assert KEY not in reply


def test_a_wait_without_ceph_is_not_over_by_itself():
    answer, reply = module("wait", check=False, timeout=0)
    assert answer["failed"], reply
    assert "`ceph` cannot be run" in answer["msg"]
