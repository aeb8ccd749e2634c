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
        says: what the role must say of it at least; the whole is in evidence/prepared-devices.md. "" where it accepts it.
        image: name of a recorded image.
        writes: (offset, bytes) written on top; a negative offset counts from the end.
        size: bytes.
        state: what inside.py does with it before it is looked at.
        approval: what the site file approves in place of its by-id link.
        udev: what udev says of it.
        made: how, for the table.
    """

    title: str
    says: str = ""
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
ANOTHER = "is another device than the one looked at before"
DEVICES = {
    "ext4": Prepared("ext4", "ext4 at 0x438", image="ext4"),
    "ext4-copy": Prepared("ext4, whose first super-block was overwritten", "has data at byte 134217784", size=160 * MIB,
                          writes=((128 * MIB + 56, b"\x53\xef"),), made=WRITTEN),
    "xfs": Prepared("XFS", "XFS", image="xfs"),
    "btrfs": Prepared("btrfs", "btrfs", image="btrfs"),
    "vfat": Prepared("FAT", "FAT", image="vfat"),
    "ntfs": Prepared("NTFS", "NTFS", image="ntfs"),
    "f2fs": Prepared("F2FS", "F2FS", image="f2fs"),
    "squashfs": Prepared("squashfs", "squashfs", image="squashfs"),
    "iso9660": Prepared("ISO 9660", "ISO 9660", image="iso9660"),
    "swap": Prepared("swap space, unused", "swap space", image="swap"),
    "gpt": Prepared("GPT", "GPT", image="gpt"),
    "gpt-copy": Prepared("GPT, only the copy at the end", "the copy of a GPT",
                         writes=((-512, b"EFI PART\0\0\1\0"),), made=WRITTEN),
    "mbr": Prepared("MBR", "MBR", image="mbr"),
    "lvm": Prepared("LVM physical volume", "LVM physical volume", image="lvm"),
    "ceph-volume": Prepared("LVM of ceph-volume, another cluster's OSD", "carries osd.4", image="ceph-volume"),
    "md-1.2": Prepared("software RAID member, version 1.2", "software RAID", writes=((4096, raid(4096)),), made=WRITTEN),
    "md-1.0": Prepared("software RAID member, version 1.0 (at the end)", "software RAID",
                       writes=((-8192, raid(SIZE - 8192)),), made=WRITTEN),
    "luks1": Prepared("LUKS 1", "LUKS", image="luks1"),
    "luks2": Prepared("LUKS 2", "LUKS", image="luks2"),
    "zfs": Prepared("ZFS pool's member", "ZFS", writes=zfs(), made=WRITTEN),
    "bcache": Prepared("bcache", "bcache", image="bcache"),
    "ceph": Prepared("OSD of another ceph cluster", "of another ceph cluster", writes=((0, LABEL),), made=WRITTEN),
    "ceph-copy": Prepared("ceph OSD, only the label's copy at 1 GiB left", "a copy of a ceph OSD's label", size=1100 * MIB,
                          writes=((GIB, LABEL),), made=WRITTEN),
    "middle": Prepared("blank at both ends, one byte in the middle", f"has data at byte {SIZE // 2}",
                       writes=((SIZE // 2, b"x"),), made="written"),
    "last": Prepared("blank but for the last byte", f"has data at byte {SIZE - 1}", writes=((-1, b"x"),), made="written"),
    "last-mib": Prepared("160 MiB, blank but for a byte in the last MiB", "has data at byte", size=160 * MIB,
                         writes=((-MIB, b"x"),), made="written"),
    "mounted": Prepared("mounted", "is mounted at", image="ext4", state="mounted"),
    "swapping": Prepared("used as swap", "is used as swap", image="swap", state="swapping"),
    "partition-used": Prepared("parent of a mounted partition", "has partitions", state="partition-used"),
    "partition": Prepared("a partition, by its by-id link", "is a partition", state="partition"),
    "opened": Prepared("blank, opened by a process", "is held open by sleep", state="opened"),
    "claimed": Prepared("blank, opened by a process with O_EXCL", "refuses an exclusive open", state="claimed"),
    "elsewhere": Prepared("mounted where no table shows it", "refuses an exclusive open", image="ext4", state="elsewhere"),
    "under-loop": Prepared("blank, under another loop device", "is used by loop", state="under-loop"),
    "holder": Prepared("blank, with a holder", "is used by dm-0", state="holder", made="dm-0 bound into its sysfs folder"),
    "truncated": Prepared("blank, read errors in its second half", "Input/output error", state="truncated",
                          made="file behind the loop device cut short"),
    "small": Prepared("blank, too small", "is too small: 32 MiB", size=SIZE // 2),
    "read-only": Prepared("blank, read-only", "is read-only", state="read-only"),
    "wrong-serial": Prepared("blank, but with another serial number than approved", "no such device",
                             approval={"serial": "S3NOTHERE"}, udev={"ID_SERIAL_SHORT": "S1OTHER99"}),
    "relinked": Prepared("by-id link leads to a disk of another serial number", "says of itself: S1OTHER98",
                         udev={"ID_SERIAL_SHORT": "S1OTHER98"}),
    "two-paths": Prepared("blank, a second path to the same disk is there", "several paths to one disk", state="two-paths",
                          udev={"ID_SERIAL_SHORT": "S1TWOPATHS"}),
    "no-device": Prepared("by-id link leads to a file", "no such device", state="no-device"),
    "dangling": Prepared("by-id link leads nowhere", "no such device", state="dangling"),
    "vanishes": Prepared("blank, detached between first look and writing", ANOTHER, state="later"),
    "swapped": Prepared("blank, its by-id link led elsewhere before writing", ANOTHER, state="later"),
    "written": Prepared("blank, written between first look and writing", "has data at byte 1000000", state="later"),
    "blank": Prepared("blank, all zeros", made="sparse file"),
}  # fmt: skip


def recorded(device: Prepared) -> dict:
    """Return what was recorded of a device."""
    packed = IMAGES / f"{device.image}.json.xz"
    return json.loads(lzma.decompress(packed.read_bytes())) if device.image else {}


def write(device: Prepared, path: Path) -> None:
    """Make the file behind a device."""
    image = recorded(device)
    size = image.get("bytes", device.size)
    with path.open("wb") as stream:
        stream.truncate(size)
        for offset, text in image.get("blocks", ()):
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
        return f"`{recorded(device)['command'].split('| ')[-1].split()[0]}`"
    return device.made or "sparse file"


LATER = [name for name, device in DEVICES.items() if device.state == "later"]
# Refused by `avadm disk zap`, since something uses them.
UNUSED = ("", "later", "partition", "truncated", "two-paths", "no-device", "dangling")
USED = [name for name, device in DEVICES.items() if device.state not in UNUSED]
# Erased by it, and blank afterwards.
ERASED = ["ext4", "gpt", "gpt-copy", "md-1.0", "zfs", "lvm", "luks2", "ceph", "ceph-copy", "middle"]
