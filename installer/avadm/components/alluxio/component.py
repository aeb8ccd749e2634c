"""The cache before file system and object stores (Alluxio)."""

from __future__ import annotations

from avadm.components.alluxio import placement as cache
from avadm.components.model import (
    Bootstrap,
    Component,
    Daemon,
    Packages,
    Peer,
    Phase,
    Port,
    Probe,
    Program,
    Stage,
)
from avadm.components.version_commands import jar
from avadm.site.model import Node, Site

MASTER, WORKER, CLIENT = "cache-master", "cache-worker", "cache-client"
"""Duties: the node runs a master, a worker; it mounts the cache."""
ANY_CLIENT = "any client that names a user (SIMPLE authentication)"
"""Who is let in at a port that nodes reach: anyone who comes is believed to be who they say. Pods reach none of them."""
READER = "cache-reader"
"""Duty: the node runs a master or a worker, which reads an HDFS."""
MEMBER = "cache-member"
"""Duty: the node has any part of the cache."""


def _with(role: str, site: Site) -> list[Node]:
    return site.with_role(role) if site.components.alluxio else []


def _reading(site: Site) -> list[Node]:
    """Return the nodes that ask namenodes; none where no under store is an HDFS."""
    knobs = site.components.alluxio
    if not (knobs and any(m.hdfs for m in knobs.mounts)):
        return []
    return [n for n in site.nodes if {"alluxio_master", "alluxio_worker"} & set(n.roles)]


def mounting(site: Site) -> list[Node]:
    """Return the nodes that mount the cache: without FUSE there is nothing to look at."""
    knobs = site.components.alluxio
    return cache.clients(site) if knobs and knobs.fuse else []


COMPONENT = Component(
    phase=Phase(
        "cache",
        "cache before file system and object stores",
        "playbooks/alluxio.yml",
        ("base", "cephfs", "objects"),
        ("alluxio_master", "alluxio_worker", "alluxio_client"),
        ("alluxio",),
        component="alluxio",
        chooses=cache.members,
        artifacts=("alluxio",),
        apart=True,
    ),
    duties={
        MASTER: lambda site: _with("alluxio_master", site),
        WORKER: lambda site: _with("alluxio_worker", site),
        CLIENT: mounting,
        READER: _reading,
        MEMBER: cache.members,
    },
    packages={MEMBER: Packages(base=("alluxio",))},
    ports=tuple(
        Port(
            number=number,
            program="java",
            what=what,
            duty=duty,
            peers=peers,
            who=ANY_CLIENT if Peer.NODES in peers else "all",
            always=number != cache.JOURNAL_PORT,
        )
        # None for pods: the master's REST gives contents of files. The platform asks it through the API server
        # (ava/files/cache_stats.py).
        for number, what, duty, peers in (
            (cache.MASTER_PORT, "the cache's master", "alluxio_master", (Peer.NODES,)),
            (cache.MASTER_WEB_PORT, "the master's metrics and REST", "alluxio_master", (Peer.NODES,)),
            (cache.JOURNAL_PORT, "masters' journal", "alluxio_master", ("alluxio_master",)),
            (cache.WORKER_PORT, "the cache's workers", "alluxio_worker", (Peer.NODES,)),
            (cache.WORKER_WEB_PORT, "the worker's metrics and REST", "alluxio_worker", (Peer.NODES,)),
        )
    ),
    programs=(
        Program("alluxio-master", (MASTER,), jar("avadm-alluxio-master")),
        Program("alluxio-worker", (WORKER,), jar("avadm-alluxio-worker")),
    ),
    questions=(
        Probe("cache_master", (MASTER,)),
        Probe("cache_worker", (WORKER,)),
        Probe("cache_mount", (CLIENT,)),
        Probe("cache_hdfs", (READER,)),
    ),
    bootstrap=Bootstrap("alluxio-journal", MASTER, "alluxio"),
    daemons=(
        Daemon(stage=Stage.CACHE_MOUNTS, units=("avadm-alluxio-fuse.service",), duties=(CLIENT,)),
        Daemon(stage=Stage.CACHE, units=("avadm-alluxio-worker.service",), duties=(WORKER,)),
        Daemon(stage=Stage.CACHE, units=("avadm-alluxio-master.service",), duties=(MASTER,)),
    ),
)
