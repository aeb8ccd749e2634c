"""The machine's disk: Debian with the packages of the profile, made by mmdebstrap, and its kernel beside it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from avadm.site.profile import Profile
from avadm_lab.process import Proc, run_checked

ROLES = ("base", "chrony", "ceph_common", "ceph_mon", "ceph_mgr", "ceph_osd", "ceph_mds", "ceph_client")
MORE = (
    "linux-image-amd64,initramfs-tools,systemd,systemd-sysv,udev,kmod,dbus,openssh-server,python3,sudo,procps,"
    "ipvsadm,iptables,attr,perl,gnupg,cryptsetup-bin"
)
SIZE = "6G"
"""Of the root disk; its file has holes."""
TREE = "tree"
ADDRESS, GATEWAY, PREFIX = "10.79.250.2", "10.79.250.1", 24

# The initrd holds what finds the root disk and nothing else: the whole takes minutes to unpack without KVM.
INITRD = """set -e
mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/etc/initramfs-tools/hooks"
echo MODULES=list > "$1/etc/initramfs-tools/conf.d/vm"
printf '#!/bin/sh\\n[ "$1" = prereqs ] && exit 0\\n. /usr/share/initramfs-tools/hook-functions\\n'\
'for m in virtio_pci virtio_blk ext4; do force_load $m; done\\n' > "$1/etc/initramfs-tools/hooks/vm"
chmod 755 "$1/etc/initramfs-tools/hooks/vm"
"""
_AFTER = """set -e
mkdir -p "$1/root/.ssh" "$1/etc/systemd/network"
cp {keys}/id_ed25519.pub "$1/root/.ssh/authorized_keys"
cp {keys}/host_key "$1/etc/ssh/ssh_host_ed25519_key"
cp {keys}/host_key.pub "$1/etc/ssh/ssh_host_ed25519_key.pub"
printf '[Match]\\nName=eth0\\n[Network]\\nAddress={address}/{prefix}\\n' > "$1/etc/systemd/network/10-vm.network"
echo vm1 > "$1/etc/hostname"
echo '/dev/vda / ext4 errors=remount-ro 0 1' > "$1/etc/fstab"
# Of 64 MiB: what the role of kubelet must switch off.
dd if=/dev/zero of="$1/swapfile" bs=1M count=64 status=none
chmod 600 "$1/swapfile"
mkswap -q "$1/swapfile"
echo '/swapfile none swap sw 0 0' >> "$1/etc/fstab"
chroot "$1" systemctl -q enable systemd-networkd
chroot "$1" systemctl -q mask apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer nvmf-autoconnect.service \
  systemd-networkd-wait-online.service
"""


def do(proc: Proc, doing: str, argv: Sequence[str], timeout: float = 60.0) -> str:
    """Run a command that must end well; return what it printed."""
    return run_checked(proc.run(argv, timeout=timeout), doing, "Read the message.").stdout


def debian(proc: Proc, folder: Path, variant: str, include: str, before: str, after: str) -> None:
    """Unpack Debian 12 into the subfolder TREE of a folder, and put its kernel and initrd beside it.

    Args:
        proc: runs commands.
        folder: it is there, and has no TREE yet.
        variant: mmdebstrap's.
        include: further packages, with commas.
        before: script that runs before these are installed; the tree is its first argument.
        after: script that runs at the end.
    """
    tree = folder / TREE
    command = [
        "mmdebstrap", f"--variant={variant}", f"--include={include}", "--aptopt=Acquire::Languages \"none\"",
        "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=force-unsafe-io", f"--essential-hook={before}", f"--customize-hook={after}",
        "bookworm", str(tree),
    ]  # fmt: skip
    do(proc, "Making the machine's file system", command, timeout=1800)
    boot = tree / "boot"
    shutil.copy(next(iter(boot.glob("vmlinuz-*"))), folder / "vmlinuz")
    shutil.copy(next(iter(boot.glob("initrd.img-*"))), folder / "initrd")


def packages(profile: Profile) -> str:
    """Return what the disk has, as mmdebstrap takes it: no package is fetched by the machine itself."""
    return ",".join(sorted({*of_roles(profile), *MORE.split(",")}))


def of_roles(profile: Profile) -> list[str]:
    """Return the packages of the roles that run in the machine."""
    return sorted({p.partition("=")[0] for role in ROLES for p in profile.packages.get(role, [])})


def digest(profile: Profile) -> str:
    """Return 12 hex digits that change with the recipe."""
    text = "\0".join((packages(profile), SIZE, INITRD, _AFTER, ADDRESS))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def ensure(proc: Proc, folder: Path, profile: Profile) -> Path:
    """Have root.img, vmlinuz, initrd and keys in a folder for the present recipe; return it.

    Raises:
        AvadmError: the build failed.
    """
    home = folder / digest(profile)
    if (home / "root.img").exists():
        return home
    making = home.with_suffix(".making")
    tree = making / TREE
    if making.exists():
        shutil.rmtree(making)
    making.mkdir(parents=True)
    for name in ("id_ed25519", "host_key"):
        do(
            proc,
            "Making a key",
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "vm", "-f", str(making / name)],
        )
    after = _AFTER.format(keys=making, address=ADDRESS, prefix=PREFIX)
    debian(proc, making, "apt", packages(profile), INITRD, after)
    do(
        proc,
        "Making the machine's disk",
        ["mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(making / "root.img"), SIZE],
        timeout=600,
    )
    shutil.rmtree(tree)
    making.rename(home)
    return home
