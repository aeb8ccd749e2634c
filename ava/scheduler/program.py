"""The program: contends for the lead, acts while it has it, and contends again."""

from __future__ import annotations

import asyncio
import logging
import socket

from ava.db.database import Database
from ava.kube.access import Access, from_kubeconfig, in_cluster
from ava.kube.client import Client
from ava.kube.health import serve
from ava.kube.leader import Leader
from ava.scheduler.config import Config
from ava.scheduler.leader_session import LeaderSession
from ava.scheduler.metrics import Metrics

log = logging.getLogger(__name__)
PAUSE = 2.0
"""Seconds before contending again after an error that was not foreseen."""


class Program:
    """One scheduler process."""

    def __init__(self, config: Config, db: Database) -> None:
        self._config, self._db = config, db
        self.metrics = Metrics()
        self.identity = config.identity or socket.gethostname()
        self.acting: LeaderSession | None = None
        self.port = 0

    def unhealthy(self) -> str:
        """Return what is wrong, empty where nothing is. One that does not lead has nothing to do and is well."""
        acting = self.acting
        return "the placing loop hangs" if acting is not None and acting.hangs() else ""

    async def run(self, access: Access | None = None) -> None:
        """Run until cancelled."""
        config = self._config
        access = access or (from_kubeconfig(config.kubeconfig) if config.kubeconfig else in_cluster())
        lease = config.lease.lease()
        host, _, port = config.listen.rpartition(":")
        async with (
            serve(host.strip("[]") or None, int(port), self.metrics.registry, self.unhealthy) as self.port,
            Client(access, connections=config.binds + 16) as client,
        ):
            while True:
                leader = Leader(client, config.lease.namespace, config.lease.name, self.identity, lease)
                try:
                    await leader.run(lambda leader=leader: self._reign(leader))  # type: ignore[misc]
                except Exception:
                    # A fault of ours: give up the lead and begin again, from what the API server says.
                    log.exception("the scheduler failed")
                    await asyncio.sleep(PAUSE)

    async def _reign(self, leader: Leader) -> None:
        self.acting = LeaderSession(leader.client, self._db, self._config, self.metrics, self.identity)
        self.metrics.leads.set(1)
        try:
            await self.acting.run()
        finally:
            self.metrics.leads.set(0)
            self.acting = None
