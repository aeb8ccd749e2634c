"""What is put into a node's container before its first start, and what is checked after each."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

from avadm_lab.docker import emulation
from avadm_lab.folder import Folder
from avadm_lab.layout import Config, LabNode
from avadm_lab.process import Proc, run_checked

HOST_KEY = "etc/ssh/ssh_host_ed25519_key"


def host_key(proc: Proc, folder: Folder, node: str) -> tuple[bytes, bytes]:
    """Return a node's private and public host key, made where there is none yet."""
    path = folder.host_keys(node)
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"root@{node}", "-f", str(path)]
        run_checked(proc.run(argv), f"Making the host key of {node}")
    return path.read_bytes(), path.with_name(f"{path.name}.pub").read_bytes()


def archive(proc: Proc, folder: Folder, config: Config, node: LabNode) -> bytes:
    """Return a tar archive with the node's own files: host key, links to its disks (made at each boot), shims."""
    private, public = host_key(proc, folder, node.name)
    links = "".join(f"L+ {disk.by_id} - - - - ../../sd{disk.letter}\n" for disk in node.disks)
    contents = [
        (HOST_KEY, 0o600, private),
        (f"{HOST_KEY}.pub", 0o644, public),
        ("etc/tmpfiles.d/avadm-lab-disks.conf", 0o644, links.encode()),
        *emulation.contents(config, node),
    ]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, mode, body in contents:
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(body), mode
            tar.addfile(info, io.BytesIO(body))
        for path, target in emulation.links(node).items():
            info = tarfile.TarInfo(path)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return out.getvalue()


def check(node: LabNode, loops: Mapping[str, int]) -> str:
    """Return the shell script that sets the passwords from stdin and proves that the disks are the lab's own.

    A privileged container sees all devices of the machine: /dev/sdb there might be the machine's real disk.
    """
    lines = ["set -e", "chpasswd"]
    for disk in node.disks:
        wanted = f"7:{loops[disk.serial]}"
        seen = f"$((0x$(stat -Lc %t {disk.by_id}))):$((0x$(stat -Lc %T {disk.by_id})))"
        refuse = f'{{ echo "{disk.by_id} is not loop device {wanted}" >&2; exit 1; }}'
        lines.append(f'[ "{seen}" = {wanted} ] || {refuse}')
    lines.append("systemctl is-active --quiet ssh || systemctl start ssh")
    return "\n".join(lines)
