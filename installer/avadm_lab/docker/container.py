"""One node's container: how it is made, what is wrong with it, and whether it is ready."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm_lab.docker import emulation, engine_flags, nodefiles
from avadm_lab.docker.client import LABEL, LABEL_FOLDER, LABEL_NODE, Docker
from avadm_lab.docker.loop_devices import number
from avadm_lab.driver import MachineState, NodeState
from avadm_lab.folder import Folder
from avadm_lab.layout import Config, Disk, LabNode
from avadm_lab.process import Proc

Inspected = dict[str, Any]
"""One entry of `docker container inspect`."""


def name(config: Config, node: LabNode) -> str:
    """Return the name of a node's container."""
    return f"avadm-{config.name}-{node.name}"


def device(disk: Disk) -> str:
    """Return a disk's path in the node."""
    return f"/dev/sd{disk.letter}"


def loop_numbers(container: Inspected) -> dict[str, int]:
    """Return path in the node to loop number, as the container was made."""
    devices = container["HostConfig"].get("Devices") or []
    numbers = {d["PathInContainer"]: number(d["PathOnHost"]) for d in devices}
    return {path: n for path, n in numbers.items() if n is not None}


def on_network(container: Inspected, network: str | None) -> bool:
    """Whether a container is on the network of this id; one made again under the same name is another."""
    return any(end.get("NetworkID") == network for end in container["NetworkSettings"]["Networks"].values())


def lacks(config: Config, node: LabNode, container: Inspected) -> list[str]:
    """Return in words what a node has not of its own: docker fixes volumes, devices, groups when a container is made."""
    have = {m["Destination"]: m.get("Name") for m in container.get("Mounts") or []}
    lost = [
        f"{path} is no volume"
        for path, name in emulation.volumes(config, node).items()
        if have.get(path) != name
    ]
    if container["HostConfig"].get("CgroupnsMode") == "host":
        lost.append("its control groups are this machine's")
    allowed = container["HostConfig"].get("DeviceCgroupRules") or []
    return lost + [f"devices {rule} are not allowed" for rule in emulation.rules(node) if rule not in allowed]


def state(
    config: Config, node: LabNode, container: Inspected | None, at: Mapping[str, int], network: str | None
) -> NodeState:
    """Judge a node's container.

    Args:
        config: the lab's numbers.
        node: what the node should be.
        container: its container, None where there is none.
        at: serial to the loop number where that disk is attached now.
        network: id of the lab's network, None where it is gone.
    """
    if container is None:
        return NodeState(MachineState.MISSING)
    running = bool(container["State"]["Running"])
    have = loop_numbers(container)
    faults = [] if running else [f"container is {container['State']['Status']}"]
    for disk in node.disks:
        if disk.serial not in at:
            faults.append(f"{disk.serial} is detached")
        elif have.get(device(disk)) != at[disk.serial]:
            faults.append(f"{disk.serial} is another loop device now")
    faults += lacks(config, node, container)
    if not on_network(container, network):
        faults.append("container is not on the lab's network")
    return NodeState(MachineState.RUNNING if running else MachineState.STOPPED, ", ".join(faults))


def usable(
    config: Config, node: LabNode, container: Inspected | None, loops: Mapping[str, int], network: str | None
) -> bool:
    """Whether a container needs only to be started, given where its disks are attached now.

    docker fixes a container's devices and network when it is made; one that never ran may lack its files.
    """
    if container is None or container["State"]["Status"] not in ("running", "exited", "paused"):
        return False
    have = loop_numbers(container)
    same = all(have.get(device(disk)) == loops[disk.serial] for disk in node.disks)
    return same and on_network(container, network) and not lacks(config, node, container)


def create(
    docker: Docker, proc: Proc, config: Config, folder: Folder, node: LabNode, *,
    loops: Mapping[str, int], network: str, tag: str, chosen: list[str],
) -> None:  # fmt: skip
    """Make a node's container from an image, with its own files in it; it is not started."""
    labels = {LABEL: config.name, LABEL_NODE: node.name, LABEL_FOLDER: str(folder.root)}
    args = ["--name", name(config, node), "--hostname", node.name, "--stop-signal", "SIGRTMIN+3"]
    args += ["--network", network, "--ip", str(node.address)]
    # systemd's driver takes names of slices alone, and makes them itself.
    if docker.info("{{.CgroupDriver}}") == "cgroupfs":
        args += ["--cgroup-parent", emulation.cgroup(config, node)]
    args += [a for key, value in labels.items() for a in ("--label", f"{key}={value}")]
    args += [a for d in node.disks for a in ("--device", f"/dev/loop{loops[d.serial]}:{device(d)}")]
    args += emulation.flags(config, node, f"{LABEL}={config.name}")
    docker.must(f"Making {node.name}", "create", *args, *chosen, tag, *engine_flags.INIT, timeout=120)
    files = nodefiles.archive(proc, folder, config, node)
    docker.must(f"Filling {node.name}", "cp", "-", f"{name(config, node)}:/", stdin=files)


def kept(config: Config, node: LabNode) -> str:
    """Return the image that keeps what was installed in a node's container while it is made again."""
    return f"avadm-kept:{config.name}-{node.name}"


def keep(docker: Docker, config: Config, node: LabNode, container: Inspected) -> str | None:
    """Save what is installed in a container that must be recreated; return the image, None where it fails."""
    if container["State"]["Status"] == "created":
        return None
    docker.run("stop", "-t", "20", container["Id"], timeout=60)
    tag = kept(config, node)
    change = f"LABEL {LABEL}={config.name}"
    return tag if docker.run("commit", "--change", change, container["Id"], tag, timeout=300).ok else None


def make_ready(
    docker: Docker, config: Config, node: LabNode, loops: Mapping[str, int], password: Path
) -> None:
    """Wait for sshd, set root's password, prove that the disks are the lab's own; AvadmError where not."""
    container = name(config, node)
    emulation.weigh(config, node)
    seen = engine_flags.wait_sshd(docker, container)
    if seen != "active":
        raise AvadmError(
            finding(
                "lab-node-start",
                where=f"container {container}",
                found=f"ssh.service is {seen or 'not known: systemd is silent'}",
                wanted="ssh.service active",
                host=node.name,
                name=node.name,
                container=container,
            )
        )
    secret = f"root:{password.read_text().strip()}\n".encode()
    done = docker.run("exec", "-i", container, "sh", "-c", nodefiles.check(node, loops), stdin=secret)
    if not done.ok:
        raise AvadmError(
            finding(
                "lab-node-ready",
                where=f"container {container}",
                found=done.why,
                wanted="its own disks, sshd, its password",
                host=node.name,
                name=node.name,
            )
        )
