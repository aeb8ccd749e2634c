"""Make images/*.json.xz with the real tools of Debian 12: what they write on a blank device, block by block.

Run by hand where the tools are (Debian: dosfstools mdadm lvm2 cryptsetup-bin bcache-tools squashfs-tools
genisoimage ntfs-3g f2fs-tools gdisk fdisk xfsprogs btrfs-progs e2fsprogs); tests need only the images.
"""

import base64
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

MIB = 1 << 20
BLOCK = 4096
IMAGES = Path(__file__).parent / "images"

# Name: MiB, and the command that makes it; DEVICE is a sparse file or a loop device, FOLDER has one file in it.
COMMANDS = {
    "ext4": (64, "mkfs.ext4 -q -F DEVICE"),
    "xfs": (300, "mkfs.xfs -q -f DEVICE"),
    "btrfs": (128, "mkfs.btrfs -q -f DEVICE"),
    "vfat": (64, "mkfs.vfat DEVICE"),
    "ntfs": (64, "mkntfs -q -F -f DEVICE"),
    "f2fs": (64, "mkfs.f2fs -q -f DEVICE"),
    "swap": (64, "mkswap DEVICE"),
    "gpt": (64, "sgdisk -n 1:0:0 DEVICE"),
    "mbr": (64, "echo 2048,65536 | sfdisk -q --label dos DEVICE"),
    "lvm": (64, "pvcreate -q -y LOOP"),
    "ceph-volume": (64, "vgcreate -q -y ceph-5ba1f9a6-5b77-4a3d-9b6e-3c1a3f0e2d11 LOOP"),
    "luks1": (64, "echo secret | cryptsetup -q luksFormat --type luks1 --pbkdf-force-iterations 1000 DEVICE -"),
    "luks2": (64, "echo secret | cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2"
              " --pbkdf-force-iterations 1000 DEVICE -"),
    "bcache": (64, "make-bcache -B LOOP"),
    "squashfs": (64, "mksquashfs FOLDER made -quiet -no-progress && dd if=made of=DEVICE conv=notrunc"),
    "iso9660": (64, "genisoimage -quiet -o made FOLDER && dd if=made of=DEVICE conv=notrunc"),
}  # fmt: skip


# Of these only what is within 8 KiB of either end: the rest is random, or a long table.
ENDS_ONLY = ("luks1", "luks2", "ntfs")


def blocks(image: Path, ends_only: bool) -> list[list[object]]:
    """Return [offset, base64] of each run of blocks that are not all zeros."""
    found: list[list[object]] = []
    end = -1
    with image.open("rb") as stream:
        for offset in range(0, image.stat().st_size, BLOCK):
            data = stream.read(BLOCK)
            far = min(offset, image.stat().st_size - BLOCK - offset) >= 8192
            if data.count(0) == len(data) or (ends_only and far):
                continue
            if offset == end:
                found[-1][1] += data
            else:
                found.append([offset, data])
            end = offset + BLOCK
    return [[offset, base64.b64encode(data).decode()] for offset, data in found]


def record(name: str) -> None:
    """Make one image."""
    size, command = COMMANDS[name]
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image"
        with image.open("wb") as stream:
            stream.truncate(size * MIB)
        content = Path(folder) / "content"
        content.mkdir()
        (content / "file").write_text("text\n")
        loop = None
        if "LOOP" in command:
            done = subprocess.run(
                ["losetup", "-f", "--show", image], capture_output=True, text=True, check=True
            )
            loop = done.stdout.strip()
        try:
            line = (
                command.replace("DEVICE", str(image))
                .replace("FOLDER", str(content))
                .replace("LOOP", loop or "")
            )
            subprocess.run(["sh", "-c", line], cwd=folder, check=True)
        finally:
            if loop:
                subprocess.run(["losetup", "-d", loop], check=True)
        made = {"command": command, "bytes": size * MIB, "blocks": blocks(image, name in ENDS_ONLY)}
        (IMAGES / f"{name}.json.xz").write_bytes(lzma.compress(json.dumps(made).encode(), preset=9))


if __name__ == "__main__":
    for each in sys.argv[1:] or COMMANDS:
        record(each)
