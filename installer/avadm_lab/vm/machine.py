"""The virtual machine: qemu without KVM, a tap interface to this machine, two disks for OSDs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from avadm.errors import AvadmError
from avadm_lab.process import Proc
from avadm_lab.vm.image import ADDRESS, GATEWAY, PREFIX, do

TAP = "avadm-vm0"
MEMORY_MIB = 2048
DISKS = ("VMDISK1", "VMDISK2")
DISK_BYTES = 12 << 30
"""Of each, a file with holes; less is too small for an OSD's default weights to be distinguished from none."""
BOOT_S = 600


def ssh(home: Path, *words: str) -> list[str]:
    """Return the command that runs words in the machine."""
    options = ["-i", str(home / "id_ed25519"), "-o", f"UserKnownHostsFile={home / 'known_hosts'}"]
    options += [
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        "ConnectTimeout=10",
        "-o",
        "BatchMode=yes",
        "-F",
        "none",
    ]
    return ["ssh", *options, f"root@{ADDRESS}", *words]


def command(home: Path, work: Path) -> list[str]:
    """Return qemu's command line."""
    args = [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MIB),
        "-display", "none", "-no-user-config", "-monitor", "none", "-serial", f"file:{work / 'console.log'}",
        "-kernel", str(home / "vmlinuz"), "-initrd", str(home / "initrd"),
        "-append", "root=/dev/vda rw rootdelay=120 console=ttyS0 net.ifnames=0",
        # As the others are: it is /dev/vda then, being the first.
        "-drive", f"file={work / 'root.img'},format=raw,if=none,id=root,cache=unsafe",
        "-device", "virtio-blk-pci,drive=root",
        "-netdev", f"tap,id=net,ifname={TAP},script=no,downscript=no", "-device", "virtio-net-pci,netdev=net",
    ]  # fmt: skip
    for name in DISKS:
        args += ["-drive", f"file={work / name}.img,format=raw,if=none,id={name},cache=unsafe,discard=unmap"]
        args += ["-device", f"virtio-blk-pci,drive={name},serial={name}"]
    return args


@contextmanager
def network(proc: Proc) -> Iterator[None]:
    """Have the tap interface for as long as the block lasts."""
    proc.run(["ip", "link", "delete", TAP])
    do(proc, "Making the machine's network", ["ip", "tuntap", "add", TAP, "mode", "tap"])
    try:
        do(proc, "Making the machine's network", ["ip", "address", "add", f"{GATEWAY}/{PREFIX}", "dev", TAP])
        do(proc, "Making the machine's network", ["ip", "link", "set", TAP, "up"])
        yield
    finally:
        proc.run(["ip", "link", "delete", TAP])


@contextmanager
def running(proc: Proc, home: Path, work: Path) -> Iterator[None]:
    """Have the machine run for as long as the block lasts, from a fresh copy of its disk."""
    do(
        proc,
        "Copying the disk",
        ["cp", "--sparse=always", str(home / "root.img"), str(work / "root.img")],
        timeout=300,
    )
    for name in DISKS:
        (work / f"{name}.img").unlink(missing_ok=True)
        with (work / f"{name}.img").open("wb") as disk:
            disk.truncate(DISK_BYTES)
    key = (home / "host_key.pub").read_text(encoding="ascii").split()
    (home / "known_hosts").write_text(f"{ADDRESS} {key[0]} {key[1]}\n", encoding="ascii")
    with network(proc), qemu(command(home, work), work / "qemu.log"):
        yield


@contextmanager
def qemu(command: Sequence[str], log: Path) -> Iterator[None]:
    """Have qemu run for as long as the block lasts; what it prints goes to ``log``."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def reached(proc: Proc, home: Path, work: Path, boot: str = "") -> str:
    """Wait until the machine answers with another boot than ``boot``; return the boot's id.

    Raises:
        AvadmError: it did not within BOOT_S.
    """
    end = time.monotonic() + BOOT_S
    while time.monotonic() < end:
        done = proc.run(ssh(home, "cat /proc/sys/kernel/random/boot_id"), timeout=60)
        if done.ok and done.stdout.strip() != boot:
            return done.stdout.strip()
        time.sleep(2)
    raise AvadmError.of(
        "vm-boot", where=str(work / "console.log"), found=f"nothing within {BOOT_S} s", wanted="an answer"
    )
