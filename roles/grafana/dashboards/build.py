"""The dashboards, which scripts/generate writes to ../files/dashboards."""

from __future__ import annotations

import ava_platform
import cache
import ceph
import control_plane
import database
import fleet
import gpu
import gpu_users
import hosts
import kubernetes
import logs
import objects

BUILDERS = {
    "ava": ava_platform.build,
    "cache": cache.build,
    "ceph": ceph.build,
    "control-plane": control_plane.build,
    "database": database.build,
    "fleet": fleet.build,
    "gpu": gpu.build,
    "gpu-users": gpu_users.build,
    "hosts": hosts.build,
    "kubernetes": kubernetes.build,
    "logs": logs.build,
    "objects": objects.build,
}


def dashboards() -> dict[str, str]:
    """Return grafana's JSON of each dashboard by name."""
    return {name: build() for name, build in BUILDERS.items()}
