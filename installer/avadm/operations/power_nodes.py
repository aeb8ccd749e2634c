"""The nodes of a site that is stopped or started as a whole: their units, their mounts of ceph, and switching them off."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from avadm.catalogue import finding
from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.components.catalog import daemons
from avadm.components.model import Stage
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.operations.model import Progress
from avadm.remote import access
from avadm.remote.call import Function, ask, mapping
from avadm.state.lock.nodes import WITHOUT_MONS
from avadm_node.probes import power

ASK_S, RELEASE_S, STOP_S = 60.0, 600.0, 300.0
"""Seconds of a question, of unmounting, and of stopping containers."""
OWN_BOOT = Path("/proc/sys/kernel/random/boot_id")
SHOWN = 5


@dataclass(frozen=True)
class PowerNodes:
    """The nodes of a site.

    Attributes:
        cluster: the site.
        gone: nodes that are left out: they do not answer, and the user accepts that.
    """

    cluster: Cluster
    gone: frozenset[str] = field(default=frozenset())

    @cached_property
    def units(self) -> dict[Stage, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]]:
        """Stage to node to the patterns of its units, and of those that are waited for."""
        found: dict[Stage, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {}
        for node in self.cluster.site.nodes:
            if node.name in self.gone:
                continue
            for one in daemons(self.cluster.site, node):
                of_stage = found.setdefault(one.stage, {})
                units, ends = of_stage.get(node.name, ((), ()))
                of_stage[node.name] = ((*units, *one.units), (*ends, *one.ends))
        return found

    def of(self, stage: Stage) -> tuple[str, ...]:
        """Return the nodes that have units of a stage."""
        return tuple(self.units.get(stage, ()))

    def look(self, stage: Stage) -> dict[str, dict[str, Any]]:
        """Return node to what runs and is missing of a stage, as avadm_node's power.units; AvadmError where one is silent."""
        return self._units(stage, "look", self.of(stage))

    def stop(self, stage: Stage, names: Sequence[str] | None = None) -> None:
        """Ask units of a stage to stop, on all of its nodes or some; AvadmError where a node could not do it."""
        self._units(stage, "stop", self.of(stage) if names is None else names)

    def start(self, stage: Stage) -> None:
        """Ask the units of a stage that are enabled to start; AvadmError where a node could not do it."""
        self._units(stage, "start", self.of(stage))

    def running(self, stage: Stage) -> list[str]:
        """Return what of a stage runs, in words; AvadmError where a node is silent."""
        return [
            f"{unit} of {node}" for node, one in self.look(stage).items() for unit in sorted(one["running"])
        ]

    def missing(self, stage: Stage) -> list[str]:
        """Return what of a stage is enabled and does not run, in words; AvadmError where a node is silent."""
        return [f"{unit} of {node}" for node, one in self.look(stage).items() for unit in one["missing"]]

    def stop_containers(self) -> None:
        """Stop the containers that kubelets left; AvadmError where a node could not do it."""
        given = {key: {"do": "stop"} for key in self.of(Stage.KUBELETS)}
        self._ask(power.containers, given, STOP_S)

    def left_containers(self) -> list[str]:
        """Return the nodes on which containers of pods run, in words."""
        given = {key: {"do": "look"} for key in self.of(Stage.KUBELETS)}
        found = self._ask(power.containers, given, ASK_S)
        return [f"{one['left']} containers of pods on {node}" for node, one in found.items() if one["left"]]

    def release(self, fsid: str) -> list[str]:
        """Unmount what needs ceph and unmap its images; return what is left and why, in words."""
        return self._storage("release", fsid)

    def mounted(self, fsid: str) -> list[str]:
        """Return what of ceph is mounted or mapped, in words."""
        return self._storage("look", fsid)

    def _storage(self, do: str, fsid: str) -> list[str]:
        filesystem = self.cluster.site.components.ceph.filesystem
        mount = filesystem.mount if filesystem else ""
        given = {
            node: {"do": do, "units": units, "mount": mount, "fsid": fsid}
            for node, (units, _) in self.units.get(Stage.CLIENTS, {}).items()
        }
        lines = []
        for node, one in self._ask(power.storage, given, RELEASE_S).items():
            left = one["mounts"] + one["mapped"]
            if not left and not one["holders"]:
                continue
            why = one["holders"] or one["failed"] or ["no process of the node is seen to use it"]
            lines.append(f"{node}: {listed(left) or 'unmounted'}: {listed(why)}")
        return lines

    def fsid(self) -> str:
        """Return the id of the site's ceph cluster, as its monitors' nodes have it; AvadmError where none answers."""
        names = [name for name in self.of(Stage.MONITORS) if name not in self.gone]
        found = {one["fsid"] for one in self._ask(power.fsid, {key: {} for key in names}, ASK_S).values()}
        if len(found) != 1 or not all(found):
            raise AvadmError.of(
                "power-node", found=f"fsid: {', '.join(sorted(found)) or 'none'}", where="/etc/ceph/ceph.conf"
            )
        return str(found.pop())

    @property
    def keepers(self) -> tuple[str, ...]:
        """The nodes that keep the site's lock and the copies of its state: switched off last."""
        site = self.cluster.site
        names = [n.name for n in site.with_role("mon") or site.nodes[:WITHOUT_MONS]]
        return tuple(name for name in names if name not in self.gone)

    def host(self) -> tuple[str, ...]:
        """Return the nodes that avadm itself runs on, or whose kernel it shares; AvadmError where a node is silent."""
        boot = OWN_BOOT.read_text(encoding="ascii").strip() if OWN_BOOT.exists() else ""
        # A file that only this machine has: its name cannot be guessed.
        with tempfile.NamedTemporaryFile(prefix=f"avadm-{secrets.token_hex(16)}-") as marker:
            names = [n.name for n in self.cluster.site.nodes if n.name not in self.gone]
            given = {key: {"marker": marker.name, "boot": boot} for key in names}
            found = self._ask(power.identity, given, ASK_S)
        return tuple(name for name, one in found.items() if one["ours"])

    def switch_off(self, names: Sequence[str], seconds: int) -> None:
        """Have nodes switched off some seconds from now; AvadmError where one could not do it."""
        self._ask(power.off, {key: {"seconds": seconds} for key in names}, ASK_S)

    def on(self, names: Sequence[str]) -> list[str]:
        """Return the nodes of these that answer."""
        answering = health.answering(self.cluster, names)
        return [name for name in names if name in answering]

    def _units(self, stage: Stage, do: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        of_stage = self.units.get(stage, {})
        given = {name: {"do": do, "units": of_stage[name][0], "ends": of_stage[name][1]} for name in names}
        return self._ask(power.units, given, ASK_S)

    def _ask(
        self, function: Function, given: Mapping[str, object], timeout: float
    ) -> dict[str, dict[str, Any]]:
        """Return node to an answer; AvadmError with all nodes that gave none: what is not known never counts as stopped."""
        if not given:
            return {}
        answers = ask(
            self.cluster.fleet,
            self.cluster.site_file.profile.python,
            function,
            given,
            read=mapping,
            timeout=timeout,
        )
        findings: list[Finding] = []
        found = {}
        for node, answer in answers.items():
            if answer.result.error is not None:
                findings.append(access.finding("power-node", node, answer.result.error))
            elif answer.value is None or "error" in answer.value:
                why = str(answer.value["error"]) if answer.value else answer.why
                findings.append(finding("power-node", found=why, host=node))
            else:
                found[node] = answer.value
        if findings:
            raise AvadmError(findings)
        return found


def listed(words: Sequence[str]) -> str:
    """Return words, the first few."""
    more = len(words) - SHOWN
    return ", ".join(words[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def until_none(look: Callable[[], Sequence[str]]) -> Callable[[], Progress]:
    """Return the look of a gate that is open where nothing is left of what a function lists."""

    def seen() -> Progress:
        left = look()
        return Progress(listed(left), len(left))

    return seen
