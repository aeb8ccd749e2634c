"""avadm_files and avadm_sysctl: what they see as different, and what they leave alone."""

import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import avadm_sysctl
import pytest
from ansible.module_utils import avadm_files

from tests.unit.fakes.running import module


def entry(path, content="a", mode="0644", state="present"):
    return {"path": str(path), "content": content, "mode": mode, "state": state}


def test_a_file_that_is_right_already_is_left_alone(tmp_path):
    path = tmp_path / "f"
    path.write_text("a\n")
    path.chmod(0o644)
    assert avadm_files.difference(entry(path)) is None
    assert avadm_files.difference(entry(path, mode="0600")) == (b"a\n", b"a\n")
    assert avadm_files.difference(entry(path, content="b")) == (b"a\n", b"b\n")
    mine = pwd.getpwuid(os.geteuid()).pw_name
    assert avadm_files.difference({**entry(path), "owner": mine}) is None
    other = next(u.pw_name for u in pwd.getpwall() if u.pw_uid != os.geteuid())
    assert avadm_files.difference({**entry(path), "owner": other}) == (b"a\n", b"a\n")


def test_absent(tmp_path):
    path = tmp_path / "f"
    assert avadm_files.difference(entry(path, state="absent")) is None
    path.write_text("a\n")
    assert avadm_files.difference(entry(path, state="absent")) == (b"a\n", b"")


@pytest.fixture
def proc(tmp_path):
    for name, value in (("vm/swappiness", "60"), ("net/ipv4/tcp_rmem", "4096\t87380\t6291456")):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(value + "\n")
    return tmp_path


def test_only_what_differs_is_set(proc):
    done, skipped = avadm_sysctl.apply(
        {"vm.swappiness": 10, "net.ipv4.tcp_rmem": "4096 87380 6291456"}, proc=str(proc)
    )
    assert (done, skipped) == ({"vm.swappiness": "60"}, {})
    assert (proc / "vm/swappiness").read_text() == "10"


def test_a_setting_that_this_kernel_has_not_is_reported(proc):
    assert avadm_sysctl.apply({"vm.nosuch": 1}, proc=str(proc)) == ({}, {"vm.nosuch": "not in this kernel"})


def test_a_setting_that_may_not_be_set_is_reported(proc, monkeypatch):
    monkeypatch.setattr(avadm_sysctl.os, "access", lambda path, mode: False)
    done, skipped = avadm_sysctl.apply({"vm.swappiness": 10}, proc=str(proc))
    assert (done, skipped) == ({}, {"vm.swappiness": "read-only here, stays 60"})


def test_check_mode_sets_nothing(proc):
    assert avadm_sysctl.apply({"vm.swappiness": 10}, True, str(proc))[0] == {"vm.swappiness": "60"}
    assert Path(proc / "vm/swappiness").read_text() == "60\n"


def test_the_file_is_the_same_for_the_same_values():
    assert avadm_sysctl.text({"b": 2, "a": "1  2"}) == "# Managed by avadm.\na = 1 2\nb = 2\n"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"secret": "present-secret"}, "present-secret\n"),
        ({"base64": "cHJlc2VudC1zZWNyZXQ="}, "present-secret"),
    ],
)
def test_a_secret_is_written_and_reported_nowhere(tmp_path, given, wanted):
    path = tmp_path / "key"
    path.write_text("former-secret")
    files = [{"path": str(path), "mode": "0600", **given}]
    result, reply = module("avadm_files", files=files, _ansible_diff=True)
    assert (result["changed"], path.read_text()) == (True, wanted)
    assert next(iter(given.values())) not in reply
    assert "former-secret" not in reply
    assert "present-secret" not in reply
    assert not module("avadm_files", files=files)[0]["changed"]


def test_an_owner_who_is_not_there_is_reported_with_a_remedy(tmp_path):
    files = [{"path": str(tmp_path / "f"), "content": "a", "owner": "nobody-at-all"}]
    result, _ = module("avadm_files", files=files)
    assert result["failed"]
    assert "Remedy" in result["msg"]


def test_a_file_that_is_no_text_is_written_as_it_is(tmp_path):
    """Keys of package sources: a newline at the end would make apt 1.2 pass over the file."""
    path = tmp_path / "key.gpg"
    wanted = {"path": str(path), "base64": "mQENBA==", "mode": "0644", "state": "present"}
    assert avadm_files.difference(wanted) == (b"", b"\x99\x01\x0d\x04")
    path.write_bytes(b"\x99\x01\x0d\x04")
    path.chmod(0o644)
    assert avadm_files.difference(wanted) is None


def test_a_new_file_is_no_other_users_before_it_has_its_mode(tmp_path):
    """Ansible gives what is new there the mode that the umask leaves."""
    seen = []

    def atomic_move(made, path, unsafe_writes):
        Path(made).rename(path)
        mask = os.umask(0)
        os.umask(mask)
        Path(path).chmod(0o666 & ~mask)
        seen.append(avadm_files.mode_of(path))

    before = os.umask(0o022)
    try:
        fake = SimpleNamespace(atomic_move=atomic_move, tmpdir=str(tmp_path))
        avadm_files.Files(fake, check=False).bring([entry(tmp_path / "key", mode="0640")])
        assert (seen, avadm_files.mode_of(tmp_path / "key")) == ([0o600], 0o640)
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
