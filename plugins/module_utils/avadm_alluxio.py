# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

"""Alluxio on a node: sizes from the hardware, the table of mounts, and when a journal may be formatted."""

import os
import re

# MIB that are never given away: the kernel, sshd and the exporters live on them.
KEPT_MIB = 1024
# Share of the memory that the cache takes of a machine of its own, and of one that it shares.
SHARE_ALONE = 0.75
SHARE_SHARED = 0.15
# Share of a disk that a tier takes: of one of its own, and of the one that the system lies on.
DISK_ALONE = 0.8
DISK_SHARED = 0.25
HEAPS = {"master": (512, 65536), "worker": (512, 16384), "client": (256, 8192)}
LEAST_TIER_MIB = 64
BLOCK_MIB = (1, 64)
BLOCKS = 16


class AlluxioError(Exception):
    """Something cannot be as it is asked for; the text is for people."""


def budget(memory_mib, dedicated):
    """Return the MiB of memory that all parts of the cache on a node may take together."""
    return int(max(0, memory_mib - KEPT_MIB) * (SHARE_ALONE if dedicated else SHARE_SHARED))


def heap(part, parts, memory_mib, dedicated):
    """Return the Java heap of one part on a node that runs these parts, MiB.

    A master alone has most of the budget, since it keeps all names in memory; beside a worker a third of it. A worker's
    heap is small against its tier: it moves bytes. Each lies between the bounds of HEAPS.
    """
    least, most = HEAPS[part]
    whole = budget(memory_mib, dedicated)
    shares = {"master": 0.33 if "worker" in parts else 0.8, "worker": 0.1, "client": 0.05}
    return int(min(most, max(least, whole * shares[part])))


def sizes(facts, parts, dedicated, tiers, heaps, block_mib=0):
    """Return heaps, tiers with quotas, and the size of a block, all in MiB.

    Args:
        facts: C(memory_mib) of the machine; C(disks): path of each tier to (MiB of its disk, whether the system lies
            there, how many tiers share it).
        parts: what runs on this node: any of master, worker, client.
        dedicated: whether nothing else of weight runs there.
        tiers: dicts with kind, path and quota_mib (None: computed), the fastest first.
        heaps: part to the heap that is asked for (0: computed).
        block_mib: size of a block; 0: computed.

    Raises:
        AlluxioError: it does not fit on the machine.
    """
    memory = facts["memory_mib"]
    found = {part: heaps.get(part) or heap(part, parts, memory, dedicated) for part in parts}
    made = []
    for tier in tiers if "worker" in parts else []:
        quota = tier.get("quota_mib")
        if not quota and tier["kind"] == "MEM":
            # Beside each heap Java keeps as much again outside of it for buffers.
            quota = budget(memory, dedicated) - 2 * sum(found.values())
        elif not quota:
            size, shared, users = facts["disks"][tier["path"]]
            quota = int(size * (DISK_SHARED if shared else DISK_ALONE) / max(1, users))
        if quota < LEAST_TIER_MIB:
            raise AlluxioError(
                "The tier %s would have %d MiB: the machine has %d MiB of memory, of which heaps take %d. Remedy: give"
                " this node more, or set its quota_mib and the heaps in components.alluxio."
                % (tier["kind"], max(0, quota), memory, sum(found.values()))
            )
        made.append({"kind": tier["kind"], "path": tier["path"], "quota_mib": int(quota)})
    taken = sum(found.values()) + sum(t["quota_mib"] for t in made if t["kind"] == "MEM")
    if taken > memory - KEPT_MIB // 2:
        raise AlluxioError(
            "The cache would take %d MiB of this machine's %d MiB of memory. Remedy: smaller heaps or a smaller tier MEM"
            " in components.alluxio." % (taken, memory)
        )
    least = min([t["quota_mib"] for t in made] or [BLOCKS * BLOCK_MIB[1]])
    block = block_mib or int(min(BLOCK_MIB[1], max(BLOCK_MIB[0], least // BLOCKS)))
    if made and block > least:
        raise AlluxioError(
            "A block of %d MiB fits in no tier of %d MiB. Remedy: a smaller block_mib in components.alluxio."
            % (block, least)
        )
    return {"heaps": found, "tiers": made, "block_mib": block}


def memory_mib(text):
    """Return the MiB of a machine's memory from the text of /proc/meminfo."""
    return int(re.search(r"^MemTotal:\s+(\d+) kB", text, re.M).group(1)) // 1024


def parent(path):
    """Return the nearest folder above (or at) a path that is there."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def disks(paths):
    """Return for each path (MiB of the disk it lies on or will, whether / lies there too, how many paths do)."""
    devices = {path: os.stat(parent(path)).st_dev for path in paths}
    found = {}
    for path, device in devices.items():
        stats = os.statvfs(parent(path))
        users = len([d for d in devices.values() if d == device])
        found[path] = (stats.f_blocks * stats.f_frsize // (1 << 20), device == os.stat("/").st_dev, users)
    return found


def mounted(text):
    """Return under store by folder, from what C(fs mount) prints; its other columns are not read."""
    found = {}
    for line in text.split("\n"):
        match = re.match(r"(\S+)\s+on\s+(/\S*)\s+\(", line)
        if match:
            found[match.group(2)] = match.group(1)
    return found


def same_store(one, other):
    """Whether two addresses of an under store are the same but for the slash at their end, or file://."""
    plain = [re.sub(r"^file://", "", text).rstrip("/") for text in (one, other)]
    return plain[0] == plain[1]


def quoted(words):
    """Return words as a file of arguments holds them for Java, one a line."""
    return "".join('"%s"\n' % word.replace("\\", "\\\\").replace('"', '\\"') for word in words)


def entries(folder):
    """Return the names in a folder; none where it is not there."""
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def journal_action(found, marker, kind, replace=False):
    """Return what is to be done about a journal: ``format``, ``keep`` or ``mark``.

    Args:
        found: names in the journal's folder.
        marker: the kind that was bootstrapped, None where none was.
        kind: UFS or EMBEDDED, the kind that is wanted.
        replace: whether one that was lost, or moved away, may be recreated.

    Raises:
        AlluxioError: neither would be right; nothing is ever formatted that holds anything.
    """
    if not found and (marker is None or replace):
        return "format"
    if marker is None:
        return "mark"
    if marker != kind:
        raise AlluxioError(
            "The journal of this master is of the kind %s, wanted is %s: the number of masters was changed between one and"
            " three in the site file, and a journal cannot be taken over. Remedy: give the role alluxio_master to the former"
            " node alone again; `avadm cache masters NODE NODE NODE` changes it." % (marker, kind)
        )
    if not found:
        raise AlluxioError(
            "The journal of this master was formatted once and is empty or gone now. It is not formatted again, since it may"
            " only be away (a disk that is not mounted). Remedy: bring it back; or where it is lost, `avadm apply cache --replace"
            " NODE`: the under stores are mounted again, nothing in them is lost."
        )
    return "keep"
