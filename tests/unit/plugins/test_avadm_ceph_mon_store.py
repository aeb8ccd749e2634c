"""avadm_ceph_mon_store: made once, whole or not at all."""

import json
import os
import pwd
import stat
from pathlib import Path

import avadm_ceph_mon_store as module
import pytest
from ansible.module_utils import avadm_bootstrap_mark as marks
from ansible.module_utils.avadm_ceph import CephError

USER = pwd.getpwuid(os.getuid())


class Tools:
    """monmaptool and ceph-mon; `fail` names the one that fails."""

    def __init__(self, fail=None, quorum=""):
        self.quorum = quorum
        self.fail, self.calls, self.keyring, self.mode = fail, [], "", None

    def __call__(self, argv, data=None):
        self.calls.append(argv)
        if argv[0] == self.fail:
            return 1, "", "it broke\n"
        if argv[0] == "ceph":
            reply = json.dumps({"monmap": {"fsid": self.quorum}})
            return (0, reply, "") if self.quorum else (1, "", "timed out")
        if argv[0] == "ceph-mon":
            keys, store = (Path(argv[argv.index(word) + 1]) for word in ("--keyring", "--mon-data"))
            self.mode = stat.S_IMODE(keys.stat().st_mode)
            self.keyring = keys.read_text()
            (store / "store.db").mkdir()
            (store / "keyring").touch()
        return 0, "", ""


def names(folder):
    return sorted(one.name for one in folder.iterdir())


@pytest.fixture
def params(tmp_path):
    return {
        "name": "a",
        "fsid": "F",
        "addresses": ["--add", "a", "10.0.0.1:6789"],
        "keys": [{"entity": "mon.", "key": "AAA=", "caps": {"mon": "allow *"}}],
        "bootstrapped": {},
        "replace": False,
        "marks": str(tmp_path / "marks"),
        "root": str(tmp_path),
    }


def test_a_store_is_made_once(params, tmp_path):
    tools = Tools()
    assert module.ensure(tools, params, USER) is True
    assert names(tmp_path) == ["ceph-a"]
    assert module.ensure(tools, params, USER) is False
    assert [c[0] for c in tools.calls] == ["monmaptool", "ceph-mon"]


def test_keys_are_in_a_private_file_and_in_no_argument(params):
    tools = Tools()
    module.ensure(tools, params, USER)
    assert tools.mode == 0o600
    assert "key = AAA=" in tools.keyring
    assert not any("AAA=" in word for call in tools.calls for word in call)


def test_a_run_that_was_killed_is_made_good(params, tmp_path):
    with pytest.raises(CephError, match=r"`ceph-mon --mkfs` failed \(1\): it broke"):
        module.ensure(Tools(fail="ceph-mon"), params, USER)
    assert names(tmp_path) == [".avadm-new-a"]
    assert module.ensure(Tools(), params, USER) is True
    assert names(tmp_path) == ["ceph-a"]


def test_what_is_no_store_is_left_alone_and_named(params, tmp_path):
    (tmp_path / "ceph-a").mkdir()
    (tmp_path / "ceph-a/notes").write_text("mine")
    with pytest.raises(CephError, match="holds something that is not a monitor's store"):
        module.ensure(Tools(), params, USER)
    assert (tmp_path / "ceph-a/notes").read_text() == "mine"


@pytest.mark.parametrize("by", ["mark", "ledger"])
def test_a_monitor_that_was_bootstrapped_and_has_no_store_is_refused(params, by):
    if by == "mark":
        marks.keep("mon", "F", params["marks"])
    else:
        params["bootstrapped"] = {"a": "F"}
    tools = Tools(quorum="F")
    with pytest.raises(CephError, match=r"lost its data.*disk is mounted.*--replace a"):
        module.ensure(tools, params, USER)
    assert tools.calls == []
    assert module.ensure(tools, {**params, "replace": True}, USER) is True


@pytest.mark.parametrize(("quorum", "made"), [("F", True), ("", False), ("G", False)])
def test_once_any_was_bootstrapped_a_store_is_only_made_beside_a_quorum_of_ours(params, quorum, made):
    tools, given = Tools(quorum=quorum), {**params, "bootstrapped": {"b": "F"}}
    if made:
        assert module.ensure(tools, given, USER) is True
        return
    with pytest.raises(CephError, match="would make an empty cluster"):
        module.ensure(tools, given, USER)
    assert [c[0] for c in tools.calls] == ["ceph"]


def test_a_dry_run_makes_nothing(params, tmp_path):
    assert module.ensure(Tools(), params, USER, check_mode=True) is True
    assert names(tmp_path) == []
