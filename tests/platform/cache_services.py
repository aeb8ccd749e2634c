"""The Services of the cache's masters in a real API server, and the storage service's right to them, as the role creates both."""

from __future__ import annotations

import asyncio
import json
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ava.db.database import Database
from ava.files.cache_stats import CacheStats
from ava.kube.client import Client
from ava.kube.resources import NAMESPACES, SERVICES, Kind
from tests.platform.alluxio import Alluxio
from tests.unit.ava.operator.fake_cluster import now
from tests.unit.fakes.roles import given, value
from tests.unit.site.test_render_ava import objects

SYSTEM = "ava-system"
STORAGE = f"system:serviceaccount:{SYSTEM}:storage"
SERVICE = "cache-0"
PROXY = SERVICES.path(SYSTEM, SERVICE, "proxy")
RBAC = "rbac.authorization.k8s.io/v1"
KINDS = {
    "Role storage": Kind(RBAC, "Role", "roles"),
    "RoleBinding storage": Kind(RBAC, "RoleBinding", "rolebindings"),
    f"Service {SERVICE}": SERVICES,
    f"Endpoints {SERVICE}": Kind("v1", "Endpoints", "endpoints"),
}


def gates() -> str:
    """Return the feature gates of the role's API server on a site with a cache."""
    have = given("kube_common") | given("kube_apiserver") | {"kube_apiserver_external_endpoints": True}
    found: str = value("{{ _kube_apiserver_args['feature-gates'] }}", **have)
    return found


def own_address() -> str:
    """Return an address of this machine that is not a loopback one, which Endpoints may not have."""
    done = subprocess.run(
        ["ip", "-j", "-4", "addr", "show", "scope", "global"], capture_output=True, text=True, check=True
    )
    found: list[str] = [a["local"] for link in json.loads(done.stdout) for a in link.get("addr_info", [])]
    if not found:
        pytest.skip("this machine has loopback addresses alone")
    return found[0]


async def publish(server: Any, cache: Alluxio, folder: Path) -> None:
    """Create what the role creates for a cache of one master."""
    port = cache.have["alluxio_master_web_port"]
    have: dict[str, Any] = {
        "ava_mount": "/mnt/cephfs",
        "ava_snapshots": False,
        "ava_nfs_servers": [],
        "ava_cache_masters": [cache.address],
        "ava_cache_port": port,
    }
    manifest = objects(folder, "storage.yml.j2", **have)
    async with Client(server.access) as admin:
        await admin.ensure(NAMESPACES, {"metadata": {"name": SYSTEM}})
        for name, kind in KINDS.items():
            await admin.create(kind, manifest[name], SYSTEM)


def measured(server: Any, db: Database) -> None:
    """Look once at each data set, through the API server and with the storage service's own account."""

    async def look() -> None:
        async with Client(server.account(STORAGE)) as client:
            await CacheStats(db, client, SYSTEM, (SERVICE,), now, every=timedelta(0)).look()

    asyncio.run(look())
