"""The lab's driver `docker`: network, loop devices, containers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.lab.docker import flags, image, network, nodefiles
from avadm.lab.docker.client import LABEL, LABEL_FOLDER, LABEL_NODE, Docker
from avadm.lab.docker.loops import Loops, number
from avadm.lab.driver import NodeState, Reporter, State, step
from avadm.lab.folder import Folder
from avadm.lab.layout import Config, LabNode
from avadm.lab.proc import Proc

_AT_ONCE = 4  # container starts wait for disk and engine, more at once gained nothing on 2 cores


class DockerDriver:
    """See avadm.lab.driver.Driver.

    Args:
        proc: runs commands.
        config: the lab's numbers.
        folder: the lab's own folder.
        caches: where what can be made again is kept (node image, chosen flags).
        report: told what happens.
        proxy: HTTP proxy for building the node image.
    """

    def __init__(
        self,
        proc: Proc,
        config: Config,
        folder: Folder,
        caches: Path,
        report: Reporter,
        proxy: str | None = None,
    ) -> None:
        self.proc = proc
        self.config = config
        self.folder = folder
        self.caches = caches
        self.report = report
        self.proxy = proxy
        self.docker = Docker(proc)
        self.loops = Loops(proc, folder.disks)

    def prepare(self) -> bool:
        """Have the network; AvadmError where it overlaps another or another checkout has a lab of this name."""
        self._only_ours(self.docker.containers(self.config.name))
        return network.ensure(self.docker, self.config, str(self.folder.root))

    def states(self, nodes: list[LabNode]) -> dict[str, NodeState]:
        """See Driver.states."""
        found = self._containers()
        attached = {loop.backing: loop.number for loop in self.loops.ours() if not loop.deleted}
        return {node.name: self._state(node, found.get(node.name), attached) for node in nodes}

    def ensure(self, nodes: list[LabNode]) -> list[str]:
        """See Driver.ensure."""
        if stale := self.loops.drop(stale_only=True):
            self.report.note(f"detached {stale} loop device(s) whose file was gone")
        states = self.states(nodes)
        work = [n for n in nodes if states[n.name].state is not State.RUNNING or states[n.name].fault]
        if not work:
            return []
        found = self._containers()
        for node in work:
            if node.name in found and (fault := states[node.name].fault):
                self.report.note(f"{node.name}: {fault}")
        name = image.ensure(self.docker, self.proc, self.caches / "images", self.proxy, self.report)
        store = self.caches / "docker-flags.json"
        chosen = flags.choose(self.docker, name, self.config.name, store, self.report)
        # One after the other: two `losetup --find` at once may be told the same free device.
        disks = {n.name: self._attach(n, found.get(n.name)) for n in work}
        names = ", ".join(n.name for n in work)
        with step(self.report, f"starting {names}"), ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda n: self._start(n, found.get(n.name), disks[n.name], name, chosen), work))
        return [n.name for n in work]

    def host_key(self, node: LabNode) -> str:
        """Return the host key that sshd in the node has, as the node itself says."""
        shown = self.docker.must(
            f"Reading the host key of {node.name}",
            "exec",
            self.container(node),
            "cat",
            f"/{nodefiles.HOST_KEY}.pub",
        )
        return " ".join(shown.split()[:2])

    def power(self, node: LabNode, on: bool) -> None:
        """See Driver.power; off is as a pulled plug: nothing in the node is told."""
        if on:
            self.ensure([node])
        elif self.states([node])[node.name].state is State.RUNNING:
            self.docker.must(f"Switching {node.name} off", "kill", self.container(node))

    def remove(self) -> list[str]:
        """Remove containers, network and loop devices that carry the lab's name or lie in its folder."""
        said = []
        containers = self.docker.containers(self.config.name)
        self._only_ours(containers)
        if containers:
            self._remove_containers([c["Id"] for c in containers])
            said.append(f"{len(containers)} containers")
        if count := network.remove(self.docker, self.config.name):
            said.append(f"{count} network")
        if count := self.loops.drop():
            said.append(f"{count} loop devices")
        return said

    def container(self, node: LabNode) -> str:
        """Return the name of a node's container."""
        return f"avadm-{self.config.name}-{node.name}"

    def _containers(self) -> dict[str, dict[str, Any]]:
        found = self.docker.containers(self.config.name)
        return {c["Config"]["Labels"].get(LABEL_NODE, c["Name"].lstrip("/")): c for c in found}

    def _only_ours(self, containers: list[dict[str, Any]]) -> None:
        for c in containers:
            other = c["Config"]["Labels"].get(LABEL_FOLDER, str(self.folder.root))
            if other != str(self.folder.root) and Path(other, "lab.json").exists():
                raise AvadmError(
                    Finding(
                        "lab-name-taken", f"A lab named {self.config.name!r} belongs to another folder.", other,
                        c["Name"].lstrip("/"), str(self.folder.root),
                        "Take that one down first (AVADM_LAB_DIR=<that folder> avadm lab down), or use --name.",
                    )
                )  # fmt: skip

    def _state(self, node: LabNode, container: dict[str, Any] | None, attached: dict[str, int]) -> NodeState:
        if container is None:
            return NodeState(State.MISSING)
        fault = "" if container["State"]["Running"] else f"container was {container['State']['Status']}"
        have = _loop_numbers(container)
        for disk in node.disks:
            at = attached.get(str(self.folder.disks / f"{disk.serial}.img"))
            if at is None:
                fault = f"{disk.serial} was detached"
            elif have.get(f"/dev/sd{disk.letter}") != at:
                fault = f"{disk.serial} is another loop device now"
        if network.name(self.config) not in container["NetworkSettings"]["Networks"]:
            fault = "container is on no network"
        return NodeState(State.RUNNING if container["State"]["Running"] else State.STOPPED, fault)

    def _attach(self, node: LabNode, container: dict[str, Any] | None) -> dict[str, int]:
        """Attach a node's disks, where possible at the numbers its container was made with."""
        wanted = _loop_numbers(container) if container else {}
        return {
            disk.letter: self.loops.attach(
                self.loops.create(disk.serial, disk.bytes), wanted.get(f"/dev/sd{disk.letter}")
            )
            for disk in node.disks
        }

    def _start(
        self,
        node: LabNode,
        container: dict[str, Any] | None,
        disks: dict[str, int],
        tag: str,
        chosen: list[str],
    ) -> None:
        name = self.container(node)
        usable = container is not None and container["State"]["Status"] in ("running", "exited", "created")
        if container is not None and usable:
            have = _loop_numbers(container)
            usable = all(have.get(f"/dev/sd{letter}") == n for letter, n in disks.items())
            usable = usable and network.name(self.config) in container["NetworkSettings"]["Networks"]
        if container is not None and usable and self.docker.run("start", name).ok:
            pass
        else:
            if container is not None:
                self.report.note(
                    f"{node.name} is made anew: what was installed on it is gone, its disks stay"
                )
                self._remove_containers([container["Id"]])
            self._create(node, disks, tag, chosen)
            self.docker.must(f"Starting {node.name}", "start", name)
        self._ready(node)

    def _create(self, node: LabNode, disks: dict[str, int], tag: str, chosen: list[str]) -> None:
        name = self.container(node)
        self.docker.must(
            f"Making {node.name}",
            "create", "--name", name, "--hostname", node.name,
            "--network", network.name(self.config), "--ip", str(node.address),
            "--label", f"{LABEL}={self.config.name}", "--label", f"{LABEL_NODE}={node.name}",
            "--label", f"{LABEL_FOLDER}={self.folder.root}",
            *chosen, *[a for letter, n in disks.items() for a in ("--device", f"/dev/loop{n}:/dev/sd{letter}")],
            tag, "/sbin/init",
        )  # fmt: skip
        archive = nodefiles.archive(self.proc, self.folder, node)
        self.docker.must(f"Filling {node.name}", "cp", "-", f"{name}:/", stdin=archive)

    def _ready(self, node: LabNode) -> None:
        name = self.container(node)
        state = flags.wait_systemd(self.docker, name)
        if state not in ("running", "degraded"):
            raise AvadmError(
                Finding(
                    "lab-node-start", f"{node.name} does not start.", f"container {name}", state or "no answer",
                    "systemd running", f"See `docker logs {name}`; `avadm lab down` and `up` make it anew.",
                    host=node.name,
                )
            )  # fmt: skip
        script = nodefiles.check(node, {d.letter: self._number_of(d.serial) for d in node.disks})
        secret = f"root:{self.folder.password.read_text().strip()}\n"
        done = self.docker.run("exec", "-i", name, "sh", "-c", script, stdin=secret.encode())
        if not done.ok:
            raise AvadmError(
                Finding(
                    "lab-node-ready", f"{node.name} is not as it should be.", f"container {name}", done.why,
                    "its disks, sshd and password", "Run `avadm lab down` and `avadm lab up`.", host=node.name,
                )
            )  # fmt: skip

    def _number_of(self, serial: str) -> int:
        with _LISTING:
            backing = str(self.folder.disks / f"{serial}.img")
            return next((loop.number for loop in self.loops.ours() if loop.backing == backing), -1)

    def _remove_containers(self, ids: list[str]) -> None:
        self.docker.must("Removing containers", "rm", "-f", "-v", *ids, timeout=120)


_LISTING = threading.Lock()


def _loop_numbers(container: dict[str, Any]) -> dict[str, int]:
    """Return path in the node to loop number, as the container was made."""
    devices = container["HostConfig"].get("Devices") or []
    numbers = {d["PathInContainer"]: number(d["PathOnHost"]) for d in devices}
    return {path: n for path, n in numbers.items() if n is not None}
