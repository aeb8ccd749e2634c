"""Kubernetes' servers and nodes: why a node is not ready, pressure, versions, time-outs of watches, a cluster recreated."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.findings import Finding

PRESSURES = {"DiskPressure", "MemoryPressure", "PIDPressure", "OutOfDisk"}
LEAST_TIMEOUT_S = 600.0
"""A watch lasts 30 to 60 minutes by the API server's choice (--min-request-timeout 1800), with a word now and then."""
NEWBORN_S = 86400
"""How much older a snapshot may be: etcd is there, and takes snapshots, before Kubernetes is."""
CAUSES = (
    ("kubelet.service", "kubelet does not run"),
    ("docker.service", "docker does not run"),
    ("calico-node.service", "calico-node does not run"),
)


def _servers(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for server, reply in sorted(data.items()):
        if reply != "ok":
            yield bad(f"{server}: {reply}")


def _ready(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for name, state in sorted(data["nodes"].items()):
        status, message = state["conditions"].get("Ready", ["Unknown", "the node tells nothing"])
        if status != "True":
            cause = _cause(s, name, state)
            yield bad(f"not ready ({message.strip()}); cause: {cause}", name)
        elif state["cordoned"]:
            yield warn(
                "cordoned: no new pod comes here",
                name,
                f"`avadm node uncordon {name}` when what it was cordoned for is done.",
            )
    for n in s.site.with_role("master", "worker"):
        if n.name not in data["nodes"]:
            yield bad("Kubernetes does not know this node", n.name)


def _cause(s: Snapshot, name: str, state: Any) -> str:
    """Return why a node is not ready, as far as the node itself and its conditions tell (K2)."""
    facts = s.nodes.get(name)
    if facts is None or facts.silent:
        return f"the node does not answer ({facts.silent if facts else 'it was not asked'})"
    found = []
    units = facts.parts.get("units") or {}
    for unit, words in CAUSES:
        if unit in units and units[unit]["active"] != "active":
            found.append(words)
    cni = facts.parts.get("cni") or {}
    if cni and (not cni["folder"] or not cni["configurations"] or set(cni["named"]) - set(cni["there"])):
        found.append("the network of pods is not configured (cni-plugins)")
    if cni.get("lock_is_folder"):
        found.append("/run/xtables.lock is a folder")
    found += [f"{k}: {v[1]}" for k, v in state["conditions"].items() if k in PRESSURES and v[0] == "True"]
    return "; ".join(found) or "not seen; `journalctl -u kubelet -e` there"


def _pressure(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for name, state in sorted(data["nodes"].items()):
        for kind, (status, message) in sorted(state["conditions"].items()):
            if kind in PRESSURES and status == "True":
                yield bad(f"{kind}: {message}", name)
            elif kind == "NetworkUnavailable" and status == "True":
                yield bad(f"the network of pods is not there: {message}", name)


def _skew(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    server = _pair(data["version"])
    for name, state in sorted(data["nodes"].items()):
        kubelet = _pair(state["kubelet"])
        if kubelet > server:
            yield bad(f"kubelet {state['kubelet']} is newer than the API server {data['version']}", name)
        elif server[0] != kubelet[0] or server[1] - kubelet[1] > 2:
            yield bad(f"kubelet {state['kubelet']} is more than two releases behind {data['version']}", name)
        elif state["kubelet"] != data["version"]:
            yield warn(f"kubelet {state['kubelet']}, API server {data['version']}", name)
    wanted = s.site.versions.get("kube-apiserver", "")
    if not data["version"].startswith(wanted):
        yield warn(f"the API server is {data['version']}, the profile wants {wanted}…", "cluster")


def _pair(version: str) -> tuple[int, int]:
    first, second = version.split(".")[:2]
    return int(first), int("".join(c for c in second if c.isdigit()))


def _timeouts(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for kind, seconds in sorted(data.items()):
        if seconds < LEAST_TIMEOUT_S:
            yield warn(
                f"haproxy ends {kind} connections that are silent for {seconds:g} s: watches end with them"
            )


def _reset(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    since = data["since"]
    if since is None:
        yield unknown("the namespace kube-system does not say since when it is there", "cluster")
        return
    if s.first("etcd") is None:
        yield unknown("no etcd node reported its snapshots", "cluster")
    for n in s.site.with_role("etcd"):
        held = [at for at in (s.part(n.name, "etcd") or {}).get("snapshots", []) if at]
        if held and since - held[0] > NEWBORN_S:
            yield bad(
                f"Kubernetes' data are of {_day(since)}, but a snapshot of etcd is of {_day(held[0])}: "
                f"the database was recreated since",
                n.name,
            )


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


_check = partial(Check, roles=("master",), topic="kubernetes")


def _site(
    id_: str, title: str, remedy: str, judge: Any, requirement: str, good: str, also: tuple[str, ...] = ()
) -> Check:
    return _check(
        id_,
        title,
        ("kubernetes",),
        judge,
        scope="site",
        remedy=remedy,
        requirement=requirement,
        good=good,
        also=also,
    )


CHECKS = (
    _check(
        "kube-servers",
        "an API server, controller-manager or scheduler that is unhealthy",
        ("servers",),
        _servers,
        remedy="`journalctl -u SERVER -e` on that master; where etcd is the reason, see the topic etcd.",
        requirement="K2",
        good="all three answer",
    ),
    _site(
        "kube-nodes-ready",
        "a node that is not ready, and why",
        "Fix the cause that is named; then `kubectl get nodes` shows it Ready within a minute.",
        _ready,
        "K2",
        "every node is ready",
        ("units", "cni"),
    ),
    _site(
        "kube-pressure",
        "a node under pressure of disk, memory or processes: it evicts pods and takes no new ones",
        "Free what the evidence names (`docker image prune`, old logs; `ps -eo rss,pid,comm --sort "
        "-rss`): it ends by itself within five minutes.",
        _pressure,
        "K3",
        "no node is under pressure",
    ),
    _site(
        "kube-versions",
        "kubelets and servers of different versions",
        "Finish the upgrade: masters first, then nodes; `avadm preflight --versions` shows every part.",
        _skew,
        "I7",
        "all of one version",
    ),
    _check(
        "api-timeouts",
        "a proxy before the API that ends silent connections: watches of every kind end before their time",
        ("haproxy",),
        _timeouts,
        remedy="Set `timeout client` and `timeout server` of haproxy to hours (`avadm apply masters` writes "
        "4h). That watches of custom "
        "resources alone end after 60 to 120 s is no proxy's doing: the API servers of these versions end those themselves, "
        "built-in kinds after 30 to 60 minutes. A client sets timeoutSeconds and resumes from its last resourceVersion.",
        requirement="K10",
        good="silent connections live for long; watches of custom resources end after 60 to 120 s by the API server's own doing",
    ),
    _site(
        "kube-reset",
        "a cluster whose data was created again, as by a one-off job that an upgrade ran again",
        "Stop what makes objects; `avadm-etcd ctl snapshot status FILE` shows what the old snapshots hold; restore the last one "
        "(docs/explanation/kubernetes.md). Find who ran the job: the audit log of the API servers.",
        _reset,
        "K11",
        "as old as its snapshots, or older",
        ("etcd",),
    ),
)
