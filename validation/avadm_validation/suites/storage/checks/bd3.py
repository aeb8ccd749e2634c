"""A-BD3: half a billion files in a file system on a block image: formatted for them, grown in a series."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol import stats
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.storage.filemetrics import failed, held_out, reached
from avadm_validation.suites.storage.imagefs import NoMapper, formatted

ID = "A-BD3"
TITLE = ("rbd: total number of files in its file system", "rbd:文件系统的文件总数")
NEEDS = "rbd"


def run(ctx: Context) -> Outcome:
    """Format an image for 5e8 inodes, read the numbers back, grow a series of files on it."""
    p = ctx.params
    options: list[str | float] = ["--procs", 1, "--size", int(p["size"])]
    made: list[str] = []
    sizes = [int(n) for n in p["series"]]
    try:
        with formatted(ctx, str(p["image_size"])) as fs:
            empty = fs.usage()
            ctx.must(ctx.rec.run(fs.node, f"dumpe2fs -h {fs.device} 2>/dev/null", "dumpe2fs", timeout=300))
            dumped, filled, done = ctx.rec.last(fs.node), [], 0
            for step, n in enumerate(sizes):
                made += fs.grow(options, step, n - done, n)
                filled.append(fs.usage())
                done = n
    except NoMapper as e:
        return Outcome(
            method="none: no way to mount an image here",
            verdict=Verdict.BLOCKED,
            reasons=[str(e)],
            remedy="Load the kernel module rbd on a client, or install rbd-fuse, fuse2fs and e2fsprogs there.",
        )
    held = {"base": [empty], "doc": filled, "made": made}
    return Outcome(
        method=f"ext4 on a thin image of {p['image_size']} by {fs.mapper}"
        f"{'' if fs.mapper == 'krbd' else ' (files put in by mkfs.ext4 -d)'}: "
        "mkfs.ext4 -m 0 -i 4096 -O dir_index, dumpe2fs; "
        f"growth series of {', '.join(f'{n:,}' for n in sizes)} files of {p['size']} B; the count is per image",
        metrics=[
            metric(
                "inodes",
                ("inodes that the image is formatted with", "格式化的 inode 数"),
                "files",
                "cluster",
                [ctx.sample("dumped", {"doc": [dumped]}, key="Inode count")],
            ),
            failed(ctx, made),
            reached(ctx, made),
            metric(
                "files",
                ("files that fit, by growth", "按增长推算可容纳文件数"),
                "files",
                "cluster",
                [
                    ctx.sample("inodes_fit", {"base": [empty], "doc": [f], "made": made[: i + 1]})
                    for i, f in enumerate(filled)
                ],
            ),
            held_out(ctx.sample("held_out_used", held)),
        ],
        reasons=[
            f"largest n reached: {done:,} of 500,000,000; beyond {stats.MAX_DECADES:.0f} decades no projection is made"
        ],
        remedy="Make the image 2.5 TiB or more and format it with -m 0 -i 4096; run with --effort full for a projection.",
    )
