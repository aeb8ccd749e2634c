"""What the doctor's probe needs of the object store, the cache, PostgreSQL, the logs and the platform."""

from __future__ import annotations

from typing import Any

from avadm.components.alluxio import placement as cache
from avadm.components.alluxio.variables import namenodes
from avadm.components.ava import component as ava
from avadm.components.database.component import PATRONI
from avadm.components.objects.object_pools import database_backups
from avadm.site.model import Site


def site_parameters(site: Site) -> dict[str, Any]:
    """Return the probe's parameters for these parts: ports, the virtual address, the cache's mount; no key is among them."""
    store, alluxio, logs = site.components.object_store, site.components.alluxio, site.components.logs
    found: dict[str, Any] = {}
    if store is not None:
        found["objects"] = {"port": store.port, "vip": str(store.vip) if store.vip else ""}
    if alluxio is not None:
        found["cache"] = {
            "master_port": cache.MASTER_WEB_PORT,
            "worker_port": cache.WORKER_WEB_PORT,
            "mount": alluxio.mount_point,
            "folders": [m.path.strip("/") for m in alluxio.mounts],
            "hdfs": {m.path: namenodes(m.hdfs) for m in alluxio.mounts if m.hdfs},
        }
    if site.components.database is not None:
        found["database"] = {"port": PATRONI}
    if database_backups(site):
        found["backup"] = {"metrics": "/var/lib/prometheus/node-exporter", "state": "/var/lib/avadm-database"}
    if site.components.ava is not None:
        found["ava"] = ava.probed(site)
    if logs is not None:
        found["logs"] = {"port": logs.port}
    return found
