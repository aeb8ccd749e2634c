"""The lab's driver `docker`: network, loop devices, containers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm_lab.docker import (
    bays,
    container,
    emulation,
    engine_flags,
    gpus,
    image,
    inotify,
    network,
    nodefiles,
)
from avadm_lab.docker.client import LABEL_FOLDER, LABEL_NODE, Docker
from avadm_lab.docker.container import Inspected
from avadm_lab.docker.loop_devices import Loops
from avadm_lab.driver import MachineState, NodeState, Reporter, step
from avadm_lab.folder import Folder
from avadm_lab.layout import Config, Disk, LabNode
from avadm_lab.process import Proc

_AT_ONCE = 4  # container starts wait for disk and engine; more at once gained nothing on 2 cores


class DockerDriver:
    """See avadm_lab.driver.Driver.

    Args:
        proc: runs commands.
        config: the lab's numbers.
        folder: the lab's own folder.
        caches: where what can be made again is kept (node image, chosen flags).
        report: called with what happens.
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
        self.network = network.name(config)

    def owner(self) -> Path | None:
        """See Driver.owner."""
        for found in self._containers().values():
            other = Path(_folder(found) or self.folder.root)
            if other != self.folder.root and Folder(other).state.exists():
                return other
        return None

    def suit(self, nodes: list[LabNode]) -> None:
        """See Driver.suit."""
        emulation.suit(nodes)

    def prepare(self) -> bool:
        """Have the network; AvadmError where it overlaps another."""
        return network.ensure(self.docker, self.config, str(self.folder.root))

    def states(self, nodes: list[LabNode]) -> dict[str, NodeState]:
        """See Driver.states."""
        found = self._containers()
        attached = {Path(lo.backing).stem: lo.number for lo in self.loops.ours() if not lo.deleted}
        net = network.identity(self.docker, self.config)
        return {n.name: container.state(self.config, n, found.get(n.name), attached, net) for n in nodes}

    def ensure(self, nodes: list[LabNode]) -> list[str]:
        """See Driver.ensure."""
        if stale := self.loops.drop(stale_only=True):
            self.report.note(f"detached {stale} loop device(s) whose file was gone")
        states = self.states(nodes)
        work = [n for n in nodes if states[n.name].state is not MachineState.RUNNING or states[n.name].fault]
        if not work:
            return []
        for node in work:
            if fault := states[node.name].fault:
                self.report.note(f"{node.name}: {fault}")
        if reply := inotify.provide(work):
            self.report.note(reply)
        found = self._containers()
        # One after the other: two `losetup --find` at once may get the same free device.
        loops = {n.name: self._attach(n, found.get(n.name)) for n in work}
        net = network.identity(self.docker, self.config)
        fresh = [
            n for n in work if not container.usable(self.config, n, found.get(n.name), loops[n.name], net)
        ]
        tag, chosen = self._recipe() if fresh else ("", [])
        kept = self._clear_away([(n, found[n.name]) for n in fresh if n.name in found])

        def start(node: LabNode) -> None:
            at = loops[node.name]
            if node in fresh:
                container.create(
                    self.docker, self.proc, self.config, self.folder, node,
                    loops=at, network=self.network, tag=kept.get(node.name, tag), chosen=chosen,
                )  # fmt: skip
            self.docker.must(f"Starting {node.name}", "start", container.name(self.config, node), timeout=120)
            container.make_ready(self.docker, self.config, node, at, self.folder.password)

        with step(self.report, f"starting {', '.join(n.name for n in work)}"):
            _all(start, work)
        return [n.name for n in work]

    def supply(self, nodes: list[LabNode]) -> list[str]:
        """See Driver.supply."""
        having = [n for n in nodes if n.gpus]
        source = gpus.program(self.report) if having else None
        if source is None:
            return []
        return [n.name for n in having if gpus.supply(self.docker, container.name(self.config, n), source)]

    def host_key(self, node: LabNode) -> str:
        """Return the host key that sshd in the node has, as the node itself says."""
        path = f"/{nodefiles.HOST_KEY}.pub"
        doing = f"Reading the host key of {node.name}"
        shown = self.docker.must(doing, "exec", container.name(self.config, node), "cat", path)
        return " ".join(shown.split()[:2])

    def power(self, node: LabNode, on: bool) -> None:
        """See Driver.power; off is as a pulled plug, without a shutdown."""
        if on:
            self.ensure([node])
        elif self.states([node])[node.name].state is MachineState.RUNNING:
            self.docker.must(f"Switching {node.name} off", "kill", container.name(self.config, node))

    def discard(self, node: LabNode) -> list[str]:
        """See Driver.discard."""
        messages = []
        if found := self._containers().get(node.name):
            self._remove_containers([found["Id"]])
            messages.append(f"the container of {node.name}")
        self.docker.run("image", "rm", "-f", container.kept(self.config, node))
        if count := emulation.discard(self.docker, self.config, node):
            messages.append(f"{count} volume(s)")
        if count := sum(self.loops.discard(disk.serial) for disk in node.disks):
            messages.append(f"{count} disk(s)")
        for path in self.folder.host_keys(node.name), self.folder.host_keys(f"{node.name}.pub"):
            path.unlink(missing_ok=True)
        return messages

    def pull(self, node: LabNode, disk: Disk) -> None:
        """See Driver.pull."""
        bays.pull(self.docker, self.config, self.loops, node, disk)

    def insert(self, node: LabNode, disk: Disk) -> None:
        """See Driver.insert."""
        bays.insert(self.docker, self.config, self.loops, node, disk, self._containers()[node.name])

    def remove(self) -> list[str]:
        """Remove containers, images, network and loop devices of the lab's name or folder.

        A folder that by now holds a lab of another name keeps its loop devices.
        """
        messages = []
        found = self._containers()
        folders = {self.folder.root} | {Path(f) for c in found.values() if (f := _folder(c))}
        if found:
            self._remove_containers([c["Id"] for c in found.values()])
            messages.append(f"{len(found)} container(s)")
        if count := emulation.remove(self.docker, self.config):
            messages.append(f"{count} volume(s)")
        if count := image.remove(self.docker, self.config.name):
            messages.append(f"{count} image(s)")
        if count := network.remove(self.docker, self.config.name):
            messages.append(f"{count} network")
        free = [f for f in folders if not Folder(f).is_anothers(self.config.name)]
        if count := sum(Loops(self.proc, folder / "disks").drop() for folder in free):
            messages.append(f"{count} loop device(s)")
        return messages

    def _recipe(self) -> tuple[str, list[str]]:
        tag = image.ensure(
            self.docker, self.proc, self.caches / "images", self.proxy, self.report, self.config.release
        )
        store = self.caches / "docker-flags.json"
        return tag, engine_flags.choose(self.docker, tag, self.config.name, store, self.report)

    def _containers(self) -> dict[str, Inspected]:
        found = self.docker.containers(self.config.name)
        return {c["Config"]["Labels"].get(LABEL_NODE, c["Name"].lstrip("/")): c for c in found}

    def _attach(self, node: LabNode, found: Inspected | None) -> dict[str, int]:
        """Attach a node's disks, where possible at the numbers its container was made with; by serial."""
        wanted = container.loop_numbers(found) if found else {}
        return {
            disk.serial: self.loops.attach(
                self.loops.create(disk.serial, disk.bytes), wanted.get(container.device(disk))
            )
            for disk in node.disks
        }

    def _clear_away(self, unfit: list[tuple[LabNode, Inspected]]) -> dict[str, str]:
        """Remove containers that must be recreated; return node to the image that keeps what they held."""
        kept = {}
        for node, found in unfit:
            if tag := container.keep(self.docker, self.config, node, found):
                kept[node.name] = tag
                self.report.note(f"{node.name} gets a new container; what is installed on it is kept")
            elif found["State"]["Status"] != "created":
                self.report.note(
                    f"{node.name} is recreated: what was installed on it is gone, its disks stay"
                )
            self._remove_containers([found["Id"]])
        return kept

    def _remove_containers(self, ids: list[str]) -> None:
        self.docker.must("Removing containers", "rm", "-f", "-v", *ids, timeout=120)


def _folder(found: Inspected) -> str | None:
    label: str | None = found["Config"]["Labels"].get(LABEL_FOLDER)
    return label


def _all(work: Callable[[LabNode], None], nodes: list[LabNode]) -> None:
    """Do the work for all nodes, some at once; AvadmError with the findings of all that failed."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        futures = [pool.submit(work, node) for node in nodes]
    findings: list[Finding] = []
    for future in futures:
        error = future.exception()
        if isinstance(error, AvadmError):
            findings += error.findings
        elif error is not None:
            raise error
    if findings:
        raise AvadmError(findings)
