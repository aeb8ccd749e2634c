"""The version of the running program, as its image was built."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Gauge

from ava import __version__


def version() -> str:
    """Return the image's version, which ends in a digest of its sources; that of the package outside of an image."""
    return os.environ.get("AVA_VERSION") or __version__


def publish(registry: CollectorRegistry) -> None:
    """Add ``ava_build_info`` to what a process exports."""
    info = Gauge("ava_build_info", "1; the label is the version that runs", ["version"], registry=registry)
    info.labels(version()).set(1)
