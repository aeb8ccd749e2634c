"""An archive is unpacked whole or not at all, and only when it is another one."""

import tarfile

import avadm_unpack as unpack
import pytest

from tests.unit.fakes.builders import tar


def test_the_folder_is_what_the_archive_holds_and_nothing_else(tmp_path):
    target = tmp_path / "opt"
    unpack.unpack(str(tar(tmp_path / "1.tar", {"jars/old": "1"})), "a" * 64, str(target))
    assert unpack.unpacked(str(target)) == "a" * 64
    unpack.unpack(str(tar(tmp_path / "2.tar", {"jars/new": "2"})), "b" * 64, str(target))
    assert [p.name for p in sorted((target / "jars").iterdir())] == ["new"]
    assert unpack.unpacked(str(target)) == "b" * 64
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.tar", "2.tar", "opt"]


def test_a_damaged_or_hostile_archive_leaves_the_folder_as_it_was(tmp_path):
    target = tmp_path / "opt"
    unpack.unpack(str(tar(tmp_path / "1.tar", {"a": "1"})), "a" * 64, str(target))
    hostile = str(tar(tmp_path / "2.tar", {"../out": "2"}))
    with pytest.raises(tarfile.TarError, match="no place"):
        unpack.unpack(hostile, "b" * 64, str(target))
    assert not (tmp_path / "out").exists()
    (tmp_path / "3.tar").write_text("nothing of the kind")
    with pytest.raises(tarfile.TarError):
        unpack.unpack(str(tmp_path / "3.tar"), "c" * 64, str(target))
    assert (target / "a").read_text() == "1"
    assert unpack.unpacked(str(target)) == "a" * 64
