"""Folders: made as they have to be, on the right file system alone, whatever was planted there and whenever it is killed."""

import os
import stat
from pathlib import Path

import pytest

from ava.domain.folders import FolderKind
from ava.files import folders, safe_fs
from ava.files.filesystem import MARK, WrongFilesystem
from tests.unit.ava.db.world import NOW
from tests.unit.ava.files.conftest import ME

needs_root = pytest.mark.skipif(ME[0] != 0, reason="only root gives folders to others")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_home_and_a_groups_folder_are_as_they_have_to_be(world, ground, maker, mount, limits):
    ground.found()
    for wanted in world.db.folders.list_specs():
        assert maker.make(wanted).trouble == ""
    home, group = mount / "users/ann", mount / "groups/vision"
    assert (mode(mount / "users"), mode(home), mode(home / "data")) == (0o711, 0o711, 0o700)
    assert (mode(group), mode(group / "data")) == (0o711, 0o2770)
    assert limits[home.stat().st_ino] == 2**30
    assert limits[group.stat().st_ino] is None
    assert world.db.folders.get(FolderKind.USER, "ann").made == NOW


@needs_root
def test_the_inner_folder_alone_is_the_users(world, ground, maker, mount):
    ground.found()
    maker.look(FolderKind.USER, "ann")
    maker.look(FolderKind.GROUP, "vision")
    home, group = (mount / "users/ann").stat(), (mount / "groups/vision/data").stat()
    assert home.st_uid == 0
    assert (mount / "users/ann/data").stat().st_uid == world.db.users.get("ann").uid
    assert (group.st_uid, group.st_gid) == (0, world.db.groups.get("vision").gid)


@needs_root
def test_a_folder_of_another_user_s_is_never_given_away(world, ground, maker, mount):
    ground.found()
    maker.look(FolderKind.USER, "ann")
    data = mount / "users/ann/data"
    os.chown(data, 12345, 0)
    (data / "thesis").write_text("mine")
    seen = maker.look(FolderKind.USER, "ann")
    assert "12345" in seen.trouble
    assert data.stat().st_uid == 12345 and (data / "thesis").read_text() == "mine"


@pytest.mark.parametrize("found", ["", "ext4", "tmpfs", "overlay"])
def test_nothing_is_made_where_cephfs_is_not_mounted(world, ground, maker, mount, kind, found):
    kind[0] = found
    with pytest.raises(WrongFilesystem, match="no mount of cephfs"):
        ground.found()
    with pytest.raises(WrongFilesystem):
        maker.look(FolderKind.USER, "ann")
    assert list(mount.iterdir()) == []
    assert world.db.folders.file_system() is None


def test_another_file_system_than_the_databases_is_left_alone(world, ground, maker, mount):
    ground.found()
    maker.look(FolderKind.USER, "ann")
    (mount / MARK).write_text('{"file-system": 1}')
    with pytest.raises(WrongFilesystem, match="another file system"):
        maker.look(FolderKind.USER, "ann")
    (mount / MARK).unlink()
    with pytest.raises(WrongFilesystem):
        ground.found()


def test_an_empty_file_system_is_not_made_again_once_one_is_known(world, ground, mount):
    world.db.folders.set_file_system(42)
    with pytest.raises(WrongFilesystem):
        ground.found()
    assert list(mount.iterdir()) == []


@pytest.mark.parametrize("there", ["folder", "file", "link"])
def test_folders_that_a_new_database_does_not_know_stop_everything(ground, mount, there):
    if there == "folder":
        (mount / "groups/vision").mkdir(parents=True)
    elif there == "file":
        (mount / "groups").touch()
    else:
        (mount / "groups").symlink_to("elsewhere")
    with pytest.raises(WrongFilesystem, match="knows nothing of"):
        ground.found()
    assert not (mount / MARK).exists()


def test_an_empty_folder_that_was_there_before_is_used(ground, maker, mount):
    (mount / "users").mkdir(mode=0o755)
    ground.found()
    maker.look(FolderKind.USER, "ann")
    assert (mount / "users/ann/data").is_dir()
    assert (mount / "users").stat().st_mode & 0o777 == 0o711


def test_a_kill_between_mark_and_database_is_got_over(world, ground, mount, monkeypatch):
    def killed(number):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(world.db.folders, "set_file_system", killed)
        with pytest.raises(KeyboardInterrupt):
            ground.found()
    ground.found()
    with ground.root():
        pass


CALLS = ("mkdir", "fchown", "fchmod", "rename", "open")


