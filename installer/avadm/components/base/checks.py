"""Machines: reached, clocks, disks, memory, kernel's limits, private copies of the host's mounts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median_low
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.findings import Finding

DISK_WARN, DISK_BAD = 20.0, 10.0
"""Percent free: as the alerts HostDiskSpaceLow and HostDiskPressure (docs/reference/generated/alerts.md)."""
INODES_WARN = 10.0
MEMORY_WARN = 0.05
MEMORY_BAD = 0.02
INOTIFY_WARN = 0.85
ROOM_PERCENT = 5.0
"""How far above kubelet's threshold of eviction it is reported."""
VAGUE_MS = 5000.0
"""A clock measured no better than this is not known."""


def _reached(s: Snapshot) -> Iterator[Finding]:
    for name, facts in s.nodes.items():
        if facts.silent:
            yield bad(facts.silent, name)


def _clocks(s: Snapshot) -> Iterator[Finding]:
    known = {n: f.clock for n, f in s.nodes.items() if f.clock is not None}
    for name in [n for n, f in s.nodes.items() if f.clock is None and not f.silent]:
        yield unknown("it did not tell its time", name)
    if not known:
        return
    middle = median_low(c.offset_ms for c in known.values())
    for name, clock in known.items():
        away = abs(clock.offset_ms - middle)
        if away - clock.error_ms > s.site.max_skew_ms:
            yield bad(
                f"{clock.offset_ms - middle:+.0f} ms (± {clock.error_ms:.0f}) from the other nodes' clocks",
                name,
            )
        elif clock.error_ms > VAGUE_MS:
            yield unknown(f"the answer took too long to tell: ± {clock.error_ms:.0f} ms", name)


def _full(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for m in data:
        free, text = m["free_percent"], f"{m['point']}: {m['free_percent']:g} % ({m['free_mib']} MiB) free"
        if free < DISK_BAD:
            yield bad(text)
        elif free < DISK_WARN:
            yield warn(text)
        if m["inodes_percent"] is not None and m["inodes_percent"] < INODES_WARN:
            yield warn(f"{m['point']}: {m['inodes_percent']:g} % of its inodes free")


def _eviction(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    least = s.site.disk_percent
    for m in data:
        if not m["point"].startswith(("/var/lib/docker", "/var/lib/kubelet")) and m["point"] not in (
            "/",
            "/var",
            "/var/lib",
        ):
            continue
        if m["free_percent"] < least:
            yield bad(f"{m['point']}: {m['free_percent']:g} % free, kubelet evicts pods below {least:g} %")
        elif m["free_percent"] < least + ROOM_PERCENT:
            yield warn(
                f"{m['point']}: {m['free_percent']:g} % free, kubelet will evict pods below {least:g} %"
            )


def _read_only(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for m in data:
        # What is meant to be read-only is no folder that we write to.
        if m["read_only"] and (m["point"] == "/" or m["point"].startswith(("/var", "/srv", "/mnt", "/home"))):
            yield bad(f"{m['point']} ({m['device']}) is read-only")


def _memory(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    share = data["available"] / data["total"]
    text = f"{data['available']} of {data['total']} MiB available"
    if share < MEMORY_BAD:
        yield bad(text)
    elif share < MEMORY_WARN:
        yield warn(text)


def _inotify(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    it = data["inotify"]
    if it["refused"]:
        yield bad(
            f"the kernel gives no further inotify instance: {it['refused']} (limit {it['instances']}, {it['used']} seen)"
        )
    elif it["used"] > INOTIFY_WARN * it["instances"]:
        yield warn(f"{it['used']} inotify instances of {it['instances']} are in use")


def _files(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    share = data["files"]
    if share["open"] > INOTIFY_WARN * share["most"]:
        yield bad(f"{share['open']} files are open, {share['most']} may be")


def _private(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for p in data:
        yield bad(
            f"{p['command']} (pid {p['pid']}) holds the host's root at {p['point']} and hears of no unmount"
        )


_check = partial(Check, topic="hosts")


CHECKS = (
    _check(
        "node-reached",
        "a node that cannot be reached",
        (),
        _reached,
        scope="all",
        remedy="Look at its power, network and sshd; `avadm preflight --only reachability` tries it again.",
        requirement="K2",
        good="every node answers",
    ),
    _check(
        "node-clock",
        "a clock that is away from the others",
        (),
        _clocks,
        scope="all",
        remedy="Look at `chronyc tracking` and `chronyc sources` there; `systemctl restart chrony`.",
        requirement="I1",
        good="within the limit, as far as could be measured",
    ),
    _check(
        "disk-space",
        "a file system that is nearly full, of space or of inodes",
        ("mounts",),
        _full,
        remedy="Find what is large (`du -xh --max-depth=2 MOUNTPOINT | sort -h`): unused images, old logs "
        "(`journalctl --vacuum-size=500M`).",
        requirement="K3",
        good="free space OK on all file systems",
    ),
    _check(
        "disk-eviction",
        "a disk so full that kubelet evicts pods, or soon will",
        ("mounts",),
        _eviction,
        roles=("master", "worker"),
        remedy="Free space before pods are evicted: `docker image prune`, old logs, what pods have left in emptyDir volumes.",
        requirement="K3",
        good="more room than kubelet wants",
    ),
    _check(
        "disk-read-only",
        "a file system that went read-only",
        ("mounts",),
        _read_only,
        remedy="Read `dmesg -T` for the error, `smartctl -a DEVICE` for the disk; check the file system "
        "unmounted before it is written to again.",
        requirement="K7",
        good="none is read-only",
    ),
    _check(
        "memory",
        "too little memory",
        ("memory",),
        _memory,
        remedy="See who holds it (`ps -eo rss,pid,comm --sort -rss | head`); on storage nodes compare "
        "osd_memory_mib × OSDs with the memory.",
        requirement="K5",
        good="memory enough",
    ),
    _check(
        "inotify",
        "the kernel gives no more inotify instances (kubelet, systemd and tail stop)",
        ("kernel",),
        _inotify,
        remedy="Raise fs.inotify.max_user_instances (sysctl); find who holds many: `ls -l /proc/*/fd | grep -c inotify`.",
        requirement="K2",
        good="inotify instances are available",
    ),
    _check(
        "open-files",
        "nearly as many open files as the kernel allows",
        ("kernel",),
        _files,
        remedy="Find who opens them (`ls /proc/*/fd | wc -l` by process); raise fs.file-max only after that.",
        requirement="K2",
        good="few of the files that may be open are",
    ),
    _check(
        "private-mounts",
        "a process that holds a private copy of the host's mounts: a volume that the host unmounts stays mapped",
        ("private_mounts",),
        _private,
        remedy="Stop that process; run it as a service of the host, or mount the host's root into it with propagation rslave.",
        requirement="K1",
        good="no private copies of the host's mounts",
    ),
)
