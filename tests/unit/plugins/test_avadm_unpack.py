"""An archive is unpacked whole or not at all, and only when it is another one."""

import io
import tarfile

import avadm_unpack as unpack
import pytest


def archive(path, **files):
    with tarfile.open(path, "w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return str(path)


def test_the_folder_is_what_the_archive_holds_and_nothing_else(tmp_path):
    target = tmp_path / "opt"
    unpack.unpack(archive(tmp_path / "1.tar", jars__old="1"), "a" * 64, str(target))
    assert unpack.unpacked(str(target)) == "a" * 64
    unpack.unpack(archive(tmp_path / "2.tar", jars__new="2"), "b" * 64, str(target))
    assert [p.name for p in sorted((target / "jars").iterdir())] == ["new"]
    assert unpack.unpacked(str(target)) == "b" * 64
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.tar", "2.tar", "opt"]


def test_a_damaged_or_hostile_archive_leaves_the_folder_as_it_was(tmp_path):
    target = tmp_path / "opt"
    unpack.unpack(archive(tmp_path / "1.tar", a="1"), "a" * 64, str(target))
    hostile = archive(tmp_path / "2.tar", **{"..__out": "2"})
    with pytest.raises(tarfile.TarError, match="no place"):
        unpack.unpack(hostile, "b" * 64, str(target))
    assert not (tmp_path / "out").exists()
    (tmp_path / "3.tar").write_text("nothing of the kind")
    with pytest.raises(tarfile.TarError):
        unpack.unpack(str(tmp_path / "3.tar"), "c" * 64, str(target))
    assert (target / "a").read_text() == "1"
    assert unpack.unpacked(str(target)) == "a" * 64