@pytest.mark.parametrize("call", CALLS)
def test_a_kill_at_any_step_leaves_what_the_next_one_completes(
    world, ground, maker, mount, monkeypatch, call
):
    ground.found()
    real = getattr(os, call)
    for step in range(30):
        left = [step]

        def sometimes(*args, left=left, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return real(*args, **kwargs)

        with monkeypatch.context() as patched:
            patched.setattr(os, call, sometimes)
            try:
                maker.look(FolderKind.GROUP, "vision")
                whole = True
            except KeyboardInterrupt:
                whole = False
        group = mount / "groups/vision/data"
        # What is there is whole: never a folder with another mode or owner in its place.
        if group.exists():
            assert mode(group) == 0o2770
        if whole:
            break
    assert whole and step > 0
    assert maker.look(FolderKind.GROUP, "vision").trouble == ""
    assert mode(mount / "groups/vision/data") == 0o2770


@pytest.mark.parametrize("planted", ["users/ann", "users/ann/data"])
def test_a_link_in_a_folders_place_is_not_followed(world, ground, maker, mount, tmp_path, planted):
    ground.found()
    outside = tmp_path / "outside"
    outside.mkdir()
    (mount / planted).parent.mkdir(parents=True)
    (mount / planted).symlink_to(outside)
    assert maker.look(FolderKind.USER, "ann").trouble
    assert list(outside.iterdir()) == []


def gone(world, maker, mount):
    """Return a deleted data set's id, and its folder."""
    one = world.db.data_sets.create("ann", "digits", {"kind": "folder"}, NOW).id
    maker.look(FolderKind.DATA_SET, one)
    world.db.data_sets.delete(one, NOW)
    return one, mount / "datasets" / one


def test_a_deleted_data_set_goes_with_all_that_hostile_people_put_there(
    world, ground, maker, mount, tmp_path
):
    ground.found()
    one, folder = gone(world, maker, mount)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("keep")
    data = folder / "data"
    (data / "to-folder").symlink_to(outside)
    (data / "to-file").symlink_to(outside / "precious")
    (data / "line\nbreak").write_text("x")
    Path(os.fsdecode(os.fsencode(data) + b"/\xff\xfe")).write_text("no UTF-8")
    (data / "0.1").mkdir()
    (data / f"0.{os.getpid()}").write_text("in the way")
    with safe_fs.folder(str(data)) as top:
        here = os.dup(top)
        for depth in range(3000):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", safe_fs.FOLDER, dir_fd=here)
            if depth % 500 == 0:
                os.symlink(str(outside), "link", dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
    maker.look(FolderKind.DATA_SET, one)
    assert not folder.exists()
    assert (outside / "precious").read_text() == "keep"
    assert list((mount / folders.TRASH).iterdir()) == []
    assert world.db.folders.get_spec(FolderKind.DATA_SET, one) is None


def test_a_removal_that_was_killed_is_completed(world, ground, maker, mount, monkeypatch):
    ground.found()
    one, folder = gone(world, maker, mount)
    for number in range(20):
        (folder / "data" / str(number)).write_text("x")
    real = os.unlink
    left = [5]

    def sometimes(*args, **kwargs):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", sometimes)
        with pytest.raises(KeyboardInterrupt):
            maker.look(FolderKind.DATA_SET, one)
    assert world.db.folders.get_spec(FolderKind.DATA_SET, one).gone
    maker.look(FolderKind.DATA_SET, one)
    assert list((mount / folders.TRASH).iterdir()) == []
    assert world.db.folders.get_spec(FolderKind.DATA_SET, one) is None


def test_no_user_s_folder_is_removed(world, ground, maker, mount):
    ground.found()
    (mount / "datasets").mkdir()
    (mount / "datasets/f1aaaaaaaaaaa").mkdir()
    assert maker.look(FolderKind.DATA_SET, "f1aaaaaaaaaaa") is None
    for wanted in world.db.folders.list_specs():
        maker.make(wanted)
    assert (mount / "datasets/f1aaaaaaaaaaa").exists()


def test_a_limit_that_this_node_may_not_set_is_reported_with_what_to_do(world, ground, maker, monkeypatch):
    def refused(at, limit):
        raise PermissionError(13, "Permission denied")

    ground.found()
    monkeypatch.setattr(safe_fs, "set_quota", refused)
    seen = maker.look(FolderKind.USER, "ann")
    assert "avadm-cephfs" in seen.trouble and seen.made is not None
