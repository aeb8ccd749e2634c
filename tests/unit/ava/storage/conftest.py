"""A folder of this machine as the shared file system: the kind of the mount and ceph's own attributes are stood in for."""

import os
import shutil

import pytest

from ava.storage import tree
from ava.storage.ground import Ground
from ava.storage.making import Maker
from ava.store.open import migrate, open_store
from tests.unit.ava.store.world import NOW, World

ME = os.getuid(), os.getgid()


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "migrated.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def world(tmp_path, migrated):
    shutil.copy(migrated, tmp_path / "ledger.db")
    store = open_store(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield World(store)
    store.close()


@pytest.fixture
def limits(monkeypatch):
    """Limits by the inode of their folder, in place of ceph's attributes, which no other file system has."""
    kept = {}
    monkeypatch.setattr(tree, "quota", lambda at: kept.get(os.fstat(at).st_ino))
    monkeypatch.setattr(tree, "set_quota", lambda at, limit: kept.update({os.fstat(at).st_ino: limit}))
    monkeypatch.setattr(tree, "used", lambda at: (0, 0))
    return kept


@pytest.fixture
def mount(tmp_path):
    path = tmp_path / "shared"
    path.mkdir()
    return path


@pytest.fixture
def kind():
    """What is mounted, as a list of one that tests change."""
    return ["fuse.ceph-fuse"]


@pytest.fixture
def ground(world, mount, kind):
    return Ground(mount, world.store, lambda path: kind[0], ME[1])


@pytest.fixture
def maker(world, ground, limits, monkeypatch):
    """The maker; who is not root gives folders to nobody but themselves."""
    if ME[0]:
        monkeypatch.setattr(os, "fchown", lambda *_: None)
        monkeypatch.setattr(Maker, "_inner", lambda self, wanted: ME)
    return Maker(world.store, ground, lambda: NOW, home_quota=2**30, owner=ME)
