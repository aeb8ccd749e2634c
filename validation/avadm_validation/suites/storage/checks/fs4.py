"""A-FS4: a million files in one directory of cephfs, made by several clients."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.storage.filemetrics import created, failed, missing, stat_p99
from avadm_validation.suites.storage.mds import active, daemon
from avadm_validation.suites.storage.measure import counts, course, samples
from avadm_validation.suites.storage.tools import filegen

ID = "A-FS4"
TITLE = ("cephfs: files in one directory", "cephfs:单目录文件数")
NEEDS = "cephfs"


@dataclass(frozen=True)
class ClientFiles:
    """Files that one client made: the node, the name in their names, and filegen's raw file."""

    node: str
    label: str
    path: str


def run(ctx: Context) -> Outcome:
    """Fill one directory from one client, then from all at once; count, stat, look at fragments, remove."""
    clients, p = ctx.target.clients, ctx.params
    procs, folder = int(p["procs"]), ctx.work
    base: list[str | float] = [
        "--dir",
        folder,
        "--layout",
        "shared",
        "--procs",
        procs,
        "--size",
        int(p["size"]),
    ]
    alone = int(p["alone"]) // procs
    each = -(-(int(p["files"]) - alone * procs) // (len(clients) * procs))
    total = (alone + each * len(clients)) * procs
    parts: list[ClientFiles] = []
    label = f"{clients[0]}.alone"
    try:
        if alone:
            first = filegen(ctx, "create", {clients[0]: ["--client", label]}, *base, "--files", alone)
            parts.append(ClientFiles(clients[0], label, first[0]))
        together = filegen(ctx, "create", {c: ["--client", c] for c in clients}, *base, "--files", each)
        parts += [ClientFiles(c, c, path) for c, path in zip(clients, together, strict=True)]
        fragments = _fragments(ctx)
        counted = ctx.everywhere(
            {clients[0]: ctx.tool("filegen.py", "count", dir=f"{folder}/r0", client=clients[0])},
            "count",
            timeout=3600,
        )
        stats = filegen(ctx, "stat", _others(ctx, parts), *base, "--files", int(p["stats"]))
    finally:
        _remove(ctx, parts)
    made = [part.path for part in parts]
    sampled = int(p["files"]) < 1_000_000
    return Outcome(
        method=f"filegen: {total:,} files of {p['size']} B in one directory: {alone * procs:,} by one client, the rest by "
        f"{len(clients)} clients × {procs} processes at once; readdir by {clients[0]}; "
        f"{int(p['stats']) * procs * len(clients):,} random stats, each client of another's files; fragments by the MDS's "
        f"admin socket{', after a forced split' if p['split'] == 'forced' else ''}",
        metrics=[
            created(ctx, made),
            failed(ctx, [*made, *stats]),
            missing(ctx, made, counted),
            stat_p99(ctx, stats),
            metric(
                "fragments",
                ("fragments of the directory", "目录分片数"),
                "fragments",
                "cluster",
                [ctx.sample("length", {"doc": [fragments]})],
            ),
            metric(
                "create",
                ("creates per second in the one directory", "单目录创建速率"),
                "files/s",
                "aggregate",
                samples(ctx, "rate", together),
            ),
            metric(
                "readdir",
                ("time of one whole readdir", "完整 readdir 耗时"),
                "s",
                "client",
                [ctx.sample("number", {"doc": counted}, path="seconds")],
            ),
        ],
        series=[course(ctx, "creates in one directory over time", "create", together, "files/s")],
        reasons=[f"sampled: {total:,} of 1,000,000 files, split by command; effort full makes them all"]
        if sampled
        else [],
        remedy="Fragments: mds_bal_split_size and mds_bal_fragment_size_max; errors: the MDS log.",
    )


def _others(ctx: Context, parts: list[ClientFiles]) -> dict[str, list[str | float]]:
    """Let each client look at what another one wrote; the first part by many comes before that of one alone."""
    clients, newest = ctx.target.clients, {part.node: part for part in reversed(parts)}
    return {
        reader: ["--client", newest[writer].label, "--counts", counts(ctx, newest[writer].path)]
        for reader, writer in zip([*clients[1:], clients[0]], clients, strict=True)
    }


def _fragments(ctx: Context) -> str:
    """Return the raw file of the directory's fragments; tell the MDS to split first where the effort says so."""
    inside = shlex.quote(f"/{ctx.name}/{ctx.rec.check}/r0")
    node, name = active(ctx)
    if ctx.params["split"] == "forced":
        daemon(ctx, node, name, f"dirfrag split {inside} 0/0 1", "dirfrag-split")
        ctx.rec.run(node, "sleep 1", "split-settles")
    daemon(ctx, node, name, f"dirfrag ls {inside}", "dirfrag-ls")
    return ctx.rec.last(node)


def _remove(ctx: Context, parts: list[ClientFiles]) -> None:
    """Remove the files, one client after another, each by the one that looked at it last.

    Any other would wait: ceph-fuse has its kernel forget each name first, some 40 ms. Several at once in this one
    directory can wait for each other for ever (seen with ceph-fuse 16.2: each holds the directory's lock, which the
    other's forgetting needs).
    """
    clients, limit = ctx.target.clients, float(ctx.params["timeout_s"])
    readers = {p.label: clients[(clients.index(p.node) + 1) % len(clients)] for p in parts}
    if parts and parts[0].label != parts[0].node:
        readers[parts[0].node] = parts[0].node  # only the part of one alone was looked at
    ctx.tell("clean up")
    for label, reader in readers.items():
        names = shlex.quote(f"{label}.[0-9]*")
        line = f"find {shlex.quote(ctx.work)} -name {names} -print0 | xargs -0 -r rm -f"
        ctx.rec.run(reader, line, "clean", timeout=limit)
    ctx.rec.run(clients[0], f"rm -rf {shlex.quote(ctx.work)}", "clean", timeout=limit)
