"""Replacing a node of a running site by another one, or by the same one reinstalled: removal and addition in one operation.

By another one: what may not be there twice (monitor, member of etcd, control plane, Prometheus) leaves first, so that each of
these loses one member once; then the new node comes with all roles, and only when the cluster could do without the former one
are its data moved and is it removed. So no data have fewer copies meanwhile.

By the same one, reinstalled: its place in the CRUSH map stays, and its monitor and its member of etcd are new ones.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.osd_map import OsdMap
from avadm.components.catalog import PHASES
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.operations import node_add, node_remove, removal_records
from avadm.operations.follow import follow, pending
from avadm.operations.model import Gate, Operation, Progress, Step, Tell
from avadm.operations.node_add import Adding, LetIn
from avadm.operations.removal_model import Bring, Leaving, Part
from avadm.operations.site_change import change_site
from avadm.remote.hostkeys import KnownHosts
from avadm.remote.ssh import targets
from avadm.site import edit
from avadm.site.load import SiteFile, load
from avadm.site.model import Node
from avadm.site.text import read_text
from avadm.state import bootstrap_marks
from avadm.state.operations import OperationRecord

VERB = "node replace"
MOVED = frozenset({"mon", "etcd", "master", "prometheus"})
"""Roles whose number a site file may not raise by one."""
RENEWED = frozenset({"mon", "etcd"})
"""Roles whose members are known by an identity that a reinstalled node has lost."""
HOMES = {"dns": frozenset({"master", "worker"}), "registry": frozenset({"master", "worker"})}
"""Role to those of which a node with it has one: it leaves with the last of them."""
UNSUPPORTED = frozenset({"alluxio_master"})
CURED = frozenset({"last-of-role", "copies-few", "space-short"})
"""Refusals of a removal that the new node answers; asked again when it serves."""
READY_S = 1800.0
"""Seconds without progress until the new node has what it needs to take over: a copy of the database, its OSDs."""
LOOK_S = 15.0
"""Seconds between two looks, each of which asks all that the plan of a removal asks."""
RECOVERY_S = 1800.0
BLANK = "! test -e /etc/avadm && ! test -e /var/lib/avadm/founded"
"""Whether a node that answers was reinstalled: it has no configuration of ours, and no mark of what was bootstrapped there. The
site's lock may have made /var/lib/avadm by then."""


