# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

"""Sizes of the cache on a node, from its machine: preflight judges by the rule that the role works by."""

# MiB that are never given away: the kernel, sshd and the exporters live on them.
KEPT_MIB = 1024
# Share of the memory that the cache takes of a machine of its own, and of one that it shares.
SHARE_ALONE = 0.75
SHARE_SHARED = 0.15
# Share of a disk that a tier takes: of one of its own, and of the one that the system lies on.
DISK_ALONE = 0.8
DISK_SHARED = 0.25
# Least and most. With the least of all three the lab's cache serves.
HEAPS = {"master": (384, 65536), "worker": (384, 16384), "client": (192, 8192)}
LEAST_TIER_MIB = 64
BLOCK_MIB = (1, 64)
BLOCKS = 16


class CacheSizeError(Exception):
    """It does not fit on the machine; C(reason) and C(remedy) are for people."""

    def __init__(self, reason, remedy):
        super(CacheSizeError, self).__init__("%s Remedy: %s" % (reason, remedy))
        self.reason, self.remedy = reason, remedy


def budget(memory_mib, dedicated):
    """Return the MiB of memory that all parts of the cache on a node may take together."""
    return int(max(0, memory_mib - KEPT_MIB) * (SHARE_ALONE if dedicated else SHARE_SHARED))


def heap(part, parts, memory_mib, dedicated):
    """Return the Java heap of one part on a node that runs these parts, MiB.

    A master alone has most of the budget, since it keeps all names in memory; beside a worker little more than a tenth,
    since the tier is what the machine is for. A worker's heap is small against its tier: it moves bytes. Each lies
    between the bounds of HEAPS.
    """
    least, most = HEAPS[part]
    whole = budget(memory_mib, dedicated)
    shares = {"master": 0.12 if "worker" in parts else 0.8, "worker": 0.1, "client": 0.05}
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
        CacheSizeError: it does not fit on the machine.
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
            raise CacheSizeError(
                "The tier %s would have %d MiB: the machine has %d MiB of memory, of which heaps take %d."
                % (tier["kind"], max(0, quota), memory, sum(found.values())),
                "Give this node more, or set the tier's quota_mib and the heaps in components.alluxio.",
            )
        made.append({"kind": tier["kind"], "path": tier["path"], "quota_mib": int(quota)})
    taken = sum(found.values()) + sum(t["quota_mib"] for t in made if t["kind"] == "MEM")
    if taken > memory - KEPT_MIB // 2:
        raise CacheSizeError(
            "The cache would take %d MiB of this machine's %d MiB of memory." % (taken, memory),
            "Set smaller heaps or a smaller tier MEM in components.alluxio.",
        )
    least = min([t["quota_mib"] for t in made] or [BLOCKS * BLOCK_MIB[1]])
    block = block_mib or int(min(BLOCK_MIB[1], max(BLOCK_MIB[0], least // BLOCKS)))
    if made and block > least:
        raise CacheSizeError(
            "A block of %d MiB fits in no tier of %d MiB." % (block, least),
            "Set a smaller block_mib in components.alluxio.",
        )
    return {"heaps": found, "tiers": made, "block_mib": block}
