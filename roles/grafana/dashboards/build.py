"""Writes ../files/dashboards/*.json: `make dashboards`, or with --check says which are stale."""

from __future__ import annotations

import sys
from pathlib import Path

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

TARGET = Path(__file__).parents[1] / "files" / "dashboards"
DASHBOARDS = {
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


def stale() -> list[str]:
    """Return the names of dashboards whose file is not what the code makes."""
    return [n for n, build in DASHBOARDS.items() if not _path(n).exists() or _path(n).read_text() != build()]


def main() -> int:
    """Write what is stale, or with --check only name it and return 1."""
    names = stale()
    if "--check" in sys.argv[1:]:
        for name in names:
            print(f"{_path(name)} is not what the code makes; run `make dashboards`.")
        return 1 if names else 0
    for name in names:
        _path(name).write_text(DASHBOARDS[name]())
        print(f"wrote {_path(name)}")
    return 0


def _path(name: str) -> Path:
    return TARGET / f"{name}.json"


if __name__ == "__main__":
    sys.exit(main())
