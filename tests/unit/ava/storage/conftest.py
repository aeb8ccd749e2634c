"""A folder of this machine as the shared file system: the kind of the mount and ceph's own attributes are stood in for."""

import pytest

from ava.storage.ground import Ground
from ava.storage.making import Maker
from tests.unit.ava.storage import without_ceph
from tests.unit.ava.storage.without_ceph import ME
from tests.unit.ava.store.world import NOW, World


@pytest.fixture
def world(store):
    return World(store)


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
    return Ground(mount, world.store, lambda path: kind[0], ME[1])


@pytest.fixture
def maker(world, ground, limits, monkeypatch):
    """The maker; who is not root gives folders to nobody but themselves."""
    without_ceph.own(monkeypatch.setattr)
    return Maker(world.store, ground, lambda: NOW, home_quota=2**30, owner=ME)
