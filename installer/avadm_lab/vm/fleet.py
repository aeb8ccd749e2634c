"""Machines that boot from a disk of their own, on one bridge of this machine; qemu without KVM."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from avadm_lab.process import Proc
from avadm_lab.vm.image import do
from avadm_lab.vm.machine import qemu

BRIDGE = "avadm-vms"
GATEWAY, PREFIX = "10.79.251.1", 24
MEMORY_MIB = 3072
DISK_BYTES = 12 << 30
"""Of each disk for OSDs, a file with holes."""
_FORWARD = ["FORWARD", "-i", BRIDGE, "-o", BRIDGE, "-j", "ACCEPT"]
"""Docker's rules drop what one machine sends another over a bridge that is not docker's."""


@dataclass(frozen=True)
class Machine:
    """One machine.

    Args:
        name: host name.
        address: on the bridge.
        serials: of its disks for OSDs.
    """

    name: str
    address: str
    serials: tuple[str, ...]

    @property
    def tap(self) -> str:
        """Its interface on this machine."""
        return f"avadm-{self.name}"

    def command(self, work: Path) -> list[str]:
        """Return qemu's command line; it has no kernel, so the machine boots by its boot loader."""
        report = {"name": self.name, "address": f"{self.address}/{PREFIX}", "gateway": GATEWAY}
        mac = f"52:54:00:79:fb:{int(self.address.rpartition('.')[2]):02x}"
        args = [
            "nice", "-n", "10",
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MIB),
            "-display", "none", "-no-user-config", "-monitor", "none", "-serial", f"file:{work / self.name}-console.log",
            "-drive", f"file={work / self.name}.img,format=raw,if=none,id=root,cache=unsafe,discard=unmap",
            "-device", "virtio-blk-pci,drive=root,bootindex=1",
            "-netdev", f"tap,id=net,ifname={self.tap},script=no,downscript=no",
            "-device", f"virtio-net-pci,netdev=net,mac={mac}",
        ]  # fmt: skip
        for key, value in report.items():
            args += ["-fw_cfg", f"name=opt/avadm/{key},string={value}"]
        for serial in self.serials:
            disk = f"file={work / serial}.img,format=raw,if=none,id={serial},cache=unsafe,discard=unmap"
            args += ["-drive", disk, "-device", f"virtio-blk-pci,drive={serial},serial={serial}"]
        return args


@contextmanager
def network(proc: Proc, machines: tuple[Machine, ...]) -> Iterator[None]:
    """Have a bridge with an interface for each machine for as long as the block lasts."""

    def remove() -> None:
        proc.run(["iptables", "-D", *_FORWARD])
        for name in (*(m.tap for m in machines), BRIDGE):
            proc.run(["ip", "link", "delete", name])

    doing = "Making the machines' network"
    remove()
    try:
        do(proc, doing, ["ip", "link", "add", BRIDGE, "type", "bridge"])
        do(proc, doing, ["ip", "address", "add", f"{GATEWAY}/{PREFIX}", "dev", BRIDGE])
        do(proc, doing, ["ip", "link", "set", BRIDGE, "up"])
        for machine in machines:
            do(proc, doing, ["ip", "tuntap", "add", machine.tap, "mode", "tap"])
            do(proc, doing, ["ip", "link", "set", machine.tap, "master", BRIDGE, "up"])
        proc.run(["iptables", "-I", *_FORWARD])
        yield
    finally:
        remove()


@contextmanager
def running(proc: Proc, disk: Path, work: Path, machines: tuple[Machine, ...]) -> Iterator[None]:
    """Have the machines run for as long as the block lasts, each from a fresh copy of the disk."""
    with ExitStack() as stack:
        stack.enter_context(network(proc, machines))
        for machine in machines:
            copy = ["cp", "--sparse=always", str(disk), str(work / f"{machine.name}.img")]
            do(proc, "Copying the disk", copy, timeout=300)
            for serial in machine.serials:
                with (work / f"{serial}.img").open("wb") as file:
                    file.truncate(DISK_BYTES)
            stack.enter_context(qemu(machine.command(work), work / f"{machine.name}-qemu.log"))
        yield


def answers(address: str, seconds: float, port: int = 22) -> float:
    """Wait until a machine's sshd greets; return the seconds that took.

    Raises:
        RuntimeError: it did not in time.
    """
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        with suppress(OSError), socket.create_connection((address, port), timeout=5) as connection:
            if connection.recv(4):
                return time.monotonic() - start
        time.sleep(2)
    raise RuntimeError(
        f"{address} does not answer on port {port} within {seconds:.0f} s: see its console's log"
    )
