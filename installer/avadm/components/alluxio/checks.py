"""The cache (Alluxio): who leads, which workers serve, whether each client has it mounted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.components.alluxio.component import CLIENT as CACHE_CLIENT
from avadm.components.alluxio.component import MASTER as CACHE_MASTER
from avadm.components.alluxio.component import READER as CACHE_READER
from avadm.components.alluxio.component import WORKER as CACHE_WORKER
from avadm.findings import Finding
from avadm.quantity import quantity

LEADER = 0
"""Master_RoleId of the one that leads: RaftPeerRole of Apache Ratis; only masters that elect have it."""


def _leads(page: Any, alone: bool) -> bool:
    values = page["values"]
    if "Master_RoleId" in values:
        return bool(values["Master_RoleId"] == LEADER)
    # The others have the figure too, and it is 0 there.
    return "Cluster_Workers" in values if alone else values.get("Cluster_Workers", 0) > 0


def _masters(s: Snapshot) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return the pages of the masters that were asked, the names of those that lead, and of those that did not say."""
    names = [n.name for n in s.site.with_role(CACHE_MASTER)]
    pages = {n: page for n in names if (page := s.part(n, "cache_master")) is not None}
    leaders = [n for n, page in pages.items() if _leads(page, len(names) == 1)]
    return pages, leaders, [n for n in names if n not in pages]


def _leader(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    pages, leaders, blind = _masters(s)
    deaf = {n: page["said"] for n, page in pages.items() if page["said"]}
    if len([n for n in leaders if "Master_RoleId" in pages[n]["values"]]) > 1:
        yield bad(f"{' and '.join(leaders)} lead at once", ", ".join(leaders))
    elif leaders:
        for name, reply in deaf.items():
            yield warn(f"this master does not answer: {reply}", name)
    elif blind:
        yield unknown(f"none that answers leads; {', '.join(blind)} did not say", ", ".join(blind))
    else:
        words = [f"{n}: {reply}" for n, reply in deaf.items()]
        count = (
            f"none of {quantity(len(pages), 'master')} leads"
            if len(pages) > 1
            else "the only master does not lead"
        )
        yield bad("; ".join([count, *words]), ", ".join(deaf or pages))


def _workers(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    pages, leaders, _ = _masters(s)
    if not leaders:
        yield unknown("no master leads, so they are not counted", "cluster")
        return
    values, wanted = pages[leaders[0]]["values"], len(s.site.with_role(CACHE_WORKER))
    serve, lost = int(values["Cluster_Workers"]), int(values.get("Cluster_LostWorkers", 0))
    if serve < wanted or lost:
        text = f"{leaders[0]} counts {quantity(serve, 'worker')}, the site file has {wanted}"
        yield warn(text + (f"; {lost} are lost" if lost else ""), "cluster")


def _worker(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if data["said"]:
        yield bad(f"it does not answer: {data['said']}")
    elif data["values"].get("Worker_CapacityTotal") == 0:
        yield bad("it has no room: Worker_CapacityTotal is 0")


def _mount(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    point, kind = data["point"], data["kind"]
    if not kind:
        yield bad(f"nothing is mounted at {point}: what is written there stays on this node's disk")
    elif not _ours(kind):
        yield bad(f"{kind} is mounted at {point}, which is not the cache")
    elif not data["answers"]:
        yield bad(f"{point} is mounted and does not answer: {data['said']}")
    elif data["lacks"] is None:
        yield bad(f"{point} is mounted and cannot be listed: {data['said']}")


def _ours(kind: str) -> bool:
    return kind.startswith("fuse") and not kind.startswith("fuse.ceph")


def _stores(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    reports = [found for n in s.site.with_role(CACHE_CLIENT) if (found := s.part(n.name, "cache_mount"))]
    lacks = [found["lacks"] for found in reports if _ours(found["kind"]) and found["lacks"] is not None]
    if not lacks:
        yield unknown("no client could list the cache", "cluster")
        return
    # What one client sees is there: another may remember names for some seconds.
    for name in sorted(set.intersection(*map(set, lacks))):
        yield bad(f"the cache has no /{name}, which the site file mounts there", "cluster")


def _hdfs(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for path, servers in sorted(data.items()):
        deaf = "; ".join(f"{name}: {reply}" for name, reply in sorted(servers.items()) if reply)
        if deaf and all(servers.values()):
            yield bad(f"no namenode of {path} answers: nothing can be read there until one does ({deaf})")
        elif deaf:
            yield warn(f"not all namenodes of {path} answer: {deaf}")


_check = partial(Check, topic="cache")


CHECKS = (
    _check(
        "cache-leader",
        "masters of the cache of which none leads, or that do not answer",
        ("cache_master",),
        _leader,
        roles=(CACHE_MASTER,),
        scope="site",
        remedy="`systemctl status avadm-alluxio-master` and `journalctl -u avadm-alluxio-master -e` there; `systemctl start "
        "avadm-alluxio-master` on the masters until most of them run.",
        requirement="I4",
        good="one leads",
    ),
    _check(
        "cache-workers",
        "workers of the cache that the leading master does not count, or has lost",
        ("cache_master",),
        _workers,
        roles=(CACHE_MASTER,),
        scope="site",
        remedy="`avadm-alluxio fsadmin report capacity` on a master names them; `journalctl -u avadm-alluxio-worker -e` there.",
        requirement="I4",
        good="as many serve as the site file has",
    ),
    _check(
        "cache-worker",
        "a worker of the cache that does not answer, or has no room",
        ("cache_worker",),
        _worker,
        roles=(CACHE_WORKER,),
        remedy="`systemctl status avadm-alluxio-worker` and `journalctl -u avadm-alluxio-worker -e` there; "
        "then `avadm apply cache`.",
        requirement="I4",
        good="it answers",
    ),
    _check(
        "cache-mount",
        "the cache, not mounted on a client or not answering there",
        ("cache_mount",),
        _mount,
        roles=(CACHE_CLIENT,),
        remedy="Where all clients have it, see cache-leader first. Else `journalctl -u avadm-alluxio-fuse -e` "
        "there; `systemctl restart "
        "avadm-alluxio-fuse`, which takes the mount from who uses it.",
        requirement="I4",
        good="mounted, and it answers",
    ),
    _check(
        "cache-stores",
        "an under store that is not mounted in the cache",
        ("cache_mount",),
        _stores,
        roles=(CACHE_CLIENT,),
        scope="site",
        remedy="`avadm apply cache` mounts it; `avadm-alluxio fs mount` on a master shows what is.",
        requirement="I4",
        good="all of the site file's are there",
    ),
    _check(
        "cache-hdfs",
        "an HDFS behind the cache whose namenodes a master or worker does not reach",
        ("cache_hdfs",),
        _hdfs,
        roles=(CACHE_READER,),
        remedy="Ask who runs the HDFS; where it runs, see on that node that its names are known and nothing on "
        "the way refuses its "
        "port.",
        requirement="N6",
        good="its namenodes answer",
    ),
)
