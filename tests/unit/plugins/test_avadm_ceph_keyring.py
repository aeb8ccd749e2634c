"""avadm_ceph_keyring: right files are left alone, wrong modes are put right, others never read a key."""

import os
import pwd
import stat
from pathlib import Path

import avadm_ceph_keyring
import pytest

ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def file(tmp_path):
    return {"path": str(tmp_path / "mgr/ceph-a/keyring"), "entity": "mgr.a", "key": "AAA=", "owner": ME}


def mode(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_a_missing_file_is_written_for_its_owner_alone(file):
    assert avadm_ceph_keyring.ensure([file]) == [file["path"]]
    assert Path(file["path"]).read_text() == "[mgr.a]\n\tkey = AAA=\n"
    assert mode(file["path"]) == 0o600
    assert [one.name for one in Path(file["path"]).parent.iterdir()] == ["keyring"]


def test_a_right_file_is_left_alone(file):
    avadm_ceph_keyring.ensure([file])
    assert avadm_ceph_keyring.ensure([file]) == []


@pytest.mark.parametrize("change", [{"key": "BBB="}, {"entity": "mgr.b"}])
def test_another_content_is_written(file, change):
    avadm_ceph_keyring.ensure([file])
    assert avadm_ceph_keyring.ensure([{**file, **change}]) == [file["path"]]


def test_a_readable_file_is_put_right(file):
    avadm_ceph_keyring.ensure([file])
    Path(file["path"]).chmod(0o644)
    assert avadm_ceph_keyring.ensure([file]) == [file["path"]]
    assert mode(file["path"]) == 0o600


def test_a_dry_run_writes_nothing(file):
    assert avadm_ceph_keyring.ensure([file], check_mode=True) == [file["path"]]
    assert not Path(file["path"]).exists()


def test_an_unknown_owner_is_an_error(file):
    with pytest.raises(KeyError, match="nobody-here"):
        avadm_ceph_keyring.ensure([{**file, "owner": "nobody-here"}])
