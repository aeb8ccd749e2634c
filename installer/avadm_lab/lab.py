"""The lab's verbs: up (make, or repair), list, power, down."""

from __future__ import annotations

import fcntl
import hashlib
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from avadm import paths
from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm_lab import layout, prereqs, sitefile
from avadm_lab.cacher import Cacher
from avadm_lab.docker.engine import Engine
from avadm_lab.docker.machine import DockerDriver
from avadm_lab.driver import Driver, MachineState, Reporter, step
from avadm_lab.folder import Folder, usual
from avadm_lab.layout import Config, Disk, LabNode
from avadm_lab.process import Proc, run_checked

_SPARE = range(2, 10)
"""Numbers that are tried for a lab whose name is in use."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What `lab up` had to do, in words; empty where everything ran already."""

    what: tuple[str, ...]


class Lab:
    """One lab, by its folder.

    Args:
        folder: the lab's own folder.
        config: its numbers.
        proc: runs commands.
        report: called with what happens.
        named: whether somebody chose its name or network; if not, a new lab takes others where they are in use.
    """

    def __init__(
        self, folder: Folder, config: Config, proc: Proc, report: Reporter, *, named: bool = True
    ) -> None:
        self.folder = folder
        self.proc = proc
        self.report = report
        self.named = named
        self.engine = Engine(proc, paths.cache() / "engine")
        self._adopt(config)

    def _adopt(self, config: Config) -> None:
        self.config = config
        self.planned = layout.nodes(config)
        """The nodes of its site file, as the lab writes it."""
        self.nodes = layout.exchanged([*self.planned, *self._spares()], self._bays())
        self.cacher = Cacher(self.proc, paths.cache() / "apt", config.name, config.gateway)
        self.driver: Driver = DockerDriver(
            self.proc, config, self.folder, paths.cache(), self.report, self.cacher.url
        )

    def up(self) -> Changed:
        """Make the lab, or repair what is not as it should be."""
        with self._alone():
            return self._up()

    def _up(self) -> Changed:
        changed: list[str] = []
        sitefile.check(self.config, self.planned)
        self.driver.suit(self.nodes)
        if missing := prereqs.ensure(self.proc, self.report):
            changed.append(f"installed {', '.join(missing)}")
        if self.engine.ensure(self.report):
            changed.append("started the container engine")
        self._same_as_before()
        if not self.named and not self.folder.state.exists():
            self._take_a_free_name()
        self._name_is_ours()
        self.folder.check()
        if not self.folder.state.exists() and (left := self.driver.remove()):
            self.report.note(f"removed what an earlier lab of this name left behind: {', '.join(left)}")
        if self.driver.prepare():
            changed.append("made the network")
        self.folder.make()
        grown = self.folder.config() not in (None, self.config)
        self._remember()
        if self.cacher.ensure():
            changed.append("started the apt cache")
        self._secrets()
        if started := self.driver.ensure(self.nodes):
            changed.append(f"started {', '.join(started)}")
        if supplied := self.driver.supply(self.nodes):
            changed.append(f"put stand-ins for GPUs on {', '.join(supplied)}")
        if started or grown or not self.folder.site.exists():
            changed += self._site()
        changed += self._pointer()
        return Changed(tuple(changed))

    def down(self, *, engine: bool = False) -> list[str]:
        """Remove all that the lab made; caches stay. Return what was removed, in words."""
        with self._alone():
            return self._down(engine)

    def _down(self, engine: bool) -> list[str]:
        removed: list[str] = []
        foreign = self.folder.is_anothers(self.config.name)
        if foreign:
            self.report.note(f"the lab in {self.folder.root} has another name and stays")
        exists = self.folder.state.exists() and not foreign
        if exists:
            self.engine.ensure(self.report)
        answers = exists or self.engine.alive()
        if other := self.driver.owner() if answers else None:
            self.report.note(f"the lab {self.config.name} of {other} is not this one and stays")
        else:
            removed += self.driver.remove() if answers else []
            removed += ["the apt cache's daemon"] if self.cacher.stop() else []
        pointer = paths.default_site_pointer()
        if not foreign and pointer.is_file() and pointer.read_text().strip() == str(self.folder.site):
            pointer.unlink()
            removed.append("the default site")
        if exists:
            self.folder.remove()
            removed.append(str(self.folder.root))
        if engine and self.engine.stop(self.report):
            removed.append("the container engine")
        return removed

    def add(self, name: str, roles: tuple[str, ...] = (), disks: int = 0, rack: str = "r1") -> LabNode:
        """Start one more machine beside those of the lab's numbers; the site file is not written. Again: nothing is changed.

        Args:
            name: stor, mast or comp with a number that no node of the lab has.
            roles: what the site file will give it; the container is made for them.
            disks: how many block devices it has.
            rack: its rack.

        Raises:
            AvadmError: there is no lab, the name is of no use, or the machine does not start.
        """
        with self._alone():
            self._running()
            node = layout.spare(self.config, name, roles, disks, rack)
            others = [n for n in self._spares() if n.name != name]
            self.driver.suit([node])
            self._keep_spares([*others, node])
            node = self.node(name)
            self.driver.ensure([node])
            self.driver.supply([node])
            self._known_hosts()
            return node

    def discard(self, name: str) -> list[str]:
        """Remove one machine with its disks, as if it were carried away; return what was removed, in words.

        One of the lab's numbers comes back blank, with another host key, by the next `lab up`.
        """
        with self._alone():
            self._running()
            node = self.node(name)
            removed = self.driver.discard(node)
            self.folder.write(
                {**(self.folder.read() or {}), "bays": {k: v for k, v in self._bays().items() if k != name}}
            )
            self._keep_spares([n for n in self._spares() if n.name != name])
            return removed

    def _running(self) -> None:
        if not self.folder.state.exists():
            raise AvadmError.of("lab-none", where=str(self.folder.root))

    def _spares(self) -> list[LabNode]:
        """Return the machines that were added beside the lab's numbers."""
        try:
            kept = (self.folder.read() or {}).get("spares", [])
        except AvadmError:  # a lab whose memory is damaged can still be removed by its name
            return []
        names = {n.name for n in self.planned}
        return [
            layout.spare(self.config, one["name"], tuple(one["roles"]), one["disks"], one["rack"])
            for one in kept
            if one["name"] not in names  # by now it is one of the lab's numbers
        ]

    def _keep_spares(self, spares: list[LabNode]) -> None:
        kept = [
            {"name": n.name, "roles": list(n.roles), "disks": len(n.disks), "rack": n.rack} for n in spares
        ]
        self.folder.write({**(self.folder.read() or {}), "spares": kept})
        self.nodes = layout.exchanged([*self.planned, *spares], self._bays())

    def power(self, name: str, on: bool) -> None:
        """Cut a node's power as a pulled plug does, or switch it on and wait until it is ready."""
        with self._alone():
            self.driver.power(self.node(name), on)

    def pull(self, name: str, disk: str) -> Disk:
        """Pull a disk out of a running node; return it. Its content stays, and `insert` brings it back.

        Args:
            name: the node.
            disk: its serial number, or its letter.

        Raises:
            AvadmError: there is no such disk, or it cannot be pulled.
        """
        with self._alone():
            node = self.node(name)
            found = next((d for d in node.disks if disk in (d.serial, d.letter)), None)
            if found is None:
                serials = ", ".join(d.serial for d in node.disks) or "none"
                raise AvadmError.of("lab-disk", where=name, found=disk, wanted=serials)
            self.driver.pull(node, found)
            self._fill(name, found.letter, None)
            return found

    def insert(self, name: str, size: int | None = None, serial: str | None = None) -> Disk:
        """Insert a disk into the first empty bay of a running node; return it.

        Args:
            name: the node.
            size: bytes; those of the lab's disks where it is left out. A disk that was pulled keeps its own.
            serial: its serial number, e.g. of one that was pulled; a new one where it is left out.

        Raises:
            AvadmError: no bay is empty, or a disk of that serial number is in a node.
        """
        with self._alone():
            node = self.node(name)
            empty = sorted(letter for letter, one in self._bays().get(name, {}).items() if one is None)
            if not empty:
                raise AvadmError.of("lab-disk-bay", where=name, found="none is empty", wanted="an empty bay")
            used = {d.serial for n in self.nodes for d in n.disks}
            names = (f"{self.config.name.upper()}-{name}-{empty[0]}{i}" for i in count(2))
            chosen = serial or next(
                n for n in names if n not in used and not (self.folder.disks / f"{n}.img").exists()
            )
            if chosen in used or not re.fullmatch(r"[A-Za-z0-9-]{1,40}", chosen):
                raise AvadmError.of("lab-disk", where="--serial", found=chosen, wanted="one that no disk has")
            file = self.folder.disks / f"{chosen}.img"
            length = file.stat().st_size if file.exists() else size or self.config.disk_bytes
            disk = Disk(chosen, empty[0], length)
            self.driver.insert(node, disk)
            self._fill(name, disk.letter, {"serial": disk.serial, "bytes": disk.bytes})
            return disk

    def _bays(self) -> dict[str, dict[str, Any]]:
        """Return the bays whose disk was changed: node to letter to serial number and bytes, None for an empty one."""
        try:
            return dict((self.folder.read() or {}).get("bays", {}))
        except AvadmError:  # a lab whose memory is damaged can still be removed by its name
            return {}

    def _fill(self, name: str, letter: str, disk: dict[str, Any] | None) -> None:
        """Remember what is in a bay."""
        bays = self._bays()
        bays.setdefault(name, {})[letter] = disk
        self.folder.write({**(self.folder.read() or {}), "bays": bays})
        self.nodes = layout.exchanged(self.nodes, {name: {letter: disk}})

    def show(self) -> dict[str, Any]:
        """Return the nodes with addresses, roles, ssh access and state, JSON-ready."""
        states = self.driver.states(self.nodes) if self.engine.alive() else {}
        ssh = {"user": "root", "port": 22, "key": str(self.folder.key)}
        return {
            "nodes": [
                {
                    "name": n.name,
                    "address": str(n.address),
                    "roles": list(n.roles),
                    "ssh": ssh,
                    "state": str(states[n.name].state if n.name in states else MachineState.MISSING),
                }
                for n in self.nodes
            ]
        }

    def node(self, name: str) -> LabNode:
        """Return a node by name; AvadmError where there is none."""
        for n in self.nodes:
            if n.name == name:
                return n
        names = ", ".join(n.name for n in self.nodes)
        raise AvadmError.of("lab-node", where="NODE", found=name, wanted=names)

    def ssh_command(self, name: str, command: list[str]) -> list[str]:
        """Return the ssh command line to a node, with its pinned host key."""
        node = self.node(name)
        return [
            "ssh",
            "-F",
            "/dev/null",
            "-i",
            str(self.folder.key),
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "StrictHostKeyChecking=yes",
            "-o",
            f"UserKnownHostsFile={self.folder.known_hosts}",
            "-o",
            "LogLevel=ERROR",
            f"root@{node.address}",
            *command,
        ]

    def _alone(self) -> AbstractContextManager[None]:
        return exclusive(paths.cache() / "lab.lock", self.report)

    def _same_as_before(self) -> None:
        """A lab's release, subnet, disks and sizes stay; only its number of nodes may grow."""
        before = self.folder.config()
        if before is None:
            return
        fixed = ("name", "subnet", "disks", "disk_bytes", "release", "any_role")
        wrong = [k for k in fixed if getattr(before, k) != getattr(self.config, k)]
        wrong += [
            k for k in ("storage", "compute", "masters") if getattr(before, k) > getattr(self.config, k)
        ]
        if wrong:
            raise AvadmError(
                [
                    finding(
                        "lab-changed",
                        where=str(self.folder.state),
                        found=str(getattr(self.config, key)),
                        wanted=str(getattr(before, key)),
                        key=key,
                    )
                    for key in wrong
                ]
            )

    def _take_a_free_name(self) -> None:
        """Call a second checkout's lab otherwise than the first one's, on a network of its own."""
        first, other = self.config, self.driver.owner()
        if other is None:
            return
        for i in _SPARE:
            update = {"name": f"{first.name}{i}", "subnet": layout.spare_subnet(i)}
            self._adopt(first.model_copy(update=update))
            if self.driver.owner() is None:
                self.report.note(
                    f"the lab {first.name!r} belongs to {other}, so this one is called {self.config.name!r} and gets "
                    f"{self.config.subnet}; that one's nodes need memory too: `AVADM_LAB_DIR={other} avadm lab down` removes it"
                )
                return
        self._adopt(first)

    def _name_is_ours(self) -> None:
        if other := self.driver.owner():
            raise AvadmError.of(
                "lab-name-taken",
                where="--name",
                found=str(other),
                wanted=str(self.folder.root),
                name=self.config.name,
                other=other,
            )

    def _remember(self) -> None:
        data = self.folder.read() or {}
        config = self.config.model_dump(mode="json")
        if data.get("config") != config:
            self.folder.write({**data, "config": config})

    def _secrets(self) -> None:
        self.folder.secrets()
        if not self.folder.key.exists():
            argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"avadm-lab-{self.config.name}"]
            run_checked(self.proc.run([*argv, "-f", str(self.folder.key)]), "Making the lab's ssh key")

    def _site(self) -> list[str]:
        """Write known_hosts and the site file; the latter only while no one else has edited it."""
        keys = self._known_hosts()
        text = sitefile.text(self.config, self.planned, keys, self.cacher.url)
        site, data = self.folder.site, self.folder.read() or {}
        old = site.read_text() if site.exists() else None
        if old == text:
            return []
        if old is not None and _digest(old) != data.get("site_digest"):
            self.report.note(f"{site} was edited and is left as it is; delete it to have it written again")
            return []
        site.write_text(text)
        self.folder.write({**data, "site_digest": _digest(text)})
        return [f"wrote {site}"]

    def _known_hosts(self) -> dict[str, str]:
        """Write the nodes' host keys for `lab ssh`; return them by name. A node that was carried away has none."""
        states = self.driver.states(self.nodes)
        there = [n for n in self.nodes if states[n.name].state is MachineState.RUNNING]
        keys = {n.name: self.driver.host_key(n) for n in there}
        self.folder.known_hosts.write_text("".join(f"{n.address} {keys[n.name]}\n" for n in there))
        return keys

    def _pointer(self) -> list[str]:
        pointer = paths.default_site_pointer()
        if pointer.is_file() and pointer.read_text().strip() == str(self.folder.site):
            return []
        if self.folder.root != usual() and pointer.is_file():
            return []  # a second lab does not take the first one's place
        pointer.parent.mkdir(parents=True, exist_ok=True)
        pointer.write_text(f"{self.folder.site}\n")
        return ["made it the default site"]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def exclusive(path: Path, report: Reporter) -> Iterator[None]:
    """Hold the lock while the block runs; the kernel frees it when the process ends, however that happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with step(report, "waiting for another `avadm lab`"):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
