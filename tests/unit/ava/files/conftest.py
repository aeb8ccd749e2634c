"""A folder of this machine as the shared file system: the kind of the mount and ceph's own attributes are stood in for."""

import pytest

from ava.files.filesystem import Filesystem
from ava.files.folders import FolderReconciler
from tests.unit.ava.db.world import NOW, World
from tests.unit.ava.files import without_ceph
from tests.unit.ava.files.without_ceph import ME


@pytest.fixture
def world(db):
    return World(db)


@pytest.fixture
def limits(monkeypatch):
    """Limits by the inode of their folder."""
    return without_ceph.stand_in(monkeypatch.setattr)


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
    return Filesystem(mount, world.db, lambda path: kind[0], ME[1])


@pytest.fixture
def maker(world, ground, limits, monkeypatch):
    """The maker; who is not root gives folders to no one but themselves."""
    without_ceph.own(monkeypatch.setattr)
    return FolderReconciler(world.db, ground, lambda: NOW, home_quota=2**30, owner=ME)
