# Runs on nodes: python 2.7 and 3.
"""What is written on a block device: known signatures, and whether anything is written at all."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os

MIB = 1 << 20
EDGE = 16 * MIB  # read at either end: tables, super-blocks, and the copies that many formats keep at the end
SAMPLE = MIB
SAMPLES = 64

# (offset from the start, bytes, what it is). libblkid knows more; this list needs no other program.
SIGNATURES = (
    (0, b"bluestore block device", "a ceph OSD (bluestore)"),
    (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    (0, b"XFSB", "an XFS file system"),
    (1080, b"\x53\xef", "an ext2/3/4 file system"),
    (65600, b"_BHRfS_M", "a btrfs file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (512, b"EFI PART", "a GPT partition table"),
    (4096, b"EFI PART", "a GPT partition table"),
    (510, b"\x55\xaa", "an MBR partition table or boot sector"),
    (4086, b"SWAPSPACE2", "swap space"),
    (4086, b"SWAP-SPACE", "swap space"),
    (0, b"\xfc\x4e\x2b\xa9", "a software RAID member"),
    (4096, b"\xfc\x4e\x2b\xa9", "a software RAID member"),
    (4096, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache device"),
) + tuple((512 * n, b"LABELONE", "an LVM physical volume") for n in range(4))
END_SIGNATURES = ((512, b"EFI PART", "the copy of a GPT partition table"),)


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


def signatures(handle):
    """Return what the well-known places of the device say it is, each once."""
    length = size(handle)
    head = read_at(handle, 0, min(length, 128 * 1024))
    found = [what for offset, magic, what in SIGNATURES if head[offset : offset + len(magic)] == magic]
    tail = read_at(handle, length - 4096, 4096) if length >= 4096 else b""
    for before_end, magic, what in END_SIGNATURES:
        start = len(tail) - before_end
        if tail and tail[start : start + len(magic)] == magic:
            found.append(what)
    return sorted(set(found))


def regions(length):
    """Return (offset, bytes) of the parts that are read: both ends, and samples spread evenly between."""
    if length <= 2 * EDGE + SAMPLES * SAMPLE:
        return [(0, length)]
    step = (length - 2 * EDGE) / float(SAMPLES)
    inner = [(int(EDGE + step * n + (step - SAMPLE) / 2), SAMPLE) for n in range(SAMPLES)]
    return [(0, EDGE)] + inner + [(length - EDGE, EDGE)]


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
