# Runs on nodes: python 2.7 and 3.
"""What is written on a block device: known signatures, and whether anything is written at all."""

from __future__ import absolute_import, division, print_function

import os

MIB = 1 << 20
EDGE = 16 * MIB  # read at either end: tables, super-blocks, and the copies that many formats keep at the end
SAMPLE = MIB
SAMPLES = 64
KIB = 1 << 10
GIB = 1 << 30
CEPH = b"bluestore block device"
RAID = b"\xfc\x4e\x2b\xa9"
# Where formats keep copies that neither end reaches. Ceph: BlueStore.h, bdev_label_positions (since 19.2);
# btrfs: btrfs_sb_offset(); ext: first group with a copy (sparse_super), for blocks of 1, 2 and 4 KiB.
CEPH_COPIES = (GIB, 10 * GIB, 100 * GIB, 1000 * GIB)
COPIES = CEPH_COPIES + (64 * MIB, 256 * GIB, 8193 * KIB, 16384 * 2 * KIB, 32768 * 4 * KIB)
HEAD = 256 * KIB
# (offset from the start, bytes, what it is). libblkid knows more; this list needs no other program.
SIGNATURES = (
    (
        (0, CEPH, "a ceph OSD (bluestore)"),
        (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
        (16 * KIB, b"SKUL\xba\xbe", "an encrypted volume (LUKS)"),
        (0, b"XFSB", "an XFS file system"),
        (1080, b"\x53\xef", "an ext2/3/4 file system"),
        (65600, b"_BHRfS_M", "a btrfs file system"),
        (1024, b"\x10\x20\xf5\xf2", "an F2FS file system"),
        (3, b"NTFS    ", "an NTFS file system"),
        (54, b"FAT1", "a FAT file system"),
        (82, b"FAT32   ", "a FAT file system"),
        (0, b"hsqs", "a squashfs file system"),
        (32769, b"CD001", "an ISO 9660 file system"),
        (128 * KIB, b"\x0c\xb1\xba\x00\x00\x00\x00\x00", "a ZFS pool's member"),
        (128 * KIB, b"\x00\x00\x00\x00\x00\xba\xb1\x0c", "a ZFS pool's member"),
        (512, b"EFI PART", "a GPT partition table"),
        (4096, b"EFI PART", "a GPT partition table"),
        (510, b"\x55\xaa", "an MBR partition table or boot sector"),
        (0, RAID, "a software RAID member"),
        (4096, RAID, "a software RAID member"),
        (4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache device"),
    )
    + tuple((512 * n, b"LABELONE", "an LVM physical volume") for n in range(4))
    # The mark ends the first page, whose size is the machine's.
    + tuple((n * KIB - 10, b"SWAPSPACE2", "swap space") for n in (4, 8, 16, 64))
    + ((4086, b"SWAP-SPACE", "swap space"),)
)


class ContentError(Exception):
    """A part of the device could not be read."""


def read_at(handle, offset, length):
    """Return exactly `length` bytes at `offset`; ContentError if the device does not give them."""
    parts, wanted = [], length
    try:
        os.lseek(handle, offset, os.SEEK_SET)
        while wanted:
            part = os.read(handle, min(wanted, 4 * MIB))
            if not part:
                raise ContentError("ends at byte %d" % (offset + length - wanted))
            parts.append(part)
            wanted -= len(part)
    except OSError as error:
        raise ContentError("read error at byte %d: %s" % (offset + length - wanted, os.strerror(error.errno)))
    return b"".join(parts)


def size(handle):
    """Return the size of an open device, bytes."""
    return os.lseek(handle, 0, os.SEEK_END)


def at_the_end(length):
    """Return (offset, bytes, what it is) of the places that are counted from the end."""
    return (
        (length - 512, b"EFI PART", "the copy of a GPT partition table"),
        (length - 4096, b"EFI PART", "the copy of a GPT partition table"),
        (length // (64 * KIB) * 64 * KIB - 64 * KIB, RAID, "a software RAID member"),  # version 0.90
        ((length // 512 - 16) // 8 * 8 * 512, RAID, "a software RAID member"),  # version 1.0
    )


def signatures(handle):
    """Return what the well-known places of the device say it is, each once."""
    length = size(handle)
    head = read_at(handle, 0, min(length, HEAD))
    found = [what for offset, magic, what in SIGNATURES if head[offset : offset + len(magic)] == magic]
    places = at_the_end(length) + tuple((at, CEPH, "a copy of a ceph OSD's label") for at in CEPH_COPIES)
    for offset, magic, what in places:
        if 0 <= offset <= length - len(magic) and read_at(handle, offset, len(magic)) == magic:
            found.append(what)
    return sorted(set(found))


def regions(length):
    """Return (offset, bytes) of what is read: both ends, samples spread evenly between, places of copies."""
    if length <= 2 * EDGE + SAMPLES * SAMPLE:
        return [(0, length)]
    step = (length - 2 * EDGE) / float(SAMPLES)
    inner = [(int(EDGE + step * n + (step - SAMPLE) / 2), SAMPLE) for n in range(SAMPLES)]
    copies = [(at, min(MIB, length - at)) for at in COPIES if EDGE <= at < length - EDGE]
    return [(0, EDGE)] + inner + copies + [(length - EDGE, EDGE)]


def first_written(handle):
    """Return the offset of the first byte unlike the first one; None if all that is read is 0x00, or 0xff."""
    fill = None
    zeros, ones = b"\x00" * MIB, b"\xff" * MIB
    for offset, length in regions(size(handle)):
        for start in range(offset, offset + length, MIB):
            count = min(MIB, offset + length - start)
            part = read_at(handle, start, count)
            if fill is None:
                fill = zeros if part[:1] == b"\x00" else ones
            if part == fill[:count]:
                continue
            return start + next(n for n in range(count) if part[n : n + 1] != fill[:1])
    return None
