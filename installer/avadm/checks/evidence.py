"""What checks judge: the facts of nodes and the site file for preflight, a snapshot of both for the doctor."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from avadm.errors import AvadmError
from avadm.site.model import Node, Site
from avadm.site.profile import Profile

FORMAT = 1
"""Changes when an older doctor could no longer read a snapshot."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A node's clock against the controller's.

    Attributes:
        offset_ms: node minus controller, milliseconds.
        error_ms: largest error of that figure: half of the time that passed unobserved.
    """

    offset_ms: float
    error_ms: float


@dataclass(frozen=True)
class PreflightContext:
    """What preflight's checks judge.

    Attributes:
        site: the whole site, also where only some nodes were asked.
        profile: its version profile.
        nodes: the nodes that were asked.
        facts: node name to what the probe returned there; no entry for a node that could not be asked.
        unreachable: node name to the reason.
        clocks: node name to its clock.
    """

    site: Site
    profile: Profile
    nodes: list[Node]
    facts: Mapping[str, Mapping[str, Any]]
    unreachable: Mapping[str, str] = field(default_factory=dict)
    clocks: Mapping[str, Clock] = field(default_factory=dict)

    def each(self, fact: str) -> Iterator[tuple[Node, Any]]:
        """Yield each node that has a fact, with its value."""
        for node in self.nodes:
            value = self.facts.get(node.name, {}).get(fact)
            if value is not None:
                yield node, value

    def unread(self, fact: str) -> Iterator[tuple[str, str]]:
        """Yield each node that was asked and could not give a fact, with the reason."""
        for name in (n.name for n in self.nodes if n.name in self.facts):
            if self.facts[name].get(fact) is None:
                yield name, self.facts[name].get("errors", {}).get(fact, "nothing")


class _Data(BaseModel):
    # A snapshot of a later avadm may say more.
    model_config = ConfigDict(extra="ignore", frozen=True)


class SiteNode(_Data):
    """What the site file says of a node.

    Attributes:
        name: its name.
        address: its address on the management network.
        roles: its roles, and the further duties that components give it.
        devices: how many devices are approved for OSDs.
        gpus: how many GPUs it has.
        ports: TCP ports that the site file names and on which something must listen there.
        listens: first and last of all ports on which something may listen there.
        rules: SHA-256 of the packet filter that it should have; "" for none.
    """

    name: str
    address: str
    roles: tuple[str, ...] = ()
    devices: int = 0
    gpus: int = 0
    gpu_slots: int = 1
    ports: tuple[int, ...] = ()
    listens: tuple[tuple[int, int], ...] = ()
    rules: str = ""


class SiteWaiver(_Data):
    """A waiver of the site file, with what it stands for there.

    Attributes:
        check: the check as the site file names it, with its scope or without.
        scope: ``preflight`` or ``doctor``.
        check_id: the check's id.
        nodes: names, patterns and roles, as they are written.
        named: names of the nodes that these are.
        who: who answers for it.
        why: the reason.
        until: the last day on which it holds.
        where: its place in the site file.
    """

    check: str
    scope: str
    check_id: str
    nodes: tuple[str, ...]
    named: tuple[str, ...]
    who: str
    why: str
    until: date
    where: str = ""


class SiteFacts(_Data):
    """What checks need of the site file.

    Attributes:
        name: the site's name.
        nodes: all its nodes, also those that were not asked.
        versions: component to the version prefix that the profile wants.
        addresses: virtual address to the role whose nodes hold it together.
        pods: network of pods; "" where it is not known.
        more_pods: further ones.
        tunnels: network of the nodes' tunnel addresses; "" where no packets are wrapped.
        mount: where clients mount cephfs; "" for none.
        disk_percent: free space in percent below which kubelet evicts pods.
        snapshot_minutes: minutes between two snapshots of etcd.
        max_skew_ms: largest difference between two clocks.
        waivers: of the doctor's findings.
        component_profiles: component to its profile, where that is another one than the site's.
        backfill: limits of ceph's backfill by the hour, as nodes have them (agents/backfill.py); empty for none.
    """

    name: str
    nodes: tuple[SiteNode, ...]
    versions: dict[str, str] = {}
    addresses: dict[str, str] = {}
    pods: str = ""
    more_pods: tuple[str, ...] = ()
    tunnels: str = ""
    mount: str = ""
    disk_percent: float = 10.0
    snapshot_minutes: int = 60
    max_skew_ms: float = 50.0
    waivers: tuple[SiteWaiver, ...] = ()
    component_profiles: dict[str, str] = {}
    backfill: dict[str, Any] = {}

    @property
    def pod_networks(self) -> list[str]:
        """All networks of pods."""
        return list(filter(None, [self.pods, *self.more_pods]))

    def with_role(self, *roles: str) -> tuple[SiteNode, ...]:
        """Return the nodes that have one of these roles."""
        return tuple(n for n in self.nodes if set(roles) & set(n.roles))

    def node_of(self, address: str) -> str:
        """Return the name of the node with an address, the address itself where it is unknown."""
        return next((n.name for n in self.nodes if n.address == address), address)


class NodeFacts(_Data):
    """What a node reported.

    Attributes:
        silent: why it could not be asked; "" where it answered.
        clock: its clock.
        parts: name of a part of the probe to what that returned.
        errors: name of a part to why it returned nothing.
    """

    silent: str = ""
    clock: Clock | None = None
    parts: dict[str, Any] = {}
    errors: dict[str, str] = {}


class Snapshot(_Data):
    """Everything that was asked at one time.

    Attributes:
        format: see FORMAT.
        avadm: version of avadm that made it.
        taken: epoch seconds.
        seconds: how long it took.
        site: of the site file.
        asked: parts that were asked for; checks of other parts are left out.
        nodes: node name to what it reported, of the nodes that were asked.
        ledger: phase name to its state, as `avadm status` has it; None where it could not be read.
        operations: operations, maintenances and leftovers, as `avadm status` has them; None where they could not be read.
    """

    format: int = FORMAT
    avadm: str = ""
    taken: float
    seconds: float = 0.0
    site: SiteFacts
    asked: tuple[str, ...] = ()
    nodes: dict[str, NodeFacts]
    ledger: dict[str, str] | None = None
    operations: dict[str, list[dict[str, Any]]] | None = None

    def part(self, node: str, name: str) -> Any:
        """Return what a node's part returned; None where there is nothing."""
        facts = self.nodes.get(node)
        return None if facts is None else facts.parts.get(name)

    def concerned(self, roles: Collection[str]) -> list[str]:
        """Return the nodes that were asked and have one of these roles; any, where there are none."""
        return [
            n.name
            for n in self.site.nodes
            if n.name in self.nodes and (not roles or set(roles) & set(n.roles))
        ]

    def unread(self, node: str, name: str) -> str:
        """Return why a node's part returned nothing; "" where it was not meant to."""
        facts = self.nodes[node]
        return facts.silent or facts.errors.get(name, "")

    def first(self, name: str) -> Any:
        """Return the first answer of any node to a part that is the same wherever it is asked; None without one."""
        return next((f.parts[name] for f in self.nodes.values() if f.parts.get(name) is not None), None)

    def as_json(self) -> str:
        """Return the snapshot's text."""
        return json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


def parse(text: str, where: str) -> Snapshot:
    """Return the snapshot that a text holds.

    Raises:
        AvadmError: it holds none, or one of another format.
    """
    try:
        found = Snapshot.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        message = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise _refused(where, message[:200]) from error
    if found.format != FORMAT:
        raise _refused(where, f"format {found.format}")
    return found


def _refused(where: str, found: str) -> AvadmError:
    wanted = f"snapshot.json, format {FORMAT}"
    return AvadmError.of("doctor-snapshot", where=where, found=found, wanted=wanted)
