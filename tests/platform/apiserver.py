"""A real etcd and a real kube-apiserver 1.9.11 on this machine, without nodes, for the tests of a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ava.kube.access import Access, from_kubeconfig
from bench.control_plane import ControlPlane, free_port, ready

__all__ = ["Server", "api_server", "free_port"]
ADMISSION = "NamespaceLifecycle,LimitRanger,DefaultTolerationSeconds,ResourceQuota"


class Server:
    """A running API server.

    Attributes:
        access, kubeconfig: an administrator's.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.kubeconfig = plane.kubeconfig
        self.access: Access = from_kubeconfig(plane.kubeconfig)

    def restart(self) -> None:
        """End it by SIGKILL and start it again on the same port and data."""
        self.stop()
        self.start()

    def stop(self) -> None:
        """End it by SIGKILL."""
        self._plane.stop("apiserver", kill=True)

    def start(self) -> None:
        """Start it again and wait until it answers."""
        self._plane.start_api()

    def account(self, name: str) -> Access:
        """Return the access of an account that RBAC knows by its name."""
        return from_kubeconfig(self._plane.account(name))


@contextmanager
def api_server(*, gates: str = "") -> Iterator[Server]:
    """Run etcd and kube-apiserver, with feature gates, while the context lasts."""
    if reason := ready():
        pytest.skip(reason)
    # In memory: how fast this machine's disk is must not decide over tests of other things.
    with ControlPlane(Path("/dev/shm"), admission=ADMISSION, gates=gates) as plane:
        yield Server(plane)