class Follow(Protocol):
    """Runs what a changed site file asks for, as `follow.follow`."""

    def __call__(
        self,
        site_file: SiteFile,
        tell: Tell,
        without: Collection[str] = (),
        own: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Run it."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What replaces a node.

    Attributes:
        name: the node.
        new: the new node's name; the same where empty: it was reinstalled.
        address: the new node's address on the management network; as before where empty.
        storage_address: likewise on the storage network.
        serials: names of the disks for its OSDs; of a node that was reinstalled, the disks that are blank.
        device_class: their class, where the kernel is not to say it.
        host_key: its public ssh host key, pinned without asking.
        dead: whether the former node does not answer and never will.
    """

    name: str
    new: str = ""
    address: str = ""
    storage_address: str = ""
    serials: tuple[str, ...] = ()
    device_class: str | None = None
    host_key: str = ""
    dead: bool = False

    @property
    def same(self) -> bool:
        """Whether the node keeps its name."""
        return self.new in ("", self.name)


def command(wanted: Replacement, accepted: Collection[str] = ()) -> str:
    """Return the command that continues; how the node lets the controller in is not part of it."""
    words = ["avadm", "node", "replace", wanted.name]
    given = {
        "--name": "" if wanted.same else wanted.new,
        "--address": wanted.address,
        "--storage-address": wanted.storage_address,
        "--device-class": wanted.device_class or "",
        "--host-key": wanted.host_key,
    }
    words += [word for option, value in given.items() if value for word in (option, value)]
    words += [word for serial in wanted.serials for word in ("--serial", serial)]
    words += ["--dead"] if wanted.dead else []
    words += [word for one in sorted(accepted) for word in ("--accept", one)]
    return shlex.join(words)


def build(
    cluster: Cluster,
    wanted: Replacement,
    let_in: LetIn,
    accepted: Collection[str] = (),
    follow_up: Follow | None = None,
    bring: Bring | None = None,
) -> Operation:
    """Plan a replacement from what the cluster reports; the new node itself is first asked when it runs.

    Args:
        cluster: the site.
        wanted: what replaces what.
        let_in: bootstraps the new node.
        accepted: ids of refusals that the user accepts.
        follow_up: runs what the changed site file asks for; `follow.follow` where None.
        bring: runs phases with a site file that is not written yet; `follow.bring` where None.

    Raises:
        AvadmError: ceph, etcd or Kubernetes cannot be asked.
    """
    # What is replaced is not asked about the others: it may be dead, or half gone.
    cluster = replace(cluster, avoided=cluster.avoided | {wanted.name})
    kind = _Reinstalled if wanted.same else _Replacing
    one = kind(
        cluster,
        wanted,
        let_in,
        frozenset(accepted),
        command(wanted, accepted),
        follow_up or _following(cluster),
        bring or node_remove.bringing(cluster),
    )
    return one.operation()


def _following(cluster: Cluster) -> Follow:
    def run(
        site_file: SiteFile,
        tell: Tell,
        without: Collection[str] = (),
        own: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        follow(cluster, site_file, tell, without, own)

    return run


@dataclass(frozen=True, slots=True)
class _Planned:
    """What both kinds share."""

    cluster: Cluster
    wanted: Replacement
    let_in: LetIn
    accepted: frozenset[str]
    line: str
    follow: Follow
    bring: Bring

    @property
    def path(self) -> Any:
        return self.cluster.site_file.path

    @property
    def begun(self) -> OperationRecord | None:
        return next((one for one in self.cluster.state.begun() if one.command == self.line), None)

    def node(self, name: str) -> Node | None:
        """Return a node of the site file; None where it has none of that name."""
        return next((n for n in self.cluster.site.nodes if n.name == name), None)

    def refused(self, bad: Sequence[Finding]) -> Operation:
        """Return the operation that is refused."""
        return Operation(VERB, self.line, (), refusals=bad, acceptable=node_remove.ACCEPTABLE)

    def unknown(self) -> Finding:
        """Return that the site has no such node."""
        known = ", ".join(n.name for n in self.cluster.site.nodes)
        return finding("unknown-node", where="NAME", found=self.wanted.name, wanted=f"one of {known}")

    def unsupported(self, node: Node) -> Iterator[Finding]:
        """Yield the roles that cannot be replaced, and a maintenance."""
        for role in sorted(UNSUPPORTED & set(node.roles)) if not self.wanted.same else ():
            yield finding("role-not-supported", found=role, host=node.name, role=role)
        for note, value in self.cluster.state.notes().items():
            kind, _, title = note.partition(" ")
            if kind == "maintenance" and (title == node.name or node.name in value.get("nodes", ())):
                yield finding("node-in-maintenance", found=note, host=node.name, name=node.name)

    def adding(self, entry: Mapping[str, Any], coming: SiteFile) -> Adding:
        return Adding(self.cluster, entry, self.wanted.serials, self.wanted.device_class, coming)

    def components(self, *names: str) -> frozenset[str]:
        """Return the components that nodes are part of."""
        site = self.cluster.site
        return frozenset(p.name for p in PHASES if set(names) & set(p.hosts(site)))


class _Replacing(_Planned):
    """By another node."""

    def operation(self) -> Operation:
        """Return the plan; the site file has what is done already."""
        wanted = self.wanted
        old, new = self.node(wanted.name), self.node(wanted.new)
        if old is None and new is not None and self.begun is not None:
            return self.end()
        if old is None:
            return self.refused([self.unknown()])
        if new is not None and self.begun is None:
            found = f"{new.name} {new.address}"
            return self.refused([finding("node-known", "--name", found, "another name")])
        bad = [*self.unsupported(old), *self.liveness(old)]
        if new is None:
            return self.whole(old, bad)
        return self.rest(old, bad)

    def end(self) -> Operation:
        """Return what is left once the former node is not in the site file any more."""
        gone = Node.model_construct(name=self.wanted.name, roles=[], devices=[])
        leaving = Leaving(self.cluster, gone, frozenset(), whole=True, dead=True)
        step = removal_records.last(leaving, self.cluster.site_file, self.follow)
        begun = self.begun
        parts = frozenset(begun.components) if begun else frozenset()
        return Operation(VERB, self.line, [step], parts, acceptable=node_remove.ACCEPTABLE)

    def liveness(self, old: Node) -> Iterator[Finding]:
        """Yield what is wrong with `--dead`."""
        answers = self.cluster.fleet.run(old.name, "true", timeout=20.0).error is None
        if answers and self.wanted.dead:
            yield finding("not-dead", found="it answers", wanted="a node that is off", host=old.name)
        if not answers and not self.wanted.dead:
            yield finding("node-silent", found="no answer", wanted="an answer over ssh", host=old.name)

    def whole(self, old: Node, bad: list[Finding]) -> Operation:
        """Return all steps: the new node is not in the site file yet."""
        wanted, site_file = self.wanted, self.cluster.site_file
        moved = self.moved(old)
        entry = self.entry(old)
        # Its disks are known only once it is reached.
        first = edit.replacing(old.name, entry, moved)
        coming, wrong = edit.considered(self.path, edit.changed(read_text(self.path), first))
        bad += [*wrong, *node_add.disk_refusals(entry, wanted.serials)]
        if coming is None or bad:
            return self.refused(bad)
        adding = self.adding(entry, coming)
        # As the site is once they have left: the rules that forbid an even number hold for site files, not for minutes.
        node = old.model_copy(update={"roles": [r for r in old.roles if r not in moved]})
        nodes = [node if n is old else n for n in site_file.site.nodes]
        between = replace(site_file, site=site_file.site.model_copy(update={"nodes": nodes}))
        leaving = Leaving(
            self.cluster, old, moved, False, wanted.dead, self.accepted, between, self.bring, wanted.new
        )
        parts = node_remove.parts_of(leaving) if moved else []
        tail = self.tail(replace(self.cluster, site_file=between), node)
        steps = [
            Step(
                f"bootstrap {wanted.new}: host key, the controller's key, root, python",
                lambda tell: adding.reach(self.let_in),
                (wanted.new,),
            )
        ]
        if wanted.serials:
            steps.append(Step(f"prove {', '.join(wanted.serials)} blank", adding.prove_disks))
        steps.append(Step(f"preflight of {wanted.new}", adding.preflight, (wanted.new,)))
        steps += [step for one in parts for step in one.steps]
        steps.append(
            Step(
                f"write {wanted.new} into the site file, and move {', '.join(sorted(moved)) or 'no role'} to it",
                lambda tell: self.write(adding, moved, tell),
                done=adding.written,
            )
        )
        steps += self.join(coming)
        steps += tail.steps
        return Operation(
            VERB,
            self.line,
            steps,
            self.components(old.name),
            [what for one in (*parts, tail) for what in one.interrupts],
            runs=[run for one in (*parts, tail) for run in one.runs],
            refusals=[bad for one in (*parts, tail) for bad in one.refusals],
            acceptable=node_remove.ACCEPTABLE,
        )

    def rest(self, old: Node, bad: list[Finding]) -> Operation:
        """Return what is left once both nodes are in the site file."""
        tail = self.tail(self.cluster, old)
        return Operation(
            VERB,
            self.line,
            [*self.join(self.cluster.site_file), *tail.steps],
            self.components(old.name, self.wanted.new),
            tail.interrupts,
            runs=tail.runs,
            refusals=[*bad, *tail.refusals],
            acceptable=node_remove.ACCEPTABLE,
        )

    def moved(self, old: Node) -> frozenset[str]:
        """Return the roles that leave the former node before the new one has them."""
        moved = MOVED & set(old.roles)
        alone = {r for r, homes in HOMES.items() if r in old.roles and not homes & (set(old.roles) - moved)}
        return moved | alone

    def entry(self, old: Node) -> dict[str, Any]:
        """Return the new node's entry, without its devices."""
        wanted = self.wanted
        kept = old.model_dump(mode="json", exclude_unset=True)
        for key in ("devices", "host_key", "storage_address"):
            kept.pop(key, None)
        kept |= {"name": wanted.new, "address": wanted.address}
        kept |= {"storage_address": wanted.storage_address} if wanted.storage_address else {}
        kept |= {"host_key": wanted.host_key} if wanted.host_key else {}
        return kept

    def write(self, adding: Adding, moved: Collection[str], tell: Tell) -> None:
        devices = {"devices": adding.devices} if adding.devices else {}
        change = edit.replacing(self.wanted.name, {**adding.entry, **devices}, moved)
        change_site(self.path, change, tell)

    def join(self, coming: SiteFile) -> list[Step]:
        """Return the steps that install the new node, and await that the former one is not needed any more."""
        wanted, due = self.wanted, pending(self.cluster, coming)
        without = (wanted.name,) if wanted.dead else ()

        def apply(tell: Tell) -> None:
            self.follow(load(self.path), tell, without)

        return [
            Step(
                f"apply, on {wanted.new} and where others keep something about it: {due.text}",
                apply,
                tuple(n for n in due.nodes if n not in without),
            ),
            Step(
                f"await that {wanted.new} can do without {wanted.name}",
                lambda tell: None,
                gate=Gate(f"nothing speaks against the removal of {wanted.name}", self.look, READY_S, LOOK_S),
                then=self.again,
            ),
        ]

    def tail(self, cluster: Cluster, old: Node) -> Part:
        """Return the removal of the former node, with what speaks against it even with the new one."""
        part = self.removal(cluster, old)
        return replace(part, refusals=[one for one in part.refusals if one.check not in CURED])

    def removal(self, cluster: Cluster, old: Node) -> Part:
        """Return the removal of the former node as the cluster is now."""
        leaving, parts, refusals = self.leaves(cluster, old)
        steps = [step for one in parts for step in one.steps]
        steps += removal_records.steps(leaving, leaving.coming or cluster.site_file, self.follow)
        return Part(
            steps,
            refusals,
            [what for one in parts for what in one.interrupts],
            [run for one in parts for run in one.runs],
        )

    def leaves(self, cluster: Cluster, old: Node) -> tuple[Leaving, list[Part], list[Finding]]:
        """Return the former node as it leaves, the parts of that, and what speaks against it."""
        roles = node_remove.duties(cluster.site, old)
        leaving = Leaving(
            cluster, old, roles, True, self.wanted.dead, self.accepted, None, self.bring, self.wanted.new
        )
        coming, wrong = removal_records.considered(leaving)
        leaving = replace(leaving, coming=coming)
        parts = list(node_remove.parts_of(leaving))
        refusals = [bad for one in parts for bad in one.refusals]
        written = any(n.name == self.wanted.new for n in cluster.site.nodes)
        # Without the new node the file may be a bad one.
        refusals += wrong if written else []
        return leaving, parts, refusals

    def now(self) -> tuple[Cluster, Node]:
        """Return the site as its file is now, and the former node."""
        cluster = replace(self.cluster, site_file=load(self.path))
        return cluster, cluster.site.node(self.wanted.name)

    def look(self) -> Progress:
        """Return what speaks against the removal, as a gate sees it."""
        # Not the steps: what the other nodes would have to follow is not needed for each look.
        _, _, refusals = self.leaves(*self.now())
        bad = [one for one in refusals if one.check not in self.accepted]
        words = "; ".join(f"{one.what} {one.found}" for one in bad)
        return Progress(words, float(len(bad)))

    def again(self) -> Sequence[Step]:
        """Plan the removal again, from what the cluster reports with the new node."""
        return self.removal(*self.now()).steps


class _Reinstalled(_Planned):
    """By the same node, reinstalled."""

    def operation(self) -> Operation:
        """Return the plan."""
        wanted, cluster = self.wanted, self.cluster
        node = self.node(wanted.name)
        if node is None:
            return self.refused([self.unknown()])
        bad = list(self.unsupported(node))
        if wanted.address or wanted.storage_address:
            bad.append(
                finding("replace-address", "--address", wanted.address, "--name NEW with it", host=node.name)
            )
        if self.begun is None:
            bad += self.not_reinstalled(node)
        if wanted.serials and "osd" not in node.roles:
            bad.append(finding("disks-without-osd", "--serial", ", ".join(wanted.serials), "the role osd"))
        if bad:
            return self.refused(bad)
        entry = {"name": node.name, "address": str(node.address), "roles": node.roles}
        adding = self.adding(entry, cluster.site_file)
        renewed = RENEWED & set(node.roles)
        # Nothing on it is asked to stop: it knows nothing of what it was.
        leaving = Leaving(cluster, node, renewed, False, True, self.accepted)
        parts = node_remove.parts_of(leaving) if renewed else []
        steps = [
            Step(
                f"bootstrap {node.name}: its new host key, the controller's key, root, python",
                lambda tell: self.reach(adding),
                (node.name,),
            )
        ]
        if wanted.serials:
            steps.append(Step(f"prove {', '.join(wanted.serials)} blank", adding.prove_disks))
        steps.append(Step(f"preflight of {node.name}", adding.preflight, (node.name,)))
        steps += [step for one in parts for step in one.steps]
        refusals = [one for p in parts for one in p.refusals]
        if wanted.serials:
            refusals += self.osd_refusals()
            steps += [
                Step(
                    f"destroy the OSDs of {node.name}; their ids and their place in the CRUSH map stay",
                    lambda tell: self.destroy(tell),
                    done=lambda: all(one.destroyed or one.up for one in self.osds(OsdMap.read(cluster))),
                ),
                Step(
                    "write the new disks into the site file",
                    lambda tell: self.write(adding, tell),
                    done=lambda: self.has_disks(adding),
                ),
            ]
        steps.append(
            Step(f"install {node.name}", lambda tell: self.install(node, adding, tell), (node.name,))
        )
        if wanted.serials:
            steps.append(
                Step(
                    "purge ids of OSDs that no new disk took over",
                    self.purge,
                    done=lambda: not any(one.destroyed for one in self.osds(OsdMap.read(cluster))),
                )
            )
        due = pending(cluster, cluster.site_file)
        steps.append(
            Step(
                f"apply what changes on other nodes: {due.text}",
                lambda tell: self.follow(load(self.path), tell),
                due.nodes,
                gate=Gate(
                    "its OSDs are up, all placement groups active and clean", self.recovered, RECOVERY_S
                )
                if "osd" in node.roles
                else None,
            )
        )
        notes = [what for one in parts for what in one.interrupts]
        return Operation(
            VERB,
            self.line,
            steps,
            self.components(node.name),
            notes,
            refusals=refusals,
            acceptable=node_remove.ACCEPTABLE,
        )

    def not_reinstalled(self, node: Node) -> list[Finding]:
        """Return that a node answers as it was; one that answers nothing, or shows another host key, may be a new one."""
        done = self.cluster.fleet.run(node.name, BLANK, timeout=20.0)
        if done.error is not None or done.ok:
            return []
        return [finding("node-not-reinstalled", found="it answers as before", host=node.name, name=node.name)]

    def reach(self, adding: Adding) -> None:
        """Pin its new host key; what was recorded of the former installation is forgotten."""
        name, site_file = self.wanted.name, self.cluster.site_file
        state = self.cluster.state
        begun = self.begun
        if begun is None or not begun.steps:
            for target in targets(site_file, [name]):
                KnownHosts(site_file.known_hosts).forget(target.entry_names)
        # Marks of what was bootstrapped stay: the roles are asked to replace it, and never to bootstrap another cluster.
        state.forget(name, [phase.name for phase in PHASES])
        adding.reach(self.let_in)

    def osds(self, osds: OsdMap) -> list[Any]:
        """Return the node's OSDs, by id."""
        return sorted((o for o in osds.osds.values() if o.host == self.wanted.name), key=lambda o: o.id)

    def osd_refusals(self) -> list[Finding]:
        """Return why the node's OSDs may not be given up: the disks that are left must have a copy of everything."""
        osds = OsdMap.read(self.cluster)
        found = []
        if osds.without_copy:
            found.append(finding("only-copy", found=osds.without_copy, host=self.wanted.name))
        if self.begun is None and (up := [f"osd.{o.id}" for o in self.osds(osds) if o.up]):
            found.append(
                finding(
                    "not-dead", found=f"{', '.join(up)} up", wanted="its OSDs down", host=self.wanted.name
                )
            )
        return found

    def destroy(self, tell: Tell) -> None:
        """Destroy the node's OSDs that are down; AvadmError (exit 1) where one may have the only copy of something."""
        osds = OsdMap.read(self.cluster)
        if osds.without_copy:
            raise AvadmError(
                finding("only-copy", found=osds.without_copy, host=self.wanted.name), EXIT_FOUND_BAD
            )
        for one in self.osds(osds):
            if not one.up and not one.destroyed:
                self.cluster.ceph("osd", "destroy", f"osd.{one.id}", "--yes-i-really-mean-it")
                tell(f"    osd.{one.id} destroyed, its id stays")

    def has_disks(self, adding: Adding) -> bool:
        """Return whether the site file has the disks that were proven blank, and no other of this node."""
        held = load(self.path).site.node(self.wanted.name).devices
        return (
            bool(adding.devices)
            and [one.model_dump(mode="json", exclude_unset=True) for one in held] == adding.devices
        )

    def write(self, adding: Adding, tell: Tell) -> None:
        """Put the new disks into the site file in place of the former ones."""
        change_site(self.path, edit.setting_devices(self.wanted.name, adding.devices), tell)

    def install(self, node: Node, adding: Adding, tell: Tell) -> None:
        """Install the node alone; what it had bootstrapped is replaced, its OSDs take their ids over."""
        own: dict[str, Any] = {}
        for one in bootstrap_marks.ALL.values():
            if one.group in node.roles:
                own[f"{one.role}_replace"] = True
        if adding.devices:
            # In one order, so that a second time each disk is to have the same id.
            own["ceph_osd_reused_ids"] = {
                device[kind]: osd.id
                for device, osd in zip(adding.devices, self.osds(OsdMap.read(self.cluster)), strict=False)
                for kind in ("by_id", "serial", "wwn")
                if kind in device and osd.destroyed
            }
            tolerated = self.cluster.site.extra_vars.get("ceph_common_health_tolerate") or []
            # What is copied is waited for by the gate of the last step.
            own["ceph_common_health_tolerate"] = [*tolerated, "PG_DEGRADED"]
        self.follow(load(self.path), tell, own={node.name: own or {"avadm_replaced": True}})

    def purge(self, tell: Tell) -> None:
        """Purge the node's OSDs of which only the id is left."""
        for one in self.osds(OsdMap.read(self.cluster)):
            if one.destroyed:
                self.cluster.ceph("osd", "purge", str(one.id), "--yes-i-really-mean-it")
                tell(f"    osd.{one.id} purged: no disk took it over")

    def recovered(self) -> Progress:
        """Return what is not copied yet."""
        osds = OsdMap.read(self.cluster)
        down = [f"osd.{o.id}" for o in self.osds(osds) if not o.up]
        if down:
            return Progress(f"{', '.join(down)} down", osds.left + len(down))
        return Progress(osds.moving, osds.left)
