"""The prepared devices: what is on each, how that was made, and what else is wrong with it."""

import base64
import json
import lzma
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30
SIZE = 64 * MIB
IMAGES = Path(__file__).parent / "images"
THEIRS = "9d5f5c1e-0000-4000-8000-000000000001"
OSD = "9d5f5c1e-0000-4000-8000-000000000002"
# BlueStore.cc, _write_bdev_label: these 60 bytes of text come before the encoded label.
LABEL = b"bluestore block device\n" + OSD.encode() + b"\n"


@dataclass(frozen=True)
class Prepared:
    """One prepared device.

    Attributes:
        title: what it is, for the table.
        image: name of a recorded image.
        writes: (offset, bytes) written on top; a negative offset counts from the end.
        size: bytes.
        state: what inside.py does with it before it is looked at.
        approval: what the site file approves in place of its by-id link.
        udev: what udev says of it.
        made: how, for the table.
    """

    title: str
    image: str | None = None
    writes: tuple = ()
    size: int = SIZE
    state: str = ""
    approval: dict = field(default_factory=dict)
    udev: dict = field(default_factory=dict)
    made: str = ""


def raid(offset):
    """Return an md super-block, version 1.x, of a two-disk mirror (linux/raid/md_p.h)."""
    block = bytearray(256)
    struct.pack_into("<IIII", block, 0, 0xA92B4EFC, 1, 0, 0)
    struct.pack_into("<16s32sQ", block, 16, bytes(range(16)), b"node:0", 1700000000)
    struct.pack_into("<IIQII", block, 72, 1, 0, 100000, 0, 2)
    struct.pack_into("<QQQ", block, 128, 2048, 100000, offset // 512)
    words = struct.unpack("<64I", bytes(block))
    total = sum(words)
    struct.pack_into("<I", block, 216, ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF)
    return bytes(block)


def zfs():
    """Return the four labels' uberblock arrays of a ZFS pool's member (ZFS On-Disk Specification, chapter 1)."""
    block = struct.pack("<QQQQQ", 0x00BAB10C, 5000, 7, 1, 1700000000).ljust(1024, b"\0") * 128
    first = 128 << 10  # of a label of 256 KiB
    return tuple((label + first, block) for label in (0, 256 << 10, -512 << 10, -256 << 10))


WRITTEN = "bytes of its documented layout"
DEVICES = {
    "ext4": Prepared("ext4", image="ext4"),
    "ext4-copy": Prepared(
        "ext4, whose first super-block was overwritten", size=160 * MIB, writes=((128 * MIB + 56, b"\x53\xef"),),
        made=WRITTEN,
    ),
    "xfs": Prepared("XFS", image="xfs"),
    "btrfs": Prepared("btrfs", image="btrfs"),
    "vfat": Prepared("FAT", image="vfat"),
    "ntfs": Prepared("NTFS", image="ntfs"),
    "f2fs": Prepared("F2FS", image="f2fs"),
    "squashfs": Prepared("squashfs", image="squashfs"),
    "iso9660": Prepared("ISO 9660", image="iso9660"),
    "swap": Prepared("swap space, unused", image="swap"),
    "gpt": Prepared("GPT", image="gpt"),
    "gpt-copy": Prepared("GPT, only the copy at the end", writes=((-512, b"EFI PART\0\0\1\0"),), made=WRITTEN),
    "mbr": Prepared("MBR", image="mbr"),
    "lvm": Prepared("LVM physical volume", image="lvm"),
    "ceph-volume": Prepared("LVM of ceph-volume, another cluster's OSD", image="ceph-volume"),
    "md-1.2": Prepared("software RAID member, version 1.2", writes=((4096, raid(4096)),), made=WRITTEN),
    "md-1.0": Prepared("software RAID member, version 1.0 (at the end)",
                       writes=((-8192, raid(SIZE - 8192)),), made=WRITTEN),
    "luks1": Prepared("LUKS 1", image="luks1"),
    "luks2": Prepared("LUKS 2", image="luks2"),
    "zfs": Prepared("ZFS pool's member", writes=zfs(), made=WRITTEN),
    "bcache": Prepared("bcache", image="bcache"),
    "ceph": Prepared("OSD of another ceph cluster", writes=((0, LABEL),), made=WRITTEN),
    "ceph-copy": Prepared("ceph OSD, only the label's copy at 1 GiB left", size=1100 * MIB,
                          writes=((GIB, LABEL),), made=WRITTEN),
    "middle": Prepared("blank at both ends, one byte in the middle", writes=((SIZE // 2, b"x"),), made="written"),
    "last": Prepared("blank but for the last byte", writes=((-1, b"x"),), made="written"),
    "last-mib": Prepared("160 MiB, blank but for a byte in the last MiB", size=160 * MIB,
                         writes=((-MIB, b"x"),), made="written"),
    "mounted": Prepared("mounted", image="ext4", state="mounted"),
    "swapping": Prepared("used as swap", image="swap", state="swapping"),
    "partition-used": Prepared("parent of a mounted partition", state="partition-used"),
    "partition": Prepared("a partition, by its by-id link", state="partition"),
    "opened": Prepared("blank, opened by a process", state="opened"),
    "claimed": Prepared("blank, opened by a process with O_EXCL", state="claimed"),
    "elsewhere": Prepared("mounted where no table shows it", image="ext4", state="elsewhere"),
    "under-loop": Prepared("blank, under another loop device", state="under-loop"),
    "holder": Prepared("blank, with a holder", state="holder", made="dm-0 bound into its sysfs folder"),
    "truncated": Prepared("blank, read errors in its second half", state="truncated",
                          made="file behind the loop device cut short"),
    "small": Prepared("blank, too small", size=SIZE // 2),
    "read-only": Prepared("blank, read-only", state="read-only"),
    "wrong-serial": Prepared("blank, but with another serial number than approved",
                             approval={"serial": "S3NOTHERE"}, udev={"ID_SERIAL_SHORT": "S1OTHER99"}),
    "relinked": Prepared("by-id link leads to a disk of another serial number", udev={"ID_SERIAL_SHORT": "S1OTHER98"}),
    "two-paths": Prepared("blank, a second path to the same disk is there", state="two-paths",
                          udev={"ID_SERIAL_SHORT": "S1TWOPATHS"}),
    "no-device": Prepared("by-id link leads to a file", state="no-device"),
    "dangling": Prepared("by-id link leads nowhere", state="dangling"),
    "vanishes": Prepared("blank, detached between first look and writing", state="later"),
    "swapped": Prepared("blank, its by-id link led elsewhere before writing", state="later"),
    "written": Prepared("blank, written between first look and writing", state="later"),
    "blank": Prepared("blank, all zeros", made="sparse file"),
}  # fmt: skip


def write(device: Prepared, path: Path) -> None:
    """Make the file behind a device."""
    image = None
    if device.image:
        image = json.loads(lzma.decompress((IMAGES / f"{device.image}.json.xz").read_bytes()))
    size = image["bytes"] if image else device.size
    with path.open("wb") as stream:
        stream.truncate(size)
        for offset, text in image["blocks"] if image else ():
            stream.seek(offset)
            stream.write(base64.b64decode(text))
        for offset, data in device.writes:
            stream.seek(offset if offset >= 0 else size + offset)
            stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def how(device: Prepared) -> str:
    """Return how the device is made, for the table."""
    if device.image:
        made = json.loads(lzma.decompress((IMAGES / f"{device.image}.json.xz").read_bytes()))["command"]
        return f"`{made.split('| ')[-1].split()[0]}`"
    return device.made or "sparse file"


LATER = [name for name, device in DEVICES.items() if device.state == "later"]
# Refused by `avadm disk zap`, since something uses them.
USED = [
    "mounted",
    "swapping",
    "partition-used",
    "opened",
    "claimed",
    "elsewhere",
    "under-loop",
    "holder",
    "read-only",
]
