"""Figures of the storage's process."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from ava import build


class Metrics:
    """All of them, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        build.publish(self.registry)

        def gauge(name: str, what: str) -> Gauge:
            return Gauge(f"ava_storage_{name}", what, registry=self.registry)

        self.leader = gauge("leader", "Whether this process makes folders.")
        self.troubles = gauge("troubles", "Folders that are not as they should be.")
        self.look = gauge("look_seconds", "How long the last look at all folders took.")
        self.ready = gauge("ready", "Whether the shared file system is there.")
        self.errors = Counter("ava_storage_errors", "Passes that failed as a whole.", registry=self.registry)
        self.received = Counter(
            "ava_storage_received_bytes", "Bytes of uploads that were kept.", registry=self.registry
        )
