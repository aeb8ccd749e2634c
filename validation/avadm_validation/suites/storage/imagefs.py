"""A file system on a block image: mounted with krbd at a site; where there is none, made through rbd-fuse."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.suites.storage.rbd import rbd, remove
from avadm_validation.suites.storage.tools import filegen

# Inodes of 4 KiB each: 1.9 TiB for 500 million (acceptance.md 2.4); lazily made tables write next to nothing.
# -m 0: no block is kept for root, so that 2.5 TiB hold 500 million files of a block each.
# All of it is known to e2fsprogs 1.42, but for `-d`, which only a client without krbd is asked for.
MKFS = "mkfs.ext4 -F -q -m 0 -i 4096 -I 256 -O {features} -E lazy_itable_init=1,lazy_journal_init=1,nodiscard"

STAT = '{"blocks_free": %f, "block": %S, "inodes": %c, "inodes_free": %d}'


class NoMapper(MeasureError):
    """No way to have an image as a file system on this client."""


class UnknownFeature(MeasureError):
    """This client's mkfs.ext4 is too old to be asked for a feature."""


@dataclass
class ImageFs:
    """A formatted image on the first client.

    Attributes:
        ctx: the check.
        node: the client.
        mount: where it is, or will be, mounted.
        device: block device or file that holds the file system.
        mapper: ``krbd``, or ``rbd-fuse``, where nothing can be written through a mount at a useful speed (fuse2fs
            writes all group descriptors back with every file) and files go in with ``mkfs.ext4 -d`` instead.
        mkfs: how it is formatted.
    """

    ctx: Context
    node: str
    mount: str
    device: str
    mapper: str
    mkfs: str

    def usage(self) -> str:
        """Return the raw file that tells free blocks and inodes."""
        if self.mapper == "krbd":
            return self._run(f"sync -f {self.mount}; stat -f -c '{STAT}' {self.mount}", "usage")
        return self._run(f"dumpe2fs -h {self.device} 2>/dev/null", "usage")

    def grow(self, options: list[str | float], first: int, files: int, total: int) -> list[str]:
        """Add files to the folder ``files``, or (offline) format again with all of them; return raw files.

        Args:
            options: filegen's.
            first: number of this step.
            files: how many to add.
            total: how many there are then.
        """
        ctx, krbd = self.ctx, self.mapper == "krbd"
        source = f"{self.mount}/files" if krbd else f"{self.mount}.source/files"
        own: dict[str, list[str | float]] = {self.node: ["--client", self.node]}
        made = filegen(ctx, "create", own, "--dir", source, "--first", first, "--files", files, *options)
        if not krbd:
            ctx.step(f"format with {total:,} files in it")
            self._run(f"{self.mkfs} -d {self.mount}.source {self.device} && echo made", "mkfs-with-files")
        return made

    def open(self) -> None:
        """Mount read-only what was filled offline; a krbd image is mounted already."""
        if self.mapper != "krbd":
            self._run(f"fuse2fs -o ro,fakeroot {self.device} {self.mount} && echo mounted", "mount")

    def _run(self, command: str, name: str) -> str:
        self.ctx.must(self.ctx.rec.run(self.node, command, name, timeout=7200))
        return self.ctx.rec.last(self.node)


def choose(ctx: Context, node: str) -> str:
    """Return ``krbd`` or ``rbd-fuse``; NoMapper, with what is missing, where neither is available."""
    probe = (
        "if modprobe rbd 2>/dev/null && test -d /sys/bus/rbd; then echo krbd; "
        "elif command -v rbd-fuse && command -v fuse2fs && command -v mkfs.ext4 && test -c /dev/fuse; "
        "then echo rbd-fuse; else echo none; fi"
    )
    words = ctx.must(ctx.rec.run(node, probe, "mapper")).stdout.split() or ["none"]
    if words[-1] == "none":
        there = [w.rpartition("/")[2] for w in words[:-1]]
        raise NoMapper(
            f"{node} has neither the kernel module rbd nor all of rbd-fuse, fuse2fs, mkfs.ext4 and /dev/fuse "
            f"(there: {', '.join(there) or 'none'})"
        )
    return words[-1]


def must_know(ctx: Context, node: str, feature: str) -> None:
    """Raise UnknownFeature where a client's mkfs.ext4 does not know a feature; nothing is written but a small file."""
    dry = "mkfs.ext4 -n -q -F"
    probe = (
        f"f=$(mktemp) && truncate -s 16M $f && {dry} $f >&2 && "
        f"if {dry} -O {feature} $f >&2; then echo known; else mkfs.ext4 -V 2>&1 | head -n 1; fi; r=$?; rm -f $f; exit $r"
    )
    text = ctx.must(ctx.rec.run(node, probe, "feature")).stdout.strip()
    if text != "known":
        raise UnknownFeature(f"{text or 'mkfs.ext4'} on {node} does not know the feature {feature}")


@contextmanager
def formatted(ctx: Context, size: str, *features: str) -> Iterator[ImageFs]:
    """Make a thin image, format it for many files, mount it on the first client; take all of it away again.

    Args:
        ctx: the check.
        size: the image's, as rbd takes it.
        features: features of the file system besides dir_index; UnknownFeature where mkfs does not know one.
    """
    node = ctx.target.clients[0]
    mapper = choose(ctx, node)
    for feature in features:
        must_know(ctx, node, feature)
    mkfs = MKFS.format(features=",".join([*features, "dir_index"]))
    image, base = f"{ctx.name}-{ctx.rec.check.lower()}", f"{ctx.tools}/{ctx.rec.check}"
    mount, fuse = f"{base}/fs", f"{base}/images"
    user, pool = shlex.quote(ctx.target.rbd_user), shlex.quote(str(ctx.target.pool))
    ctx.must(ctx.rec.run(node, f"{{ {ctx.private}; }} && mkdir -p {mount} {mount}.source {fuse}", "folders"))
    ctx.step("make and format an image", 1, 5)
    undo = [f"if mountpoint -q {mount}; then umount {mount}; fi"]
    try:
        # Large objects (and, where the mapper knows it, the object map): a terabyte image is looked after and removed
        # in seconds. The kernel of 4.18 knows no object map, fast diff or deep flatten.
        few = "--image-feature layering --image-feature exclusive-lock " if mapper == "krbd" else ""
        rbd(ctx, f"create --size {size} --object-size 32M {few}{image}", "create")
        if mapper == "krbd":
            device = rbd(ctx, f"map {image}", "map", node=node).stdout.strip()
            undo.append(f"rbd unmap {device}")
        else:
            device = f"{fuse}/{image}"
            ctx.must(ctx.rec.run(node, f"rbd-fuse --id {user} -p {pool} -r {image} {fuse}", "rbd-fuse"))
            undo.append(f"umount {fuse}")
        ctx.must(ctx.rec.run(node, f"{mkfs} {device}", "mkfs", timeout=1800))
        if mapper == "krbd":
            ctx.must(ctx.rec.run(node, f"mount -o noatime {device} {mount}", "mount", timeout=300))
        yield ImageFs(ctx, node, mount, device, mapper, mkfs)
    finally:
        # The folder goes only when nothing is mounted below it any more.
        undo.append(f"rm -rf --one-file-system {base}")
        for command in undo:
            ctx.rec.run(node, f"({command}) 2>&1", "undo", timeout=600)
        remove(ctx, image)
