"""Troubles of the object store, the cache and the logs, as troubles.py has those of all else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.unit.doctor.healthy_data import answer, master, mount, shipper, store, usage
from tests.unit.doctor.troubles import Case, Data, parts, put, replace

REFUSED = "curl: (7) Failed to connect to 10.0.0.11 port 7443: Connection refused"


def everywhere(part: str, value: Any, *nodes: str) -> Callable[[Data], Any]:
    def change(data: Data) -> None:
        for node in nodes:
            parts(data, node)[part] = value

    return change


def usages(value: Any) -> Callable[[Data], Any]:
    def change(data: Data) -> None:
        for node in ("stor1", "stor2"):
            put(node, "objects", usage=value)(data)

    return change


def nobody_serves(data: Data) -> None:
    dead = answer(0, REFUSED)
    for node in ("stor1", "stor2"):
        put(node, "objects", gateway=dead, address=dead)(data)


def alone(page: Any) -> Callable[[Data], Any]:
    """Return a change to a site with one master."""

    def change(data: Data) -> None:
        for node in data["site"]["nodes"]:
            if node["name"] in ("mast2", "mast3"):
                node["roles"] = [r for r in node["roles"] if r != "cache-master"]
        parts(data, "mast1")["cache_master"] = page

    return change


def lacks(data: Data) -> None:
    # One of them still remembers a name that the other has not seen.
    parts(data, "comp1")["cache_mount"] = mount(lacks=["s3", "old"])
    parts(data, "comp2")["cache_mount"] = mount(lacks=["s3"])


MASTERS = ("mast1", "mast2", "mast3")
DEAF = {"said": "http://10.0.0.21:19999/: Connection refused", "values": {}}
DATA_CASES: tuple[Case, ...] = (
    Case(
        "objects-gateway", "stor1", "Connection refused", put("stor1", "objects", gateway=answer(0, REFUSED))
    ),
    Case("objects-gateway", "stor2", "HTTP 503", put("stor2", "objects", gateway=answer(503))),
    Case(
        "objects-address",
        "stor1",
        "2 of 2 gateways answer at their own",
        put("stor1", "objects", address=answer(0, REFUSED)),
    ),
    Case("objects-address", "stor2", "no gateway answers", nobody_serves),
    Case("objects-quota", "user ai", "95 of 100 bytes, 95%", usages(usage(95.0)), "warn"),
    Case("objects-quota", "cluster", "has counted lately", usages(usage(age=None, timer=None)), "unknown"),
    Case(
        "objects-usage", "stor1", "40 minutes old", put("stor1", "objects", usage=usage(age=2400.0)), "warn"
    ),
    Case(
        "objects-usage",
        "stor1",
        "there are none yet, and the timer does not run",
        put("stor1", "objects", usage=usage(age=None, timer=None)),
        "warn",
    ),
    Case("cache-leader", "mast1", "none of 3 masters leads", everywhere("cache_master", master(), *MASTERS)),
    Case("cache-leader", "mast2", "Connection refused", everywhere("cache_master", DEAF, *MASTERS)),
    Case("cache-leader", "mast3", "does not answer", replace("mast3", "cache_master", DEAF), "warn"),
    Case("cache-leader", "mast3", "mast2 and mast3 lead", replace("mast3", "cache_master", master(0.0, 2.0))),
    Case("cache-leader", "mast1", "the only master does not lead; mast1: http", alone(DEAF)),
    Case(
        "cache-workers",
        "cluster",
        "counts 1 workers, the site file has 2; 1 are lost",
        replace("mast2", "cache_master", master(0.0, 1.0, Cluster_LostWorkers=1.0)),
        "warn",
    ),
    Case("cache-workers", "cluster", "counts 0 workers", alone(master(None, 0.0)), "warn"),
    Case("cache-workers", "cluster", "no master leads", alone(DEAF), "unknown"),
    Case("cache-worker", "comp1", "refused", replace("comp1", "cache_worker", DEAF)),
    Case(
        "cache-worker", "comp1", "no room", put("comp1", "cache_worker", values={"Worker_CapacityTotal": 0.0})
    ),
    Case(
        "cache-mount", "comp2", "nothing is mounted", replace("comp2", "cache_mount", mount("", lacks=None))
    ),
    Case(
        "cache-mount",
        "comp2",
        "fuse.ceph-fuse is mounted",
        put("comp2", "cache_mount", kind="fuse.ceph-fuse"),
    ),
    Case(
        "cache-mount",
        "comp2",
        "does not answer: no answer in time",
        replace("comp2", "cache_mount", mount(answers=False, said="no answer in time", lacks=None)),
    ),
    Case("cache-mount", "comp2", "cannot be listed: x", put("comp2", "cache_mount", said="x", lacks=None)),
    Case("cache-stores", "cluster", "no /s3,", lacks),
    Case(
        "cache-stores",
        "cluster",
        "no client could list",
        everywhere("cache_mount", mount("", lacks=None), "comp1", "comp2"),
        "unknown",
    ),
    Case("logs-store", "comp1", "refused", replace("comp1", "log_store", store(status=0, said=REFUSED))),
    Case("logs-store", "comp1", "HTTP 500", replace("comp1", "log_store", store(status=500))),
    Case("logs-disk", "comp1", "takes no more", replace("comp1", "log_store", store(400))),
    Case("logs-disk", "comp1", "takes no more", replace("comp1", "log_store", store(read_only=1.0))),
    Case("logs-disk", "comp2", "900 MiB", replace("comp2", "log_store", store(900)), "warn"),
    Case("logs-watch", "comp2", "15 minutes old", replace("comp2", "log_store", store(age=900.0)), "warn"),
    Case(
        "logs-shipper", "mast1", "inactive (dead)", replace("mast1", "log_shipper", shipper("inactive", None))
    ),
    Case("logs-shipper", "mast1", "does not answer", replace("mast1", "log_shipper", shipper(up=0.0))),
    Case(
        "logs-lost",
        "stor3",
        "of 2.0 h ago it has lost 7 lines that comp1",
        replace("stor3", "log_shipper", shipper(dropped=7.0)),
        "warn",
    ),
    Case(
        "logs-lost",
        "stor3",
        "20000 lines wait",
        replace("stor3", "log_shipper", shipper(waiting=2e4)),
        "warn",
    ),
    Case("logs-lost", "stor3", "10 minutes old", replace("stor3", "log_shipper", shipper(age=600.0)), "warn"),
)
