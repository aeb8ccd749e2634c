"""A control plane for the scheduler's tests, and schedulers as processes with an account of few rights."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ava.db.database import migrate, open_database
from ava.kube.access import from_kubeconfig
from ava.kube.client import Client, Object
from ava.kube.errors import AlreadyExists
from ava.kube.resources import NODES, PODS, Kind
from bench import hollow
from bench.control_plane import ControlPlane, free_port, ready

ROLES = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False)
BINDINGS = Kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", False)
ACCOUNT = "ava-scheduler"
LEASE = {"namespace": "kube-system", "length": 6.0, "margin": 3.0, "every": 0.5}
RULES = [
    {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "update"]},
]
"""All that the scheduler may do (docs/explanation/scheduling.md)."""


@pytest.fixture(scope="session")
def plane():
    if reason := ready():
        pytest.skip(reason)
    with ControlPlane(Path("/dev/shm")) as made:
        yield made


class World:
    """An empty cluster and database, and what is done in them."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self.folder = plane, folder
        self.lease = f"scheduler-{secrets.token_hex(4)}"
        self.database = f"sqlite:///{folder / 'database.sqlite'}"
        migrate(self.database)
        self.db = open_database(self.database)
        self.client = Client(from_kubeconfig(plane.kubeconfig))
        self.account = plane.account(ACCOUNT)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.ports: dict[str, int] = {}

    def run(self, scene: Callable[[], Awaitable[Any]]) -> None:
        """Run a scene in a cluster that is empty before and after it."""

        async def whole() -> None:
            async with self.client:
                await self._prepare()
                try:
                    await scene()
                finally:
                    for name in list(self._running):
                        self.stop(name)
                    await hollow.remove_pods(self.client)
                    for each in (await self.client.list(NODES))[0]:
                        await self.client.delete(NODES, each["metadata"]["name"])

        try:
            asyncio.run(whole())
        finally:
            self.db.close()

    async def _prepare(self) -> None:
        await hollow.namespace(self.client, hollow.NAMESPACE)
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": ACCOUNT}
        role = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": ACCOUNT}
        for kind, body in (
            (ROLES, {"rules": RULES}),
            (BINDINGS, {"roleRef": role, "subjects": [subject]}),
        ):
            with contextlib.suppress(AlreadyExists):
                await self.client.create(kind, {"metadata": {"name": ACCOUNT}, **body})

    def start(self, name: str = "one", **changes: Any) -> subprocess.Popen[bytes]:
        """Start a scheduler as a process."""
        self.ports[name] = free_port()
        config = {
            "kubeconfig": str(self.account),
            "database": {"url": self.database},
            "identity": name,
            "listen": f"127.0.0.1:{self.ports[name]}",
            "lease": LEASE | {"name": self.lease},
            "poll": 0.3,
            "sign": 0.5,
            "tell": 1.0,
            **changes,
        }
        path = self.folder / f"{name}.yml"
        path.write_text(yaml.safe_dump(config))
        command = [sys.executable, "-m", "ava.scheduler", "--config", str(path)]
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(command, stdout=log, stderr=log)
        return self._running[name]

    def stop(self, name: str, number: int = signal.SIGKILL) -> int:
        """End a scheduler; return its exit status."""
        program = self._running.pop(name)
        program.send_signal(number)
        program.send_signal(signal.SIGCONT)
        return program.wait(20)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    async def pods(self) -> list[Object]:
        return (await self.client.list(PODS, hollow.NAMESPACE))[0]

    async def bound(self) -> dict[str, str]:
        return {
            p["metadata"]["name"]: p["spec"]["nodeName"]
            for p in await self.pods()
            if p["spec"].get("nodeName")
        }

    async def until(self, what: Callable[[], Awaitable[Any]], seconds: float = 60.0) -> Any:
        """Wait until something is true; return it."""
        end = time.monotonic() + seconds
        while not (found := await what()):
            logs = {name: self.log(name)[-1500:] for name in self.ports}
            assert time.monotonic() < end, f"not within {seconds} s; logs: {logs}"
            await asyncio.sleep(0.02)
        return found

    async def until_bound(self, count: int, seconds: float = 90.0) -> dict[str, str]:
        """Wait until so many pods are bound; return all that are."""

        async def enough() -> dict[str, str]:
            found = await self.bound()
            return found if len(found) >= count else {}

        found: dict[str, str] = await self.until(enough, seconds)
        return found


@pytest.fixture
def world(plane, tmp_path):
    return World(plane, tmp_path)
