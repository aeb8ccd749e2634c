"""A-BD4: ten million files in one directory of a file system on a block image."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.storage.filemetrics import created, failed, missing, stat_p99
from avadm_validation.suites.storage.imagefs import NoMapper, UnknownFeature, formatted
from avadm_validation.suites.storage.measure import counts, course, samples
from avadm_validation.suites.storage.tools import filegen

ID = "A-BD4"
TITLE = ("rbd: files in one directory of its file system", "rbd:文件系统单目录文件数")
NEEDS = "rbd"
TARGET = 10_000_000


def run(ctx: Context) -> Outcome:
    """Create n files in one directory of ext4 with large_dir, count them, stat at random."""
    p, n = ctx.params, int(ctx.params["files"])
    base: list[str | float] = ["--layout", "shared", "--procs", 1, "--size", int(p["size"])]
    try:
        with formatted(ctx, str(p["image_size"]), "large_dir") as fs:
            made = fs.grow(base, 0, n, n)
            ctx.must(ctx.rec.run(fs.node, f"dumpe2fs -h {fs.device} 2>/dev/null", "dumpe2fs", timeout=300))
            dumped = ctx.rec.last(fs.node)
            fs.open()
            folder = f"{fs.mount}/files"
            counted = ctx.everywhere(
                {fs.node: ctx.tool("filegen.py", "count", "--dir", f"{folder}/r0")}, "count", timeout=3600
            )
            more: dict[str, list[str | float]] = {
                fs.node: ["--dir", folder, "--client", fs.node, "--counts", counts(ctx, made[0])]
            }
            stats = filegen(ctx, "stat", more, *base, "--files", int(p["stats"]))
    except NoMapper as e:
        return Outcome(
            method="none: no way to mount an image here",
            verdict=Verdict.BLOCKED,
            reasons=[str(e)],
            remedy="Load the kernel module rbd on a client, or install rbd-fuse, fuse2fs and e2fsprogs there.",
        )
    except UnknownFeature as e:
        return Outcome(
            method="none: this client's mkfs.ext4 is too old",
            verdict=Verdict.INCONCLUSIVE,
            reasons=[f"{e}; without it a directory ends near 15 million entries, and none was tried"],
            remedy="Install a newer e2fsprogs on the first client (that of Ubuntu 18.04 knows large_dir, 1.42 does not).",
        )
    return Outcome(
        method=f"ext4 with large_dir and dir_index on an image by {fs.mapper}: {n:,} files of {p['size']} B in one directory "
        f"by one client; readdir; {int(p['stats']):,} random stats",
        metrics=[
            created(ctx, made),
            failed(ctx, [*made, *stats]),
            missing(ctx, made, counted),
            metric(
                "large-dir",
                ("features large_dir and dir_index are set (1 = yes)", "large_dir 与 dir_index 特性"),
                "bool",
                "cluster",
                [ctx.sample("contains", {"doc": [dumped]}, text=word) for word in ("large_dir", "dir_index")],
            ),
            stat_p99(ctx, stats),
            metric(
                "create",
                ("creates per second", "创建速率"),
                "files/s",
                "aggregate",
                samples(ctx, "rate", made),
            ),
        ],
        series=[course(ctx, "creates in one directory of an image over time", "create", made, "files/s")],
        reasons=[f"sampled: {n:,} of {TARGET:,} files; effort full at a site creates them all"]
        if n < TARGET
        else [],
        remedy="Format with -O large_dir,dir_index: an htree without large_dir ends near 15 million entries.",
    )
