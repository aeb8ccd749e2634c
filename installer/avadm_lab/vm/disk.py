"""The disk of a machine that boots by itself: Debian's standard system with GRUB, and nothing of the profile's roles."""

from __future__ import annotations

import hashlib
import shutil
import struct
import subprocess
from pathlib import Path

from avadm_lab.process import Proc
from avadm_lab.vm.image import INITRD, TREE, debian, do

PACKAGES = (
    "linux-image-amd64,initramfs-tools,systemd,systemd-sysv,udev,kmod,dbus,openssh-server,python3,sudo,procps,"
    "iproute2,grub-pc,ca-certificates,gnupg,xz-utils,iputils-ping"
)
LOGIN = "debian"
"""A login that sudo asks for its password, as Debian's installer makes one."""
PASSWORD = "installed-by-hand"  # noqa: S105  of machines on a bridge of this machine alone
START = 1 << 20
"""Where the partition begins, in bytes."""
SIZE = 14 << 30
"""Bytes of the partition; the file has holes."""

_BEFORE = f"""{INITRD}
echo 'grub-pc grub-pc/install_devices_empty boolean true' | chroot "$1" debconf-set-selections
"""

# Its name and address are given to the machine by qemu, so that one disk serves all of them.
_IDENTITY = r"""#!/bin/sh
set -e
modprobe qemu_fw_cfg
config=/sys/firmware/qemu_fw_cfg/by_name/opt/avadm
name=$(cat $config/name/raw)
address=$(cat $config/address/raw)
echo "$name" > /etc/hostname
hostname "$name"
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$name" > /etc/hosts
network=/etc/systemd/network/10-vm.network
printf '[Match]\nName=eth0\n[Network]\nAddress=%s\nGateway=%s\n' "$address" "$(cat $config/gateway/raw)" > $network
# An RSA key takes minutes without KVM.
[ -e /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
"""
_UNIT = """[Unit]
DefaultDependencies=no
ConditionPathExists=!/etc/systemd/network/10-vm.network
After=systemd-remount-fs.service local-fs.target
Before=systemd-networkd.service network-pre.target ssh.service
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/vm-identity
[Install]
WantedBy=sysinit.target
"""
# Runs once in place of systemd, where the kernel is given by qemu: GRUB is installed as on any machine.
_GRUB = r"""#!/bin/sh
mount -t proc proc /proc 2>/dev/null
mount -t sysfs sys /sys 2>/dev/null
mount -t devtmpfs dev /dev 2>/dev/null
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
if grub-install /dev/vda && update-grub; then echo avadm-grub-installed; fi
sync
mount -o remount,ro /
echo o > /proc/sysrq-trigger
sleep 60
"""
_AFTER = r"""set -e
chroot "$1" useradd -m -s /bin/bash -G sudo {login}
echo '{login}:{password}' | chroot "$1" chpasswd
rm -f "$1"/etc/ssh/ssh_host_*
: > "$1/etc/machine-id"
echo '/dev/vda1 / ext4 errors=remount-ro 0 1' > "$1/etc/fstab"
mkdir -p "$1/etc/systemd/system.conf.d" "$1/etc/default/grub.d" "$1/etc/systemd/network"
# Without KVM a start takes ten times as long.
printf '[Manager]\nDefaultTimeoutStartSec=900\nDefaultDeviceTimeoutSec=900\n' > "$1/etc/systemd/system.conf.d/vm.conf"
# Their watchdogs end services that are slow, not stuck.
for unit in journald logind networkd udevd; do
  mkdir "$1/etc/systemd/system/systemd-$unit.service.d"
  printf '[Service]\nWatchdogSec=0\n' > "$1/etc/systemd/system/systemd-$unit.service.d/vm.conf"
done
printf 'GRUB_TIMEOUT=1\nGRUB_CMDLINE_LINUX="console=ttyS0 net.ifnames=0"\nGRUB_CMDLINE_LINUX_DEFAULT=""\n'\
'GRUB_TERMINAL=console\nGRUB_DISABLE_OS_PROBER=true\n' > "$1/etc/default/grub.d/00-vm.cfg"
cp {files}/identity "$1/usr/local/sbin/vm-identity"
cp {files}/grub "$1/usr/local/sbin/vm-grub"
cp {files}/unit "$1/etc/systemd/system/vm-identity.service"
chmod 755 "$1/usr/local/sbin/vm-identity" "$1/usr/local/sbin/vm-grub"
echo 'force-unsafe-io' > "$1/etc/dpkg/dpkg.cfg.d/vm"
chroot "$1" systemctl -q enable systemd-networkd vm-identity
chroot "$1" systemctl -q mask apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
  systemd-networkd-wait-online.service
"""


def digest() -> str:
    """Return 12 hex digits that change with the recipe."""
    text = "\0".join((PACKAGES, str(SIZE), _BEFORE, _IDENTITY, _UNIT, _GRUB, _AFTER))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def mbr(start: int, size: int) -> bytes:
    """Return a boot record with one bootable partition of Linux.

    Args:
        start: its first byte.
        size: its length in bytes.
    """
    entry = struct.pack("<B3sB3sII", 0x80, b"\xfe\xff\xff", 0x83, b"\xfe\xff\xff", start // 512, size // 512)
    return b"\0" * 440 + b"avad\0\0" + entry + b"\0" * 48 + b"\x55\xaa"


def ensure(proc: Proc, folder: Path) -> Path:
    """Have disk.img for the present recipe in a folder; return that folder's subfolder.

    Raises:
        AvadmError: the build failed.
        RuntimeError: GRUB could not be installed.
    """
    home = folder / f"disk-{digest()}"
    if (home / "disk.img").exists():
        return home
    making = home.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    for name, text in (("identity", _IDENTITY), ("unit", _UNIT), ("grub", _GRUB)):
        (making / name).write_text(text, encoding="ascii")
    tree = making / TREE
    after = _AFTER.format(files=making, login=LOGIN, password=PASSWORD)
    debian(proc, making, "important", PACKAGES, _BEFORE, after)
    disk = making / "disk.img"
    with disk.open("wb") as file:
        file.write(mbr(START, SIZE))
        file.truncate(START + SIZE)
    argv = [
        "mke2fs",
        "-q",
        "-t",
        "ext4",
        "-d",
        str(tree),
        "-E",
        f"offset={START}",
        str(disk),
        f"{SIZE >> 10}k",
    ]
    do(proc, "Making the machines' disk", argv, timeout=900)
    install_grub(making)
    shutil.rmtree(tree)
    making.rename(home)
    return home


def install_grub(home: Path) -> None:
    """Boot the disk once with the kernel given by qemu, and have it install its boot loader."""
    log = home / "grub.log"
    argv = [
        "nice", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1024",
        "-display", "none", "-no-user-config", "-monitor", "none", "-no-reboot", "-serial", f"file:{log}",
        "-kernel", str(home / "vmlinuz"), "-initrd", str(home / "initrd"),
        "-append", "root=/dev/vda1 rw rootdelay=120 console=ttyS0 init=/usr/local/sbin/vm-grub",
        "-drive", f"file={home / 'disk.img'},format=raw,if=none,id=root,cache=unsafe",
        "-device", "virtio-blk-pci,drive=root",
    ]  # fmt: skip
    subprocess.run(argv, check=True, timeout=900, stdin=subprocess.DEVNULL)
    if "avadm-grub-installed" not in log.read_text(encoding="utf-8", errors="replace"):
        raise RuntimeError(f"GRUB was not installed: see {log}")
