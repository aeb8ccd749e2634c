"""A file system on a block image, mounted on a client: krbd at a site, rbd-fuse and fuse2fs where there is none."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from avadm_validation.suites.storage.context import Context, MeasureError
from avadm_validation.suites.storage.rbd import rbd, remove

# Inodes of 4 KiB each: 1.9 TiB for 500 million (acceptance.md 2.4); lazily made tables write next to nothing.
MKFS = "mkfs.ext4 -F -q -i 4096 -I 256 -O large_dir,dir_index -E lazy_itable_init=1,lazy_journal_init=1,nodiscard"


class NoMapper(MeasureError):
    """No way to have an image as a file system on this client."""


@dataclass(frozen=True)
class ImageFs:
    """A mounted image.

    Attributes:
        node: the client.
        mount: mount point.
        device: block device or file that holds the file system.
        mapper: how it came to be, for the report.
    """

    node: str
    mount: str
    device: str
    mapper: str


def choose(ctx: Context, node: str) -> str:
    """Return ``krbd`` or ``rbd-fuse``; NoMapper, with what is missing, where neither can be had."""
    probe = (
        "if modprobe rbd 2>/dev/null && test -d /sys/bus/rbd; then echo krbd; "
        "elif command -v rbd-fuse fuse2fs mkfs.ext4 >/dev/null && test -c /dev/fuse; then echo rbd-fuse; "
        "else echo none; command -v rbd-fuse fuse2fs mkfs.ext4; fi"
    )
    words = ctx.rec.run(node, probe, "mapper").stdout.split() or ["none"]
    if words[0] == "none":
        raise NoMapper(
            f"{node} has neither the kernel module rbd nor rbd-fuse with fuse2fs and mkfs.ext4"
            + (f" (only {', '.join(words[1:])})" if words[1:] else "")
        )
    return words[0]


@contextmanager
def formatted(ctx: Context, size: str) -> Iterator[ImageFs]:
    """Make a thin image, format it for many files, mount it on the first client; take all of it away again."""
    node = ctx.target.clients[0]
    mapper = choose(ctx, node)
    image, base = f"{ctx.name}-{ctx.rec.check.lower()}", f"{ctx.tools}/{ctx.rec.check}"
    mount, fuse = f"{base}/fs", f"{base}/images"
    user, pool = shlex.quote(ctx.target.rbd_user), shlex.quote(str(ctx.target.pool))
    ctx.must(ctx.rec.run(node, f"mkdir -p {mount} {fuse}", "folders"))
    ctx.step("make, format and mount an image", 1, 10)
    undo = [f"umount {mount} || fusermount -u {mount}"]
    try:
        # Large objects and the object map: a terabyte image is looked after and removed in seconds.
        rbd(ctx, f"create --size {size} --object-size 32M {image}", "create")
        if mapper == "krbd":
            mapped = rbd(ctx, f"map {image}", "map", node=node)
            device = mapped.stdout.strip()
            undo.append(f"rbd unmap {device}")
            options = "-o discard,noatime"
            attach = f"mount {options} {device} {mount}"
        else:
            device = f"{fuse}/{image}"
            ctx.must(ctx.rec.run(node, f"rbd-fuse --id {user} -p {pool} -r {image} {fuse}", "rbd-fuse"))
            undo.append(f"umount {fuse} || fusermount -u {fuse}")
            attach = f"fuse2fs -o rw,fakeroot,allow_other {device} {mount} || fuse2fs -o rw {device} {mount}"
        ctx.must(ctx.rec.run(node, f"{MKFS} {device}", "mkfs", timeout=1800))
        ctx.must(ctx.rec.run(node, f"dumpe2fs -h {device} 2>/dev/null", "dumpe2fs", timeout=300))
        ctx.must(ctx.rec.run(node, attach, "mount", timeout=300))
        yield ImageFs(node, mount, device, mapper)
    finally:
        for command in undo:
            ctx.rec.run(node, f"({command}) 2>&1", "undo", timeout=600)
        remove(ctx, image)
