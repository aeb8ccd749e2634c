"""The site of five nodes, and who runs avadm on it."""

import pytest

from tests.unit.fakes.cli import avadm, called, nodes, playbooks

__all__ = ["avadm", "called", "nodes", "playbooks"]

KEPT = {
    "base": ("file /etc/base", "package base"),
    "ceph": ("unit ceph", "health 3", "entity client.a"),
    "cephfs": ("fs cephfs", "pool data"),
    "rbd": ("pool rbd",),
    "monitoring": ("unit prometheus", "restart prometheus /etc/p"),
}


@pytest.fixture
def keeping(playbooks):
    """Let each phase keep values on its nodes, so that it can be proven."""
    playbooks.kept = KEPT


@pytest.fixture
def installed(avadm, keeping):
    assert avadm("apply").exit_code == 0
    return avadm
