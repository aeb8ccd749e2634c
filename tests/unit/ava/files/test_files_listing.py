"""Pages of folders: sorted, whole, and read from the file system once for all pages."""

import concurrent.futures
import contextlib
import os
import threading

import pytest

from ava.domain.problems import ApiError
from ava.files import listing, safe_fs
from ava.files.listing import Listing


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    return path


@pytest.fixture
def lists(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Listing(scratch)


def walk(lists, path, limit=100):
    with safe_fs.folder(str(path)) as at:
        found, after = [], None
        while True:
            entries, after = lists.page(at, after, limit)
            found += [entry.name for entry in entries]
            if after is None:
                return found


@pytest.mark.parametrize("count", [0, 1, 100, 101, 250])
@pytest.mark.parametrize("small", [listing.SMALL, 10])
def test_all_pages_together_are_the_folder_in_order(lists, folder, monkeypatch, count, small):
    monkeypatch.setattr(listing, "SMALL", small)
    for number in range(count):
        (folder / f"f{number * 7919 % count:05d}").touch()
    assert walk(lists, folder) == sorted(os.fsencode(path.name) for path in folder.iterdir())


def test_a_large_folder_is_read_once_for_all_its_pages(lists, folder, monkeypatch):
    monkeypatch.setattr(listing, "SMALL", 10)
    for number in range(500):
        (folder / str(number)).touch()
    scans = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda at: scans.append(at) or real(at))
    assert len(walk(lists, folder, 10)) == 500
    assert len(scans) == 1


def test_a_change_is_seen_by_who_begins_and_does_not_disturb_who_turns_pages(lists, folder, monkeypatch):
    monkeypatch.setattr(listing, "SMALL", 10)
    for number in range(30):
        (folder / f"{number:02d}").touch()
    with safe_fs.folder(str(folder)) as at:
        entries, after = lists.page(at, None, 20)
        (folder / "00a").touch()
        (folder / "25").unlink()
        rest, end = lists.page(at, after, 20)
        names = [entry.name for entry in (*entries, *rest)]
        assert names == [f"{n:02d}".encode() for n in range(30) if n != 25]
        assert end is None
    assert b"00a" in walk(lists, folder)


def test_lists_of_other_folders_go_when_there_are_too_many(lists, tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "SMALL", 1)
    monkeypatch.setattr(listing, "KEPT", 2)
    for name in "abcd":
        (tmp_path / name).mkdir()
        for number in range(3):
            (tmp_path / name / str(number)).touch()
        assert len(walk(lists, tmp_path / name)) == 3
    assert len(list((tmp_path / "scratch").glob("listing*"))) <= 2


class Slow:
    """A folder whose names come when the test lets them."""

    def __init__(self, monkeypatch):
        self.let, self.begun, real = threading.Event(), threading.Semaphore(0), os.scandir
        self.slow = set()

        @contextlib.contextmanager
        def scandir(at):
            with real(at) as entries:
                yield self.names(entries) if os.fstat(at).st_ino in self.slow else entries

        monkeypatch.setattr(os, "scandir", scandir)

    def names(self, entries):
        for number, entry in enumerate(entries):
            if number == 5:
                self.begun.release()
                assert self.let.wait(20)
            yield entry


def test_a_large_folder_that_is_read_keeps_no_one_waiting(lists, tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "SMALL", 3)
    counts = {"a": 10, "b": 10, "c": 10, "known": 10, "small": 2}
    paths = {name: tmp_path / name for name in counts}
    for name, path in paths.items():
        path.mkdir()
        for number in range(counts[name]):
            (path / str(number)).touch()
    assert len(walk(lists, paths["known"])) == 10
    slow = Slow(monkeypatch)
    slow.slow = {paths[name].stat().st_ino for name in "ab"}

    def first(name, user):
        with safe_fs.folder(str(paths[name])) as at:
            return lists.page(at, None, 100, user)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        ann = pool.submit(first, "a", "ann")
        assert slow.begun.acquire(timeout=20)
        for name, user in (("a", "ben"), ("c", "ann")):
            with pytest.raises(ApiError) as refused:
                first(name, user)
            assert (refused.value.status, refused.value.problems[0].code) == (503, "folders-busy"), name
        assert len(first("c", "ben")[0]) == 10, "another folder of another user"
        ben = pool.submit(first, "b", "ben")
        assert slow.begun.acquire(timeout=20)
        (paths["c"] / "new").touch()
        with pytest.raises(ApiError):
            first("c", "eve")
        assert len(first("known", "eve")[0]) == 10 and len(first("small", "eve")[0]) == 2
        slow.let.set()
        assert len(ann.result()[0]) == len(ben.result()[0]) == 10
    assert len(first("c", "eve")[0]) == 11


def test_a_folder_that_cannot_be_read_to_its_end_leaves_nothing_behind(lists, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "SMALL", 3)
    for number in range(10):
        (folder / str(number)).touch()

    def broken(path, names):
        path.write_bytes(b"half")
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(listing, "_write", broken)
        with pytest.raises(OSError, match="full"):
            walk(lists, folder)
    assert list((tmp_path / "scratch").iterdir()) == []
    assert len(walk(lists, folder)) == 10
