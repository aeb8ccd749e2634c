"""Pages of folders: sorted, whole, and read from the file system once for all pages."""

import os

import pytest

from ava.storage import listing, tree
from ava.storage.listing import Listing


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
    with tree.folder(str(path)) as at:
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
    with tree.folder(str(folder)) as at:
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
    assert lists._data.execute("SELECT count(*) FROM lists").fetchone()[0] <= 2
    assert lists._data.execute("SELECT count(*) FROM names").fetchone()[0] <= 6
