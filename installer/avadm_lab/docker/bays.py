"""Pulling a disk out of a running node, and inserting another one into the same bay.

The kernel keeps a loop device as long as a process has it open, and a container may use the devices alone that it was made
with: what holds the old disk is killed, as by its I/O errors, and the new one gets the old one's number.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm_lab.docker import container
from avadm_lab.docker.client import Docker
from avadm_lab.docker.container import Inspected
from avadm_lab.docker.loop_devices import Loops
from avadm_lab.layout import Config, Disk, LabNode

LINKS = "/etc/tmpfiles.d/avadm-lab-disks.conf"
"""What makes the by-id links at each boot of a node (nodefiles.archive)."""
_HELD_S = 10.0
_LOOP = 7  # Linux, Documentation/admin-guide/devices.txt


def pull(
    docker: Docker,
    config: Config,
    loops: Loops,
    node: LabNode,
    disk: Disk,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Pull a disk out of a running node; its file stays as it is, so that it can be inserted again.

    Raises:
        AvadmError: the node does not run, or something on this machine holds the disk.
    """
    device, line = container.device(disk), _line(disk)
    script = f"""set -e
rm -f {shlex.quote(disk.by_id)} {device}
if [ -e {LINKS} ]; then grep -v -x -F {shlex.quote(line)} {LINKS} >{LINKS}.new || true; mv {LINKS}.new {LINKS}; fi
for fd in /proc/[0-9]*/fd/*; do
  case "$(readlink "$fd" || true)" in
    {device}|"{device} (deleted)") process=${{fd#/proc/}}; kill -9 "${{process%%/*}}" || true ;;
  esac
done"""
    docker.must(
        f"Pulling {disk.serial}", "exec", container.name(config, node), "sh", "-c", script, timeout=120
    )
    backing = loops.disks / f"{disk.serial}.img"
    until = time.monotonic() + _HELD_S
    while held := [one for one in loops.ours() if one.backing == str(backing)]:
        loops.detach(held[0])
        if time.monotonic() > until:
            raise AvadmError(
                finding(
                    "lab-disk-held", where=disk.serial, found=held[0].path, wanted="a device no one has open"
                )
            )
        sleep(0.2)


def insert(docker: Docker, config: Config, loops: Loops, node: LabNode, disk: Disk, found: Inspected) -> Path:
    """Insert a disk into the bay of its letter, from which another one was pulled; return the file behind it.

    Args:
        docker: the engine.
        config: the lab's numbers.
        loops: its loop devices.
        node: the node, which runs.
        disk: the disk; a file of its serial number that exists is used as it is.
        found: the node's container.

    Raises:
        AvadmError: the bay is no bay of the container, or its loop device was taken meanwhile.
    """
    device = container.device(disk)
    bay = container.loop_numbers(found).get(device)
    backing = loops.create(disk.serial, disk.bytes)
    at = loops.attach(backing, bay) if bay is not None else None
    if at is None or at != bay:
        for one in loops.ours():
            if one.backing == str(backing):
                loops.detach(one)
        raise AvadmError(
            finding(
                "lab-disk-bay",
                where=f"{node.name} {device}",
                found="no such bay" if bay is None else f"/dev/loop{bay} is in use",
                wanted="an empty bay",
            )
        )
    by_id, line = shlex.quote(disk.by_id), shlex.quote(_line(disk))
    script = f"""set -e
rm -f {device}
mknod -m 660 {device} b {_LOOP} {bay}
mkdir -p /dev/disk/by-id
ln -sfn ../../{device.rpartition("/")[2]} {by_id}
echo {line} >>{LINKS}"""
    docker.must(
        f"Inserting {disk.serial}", "exec", container.name(config, node), "sh", "-c", script, timeout=60
    )
    return backing


def _line(disk: Disk) -> str:
    """Return the line of tmpfiles.d that makes a disk's link."""
    return f"L+ {disk.by_id} - - - - ../../sd{disk.letter}"
