"""Maintenance of nodes: drained, their OSDs kept in, their alerts silenced until an end time; and the way back.

What `begin` has set stays when it ended well, owned by the maintenance, and is undone where it failed. `end` undoes it; what
others had set before stays.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

from avadm.catalogue import finding
from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import TEXTFILES, Cordon, EndMetric, Noout, Silence
from avadm.cluster.setting import Setting
from avadm.cluster.settings import Settings, blocks
from avadm.components.catalog import COMPONENTS
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.kube.drain import listed
from avadm.operations import drain
from avadm.operations.drain import DrainOptions
from avadm.operations.model import Gate, Interruption, Operation, Progress, Step, Tell, attempt, nothing
from avadm.operations.run import Build, current_user
from avadm.site.model import Site
from avadm.site.placement import alertmanagers, kube_nodes
from avadm.state.operations import MAINTENANCE, OPERATION, SettingRecord
from avadm.state.site_state import SiteState

BEGIN, END = "maintenance begin", "maintenance end"
SHORTEST_S, LONGEST_S = 60, 30 * 86400
"""Seconds; Alertmanager refuses a silence whose end has passed before it is set."""
LONGEST_REASON = 200
WITNESSES = 2
"""Nodes that export the end time: one may be lost."""
BACK_S, CLEAN_S = 600.0, 900.0
"""Seconds without progress of nodes that come back, and of placement groups."""
RACK = re.compile(r"[A-Za-z0-9._-]{1,63}")
_CEPH = {"mon", "mgr", "osd", "mds"}
ACCEPTABLE = frozenset(
    {
        "etcd-quorum",
        "filesystem-stops",
        "mon-quorum",
        "pools-stop",
        "single-master",
        "virtual-address-lost",
        *drain.ACCEPTABLE,
    }
)


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A maintenance that was begun.

    Attributes:
        name: identifies it.
        nodes: its nodes.
        reason: why, for people.
        user: who began it, USER@HOST.
        since: epoch seconds.
        until: epoch seconds of its end.
    """

    name: str
    nodes: tuple[str, ...]
    reason: str
    user: str
    since: float
    until: float

    @classmethod
    def of(cls, name: str, note: dict[str, Any]) -> Self:
        """Return that of a note."""
        nodes = tuple(str(node) for node in note["nodes"])
        return cls(
            name, nodes, str(note["reason"]), str(note["user"]), float(note["since"]), float(note["until"])
        )

    @property
    def note(self) -> dict[str, Any]:
        """What the site's state keeps of it."""
        return {
            "nodes": list(self.nodes),
            "reason": self.reason,
            "user": self.user,
            "since": self.since,
            "until": self.until,
        }

    def as_dict(self, now: float) -> dict[str, Any]:
        """Return it JSON-ready, with whether it is overdue."""
        return {"name": self.name, **self.note, "overdue": now >= self.until}


def maintenances(state: SiteState) -> list[Maintenance]:
    """Return the maintenances that are on, the one that ends first first."""
    found = [
        Maintenance.of(name.removeprefix(MAINTENANCE), note)
        for name, note in state.notes().items()
        if name.startswith(MAINTENANCE)
    ]
    return sorted(found, key=lambda one: one.until)


@dataclass(frozen=True, slots=True)
class Begin:
    """What a user asks of `begin`.

    Attributes:
        names: the nodes; none with a rack.
        rack: all nodes of this rack; none where None.
        seconds: how long it lasts.
        reason: why.
        accepted: ids of refusals that the user accepts.
        drain: how the nodes are drained.
        text: the duration as the user wrote it.
    """

    names: tuple[str, ...]
    rack: str | None
    seconds: int
    reason: str
    accepted: frozenset[str] = frozenset()
    drain: DrainOptions = field(default_factory=DrainOptions)
    text: str = ""

    @property
    def command(self) -> str:
        """The command that continues it, without the options of the drain."""
        where = ["--rack", self.rack] if self.rack is not None else list(dict.fromkeys(self.names))
        words = [*where, "--for", self.text or f"{self.seconds}s", "--reason", self.reason]
        return shlex.join(["avadm", *BEGIN.split(), *words])


@dataclass(frozen=True, slots=True)
class _Site:
    """What the cluster reported before a maintenance.

    Attributes:
        gone: nodes that do not count: of this maintenance, of others, and those that do not answer.
        others: nodes of other maintenances.
        ready: node of Kubernetes to whether it is Ready; None where no master answers.
        hosts: host to its OSDs and whether they are up.
    """

    gone: frozenset[str]
    others: frozenset[str]
    ready: dict[str, bool] | None
    hosts: dict[str, dict[int, bool]]


def begin(asked: Begin, now: Callable[[], float] = time.time) -> Build:
    """Return what plans the beginning of a maintenance."""

    def build(cluster: Cluster) -> Operation:
        command = drain.continued(cluster.state, asked.command, asked.drain)
        names, refusals = _nodes(cluster.site, asked)
        refusals += _words(asked)
        refusals += _held(cluster.state, names)
        if not names:
            return Operation(BEGIN, command, (), refusals=refusals, acceptable=ACCEPTABLE)
        name = _name(names, asked.rack)
        taken = next((one for one in maintenances(cluster.state) if one.name == name), None)
        if taken is not None and not set(taken.nodes) & set(names):
            refusals.append(finding("maintenance-name", found=name, wanted="a name that is free"))
        planned = _Beginning(cluster, asked, command, names, name, now()).operation()
        return replace(planned, refusals=[*refusals, *planned.refusals])

    return build


@dataclass
class _Beginning:
    """Plans the beginning of a maintenance whose nodes are known."""

    cluster: Cluster
    asked: Begin
    command: str
    names: list[str]
    name: str
    now: float

    def operation(self) -> Operation:
        """Return the operation, with all that speaks against it."""
        site, roles = self.cluster.site, self._roles()
        kube = [n.name for n in kube_nodes(site) if n.name in self.names]
        others = {node for one in maintenances(self.cluster.state) for node in one.nodes}
        silent = {n.name for n in site.nodes} - health.answering(self.cluster, [n.name for n in site.nodes])
        gone = frozenset({*self.names, *others, *silent})
        refusals: list[Finding] = []
        ready = attempt(refusals, lambda: health.ready(self.cluster)) if kube else {}
        if ready is None and not {n.name for n in site.with_role("master")} - gone:
            # Its only master is one of these nodes and silent: there is nothing that could be drained.
            refusals, ready = [], None
        hosts = attempt(refusals, lambda: health.osds(self.cluster)) if roles & {"osd"} else {}
        seen = _Site(gone, frozenset(others), ready, hosts or {})
        refusals += self._quorums(roles, seen)
        refusals += self._pools(seen)
        refusals += self._filesystem(roles, seen)
        refusals += self._masters(seen)
        refusals += self._addresses(seen)
        alive, dead = self._by_state(kube, seen)
        drained = self._drained(alive, refusals)
        # One that is too long is refused, and may be no time at all. It begins when the owners' notice is over.
        until = self.now + min(self.asked.seconds, LONGEST_S)
        until += self.asked.drain.notice.seconds if drained.runs else 0
        note = Maintenance(
            self.name, tuple(self.names), self.asked.reason, current_user(), self.now, until
        ).note
        return Operation(
            BEGIN,
            self.command,
            self._steps(seen, drained, dead, until, silent),
            components=_components(roles),
            interrupts=[*drained.interrupts, *self._interrupts(seen, dead)],
            runs=drained.runs,
            refusals=refusals,
            acceptable=ACCEPTABLE,
            keeps=MAINTENANCE + self.name,
            notes={MAINTENANCE + self.name: note},
        )

    def _roles(self) -> set[str]:
        return {role for n in self.cluster.site.nodes if n.name in self.names for role in n.roles}

    def _quorums(self, roles: set[str], seen: _Site) -> list[Finding]:
        """Return the quorums that would not stay without these nodes and those of other maintenances."""
        refusals: list[Finding] = []
        leaving = {*self.names, *seen.others}
        asked: dict[str, tuple[str, Callable[[], health.Quorum]]] = {
            "mon": ("mon-quorum", partial(health.monitors, self.cluster)),
            "etcd": ("etcd-quorum", partial(health.etcd_members, self.cluster)),
        }
        for code, ask in (found for role, found in asked.items() if role in roles):
            quorum = attempt(refusals, ask)
            if quorum is not None and not quorum.survives(leaving):
                left = ", ".join(sorted(quorum.inside - leaving)) or "none"
                enough = len(quorum.members) // 2 + 1
                wanted = f"{enough} of {len(quorum.members)} in quorum without {listed(self.names)}"
                refusals.append(finding(code, found=f"left in it: {left}", wanted=wanted))
        return refusals

    def _pools(self, seen: _Site) -> list[Finding]:
        ids = [i for host, its in seen.hosts.items() if host in {*self.names, *seen.others} for i in its]
        refusals: list[Finding] = []
        why = attempt(refusals, lambda: health.why_not_stopped(self.cluster, ids))
        if why:
            words = ", ".join(f"osd.{i}" for i in sorted(ids))
            refusals.append(finding("pools-stop", where=words, found=why, wanted="no pool below min_size"))
        return refusals

    def _filesystem(self, roles: set[str], seen: _Site) -> list[Finding]:
        if "mds" not in roles:
            return []
        refusals: list[Finding] = []
        answer = attempt(refusals, lambda: health.metadata_servers(self.cluster))
        if answer is not None:
            up, needed = answer
            left = up - {*self.names, *seen.others}
            if len(left) < needed:
                found = f"left: {', '.join(sorted(left)) or 'none'}"
                refusals.append(finding("filesystem-stops", found=found, wanted=f"{needed} or more"))
        return refusals

    def _masters(self, seen: _Site) -> list[Finding]:
        masters = {n.name for n in self.cluster.site.with_role("master")}
        if not masters & set(self.names) or masters - seen.gone:
            return []
        return [
            finding(
                "single-master",
                where=listed(sorted(masters & set(self.names))),
                found="no other master that answers",
                wanted="a master that stays",
            )
        ]

    def _addresses(self, seen: _Site) -> list[Finding]:
        """Return the virtual addresses that no node would be left for; a master's is judged with the masters."""
        site, found = self.cluster.site, []
        for virtual in (c.virtual for c in COMPONENTS if c.virtual and c.virtual.duty != "master"):
            able = {n.name for n in site.with_role(virtual.duty)}
            address = virtual.address(site)
            if address is not None and able & set(self.names) and not able - seen.gone:
                found.append(
                    finding(
                        "virtual-address-lost",
                        where=".".join(virtual.key),
                        found=f"{address}: no other node with the role {virtual.duty} answers",
                        wanted="a node that can hold it",
                    )
                )
        return found

    @staticmethod
    def _by_state(kube: Sequence[str], seen: _Site) -> tuple[list[str], list[str]]:
        """Return the nodes that can be drained, and those that Kubernetes knows and whose kubelet does not answer."""
        if seen.ready is None:
            return [], []
        known = [name for name in kube if name in seen.ready]
        return [n for n in known if seen.ready[n]], [n for n in known if not seen.ready[n]]

    def _drained(self, alive: Sequence[str], refusals: list[Finding]) -> drain.DrainPart:
        """Return the drain of the nodes that can be drained."""
        up = f"`{shlex.join(['avadm', *END.split(), self.name])}` gives up."
        asked = self.asked

        def plan() -> drain.DrainPart:
            planned = drain.part(self.cluster, alive, asked.drain, asked.accepted, gives_up=up)
            refusals.extend(planned.refusals)
            return planned

        return attempt(refusals, plan) or drain.DrainPart()

    def _steps(
        self,
        seen: _Site,
        drained: drain.DrainPart,
        dead: Sequence[str],
        until: float,
        silent: Collection[str],
    ) -> list[Step]:
        steps = [self._notices(until, seen, silent)]
        if hosts := [name for name in self.names if name in seen.hosts]:
            title = f"keep the OSDs of {listed(hosts)} in while they are down"
            steps.append(Step(title, nothing, settings=tuple(Noout(host) for host in hosts)))
        if dead:
            title = f"cordon {listed(dead)}, not Ready: pods cannot end there, and are replaced elsewhere by Kubernetes"
            steps.append(Step(title, nothing, tuple(dead), settings=tuple(Cordon(name) for name in dead)))
        return [*steps, *drained.steps]

    def _notices(self, until: float, seen: _Site, silent: Collection[str]) -> Step:
        """Return the step that silences alerts and exports the end time, as far as there is something that could."""
        site = self.cluster.site
        settings: list[Setting] = []
        routers = [n.name for n in alertmanagers(site)]
        if set(routers) - set(silent):
            end = f"{datetime.fromtimestamp(until, UTC):%Y-%m-%dT%H:%M:%SZ}"
            settings.append(Silence(self.name, tuple(self.names), end, self.asked.reason))
        witnesses = _witnesses(self.cluster, seen.gone)
        settings += [EndMetric(f"{node}/{self.name}", tuple(self.names), until) for node in witnesses]
        lacks = [] if len(settings) > len(witnesses) else ["no silence: no Alertmanager answers"]
        lacks += [] if witnesses else ["no alert when it is overdue: no other node exports metrics"]
        title = f"announce the maintenance {self.name}" + (f" ({'; '.join(lacks)})" if lacks else "")
        return Step(title, nothing, tuple(witnesses), settings=tuple(settings))

    def _interrupts(self, seen: _Site, dead: Sequence[str]) -> list[Interruption]:
        site, found = self.cluster.site, []
        if dead:
            found.append(Interruption(f"pods of {listed(dead)} until Kubernetes replaces them", None))
        for role in sorted(self._roles()):
            able = {n.name for n in site.with_role(role)}
            if not able - seen.gone and role not in {"worker", "gpu", "client", "alluxio_client"}:
                long = float(self.asked.seconds)
                found.append(Interruption(f"what only nodes with the role {role} do: none is left", long))
        return found


def _nodes(site: Site, asked: Begin) -> tuple[list[str], list[Finding]]:
    """Return the nodes that are asked for, in the site file's order, and why some cannot be."""
    names = [n.name for n in site.nodes]
    if asked.rack is not None:
        found = [n.name for n in site.nodes if n.rack == asked.rack]
        if found:
            return found, []
        racks = ", ".join(dict.fromkeys(n.rack for n in site.nodes))
        return [], [finding("unknown-rack", where="--rack", found=asked.rack, wanted=f"one of {racks}")]
    refusals = [
        finding("unknown-node", where="NODE", found=name, wanted=f"one of {listed(names)}")
        for name in dict.fromkeys(asked.names)
        if name not in names
    ]
    return [name for name in names if name in asked.names], refusals


def _words(asked: Begin) -> list[Finding]:
    """Return what is wrong with the end time and the reason."""
    refusals = []
    if not SHORTEST_S <= asked.seconds <= LONGEST_S:
        wanted = f"{SHORTEST_S}s to {LONGEST_S // 86400}d"
        refusals.append(finding("maintenance-time", where="--for", found=f"{asked.seconds} s", wanted=wanted))
    reason = asked.reason
    if not reason.strip() or len(reason) > LONGEST_REASON or not reason.isprintable():
        wanted = f"one line of 1 to {LONGEST_REASON} characters"
        refusals.append(
            finding("maintenance-reason", where="--reason", found=ascii(reason[:40]), wanted=wanted)
        )
    return refusals


def _held(state: SiteState, names: Collection[str]) -> list[Finding]:
    """Return the nodes that are in a maintenance already."""
    return [
        finding("maintenance-twice", found=f"{one.name}, {one.user}: {one.reason}", host=node, name=one.name)
        for one in maintenances(state)
        for node in one.nodes
        if node in names
    ]


def _name(names: Sequence[str], rack: str | None) -> str:
    """Return the name of a maintenance: its rack, else its first node, which is in no other, and how many more."""
    if rack is not None and RACK.fullmatch(rack):
        return rack
    return names[0] + (f"+{len(names) - 1}" if len(names) > 1 else "")


def _components(roles: Collection[str]) -> frozenset[str]:
    """Return the components that a maintenance which is half begun has changed."""
    found = {"ceph"} if set(roles) & _CEPH else set()
    found |= {"nodes"} if set(roles) & {"master", "worker"} else set()
    return frozenset(found)


def _witnesses(cluster: Cluster, gone: Collection[str]) -> list[str]:
    """Return the nodes that export the end time: those of Prometheus first, none that may be switched off."""
    site = cluster.site
    first = [n.name for n in site.with_role("prometheus")]
    able = [name for name in dict.fromkeys([*first, *(n.name for n in site.nodes)]) if name not in gone]
    # A few more than are needed: not every one has node_exporter.
    some = able[: WITNESSES + 4]
    command = shlex.join(["test", "-d", TEXTFILES])
    done = cluster.fleet.map(dict.fromkeys(some, command), timeout=health.ASK_S) if some else {}
    return [name for name in some if done[name].ok][:WITNESSES]


ENDS = frozenset({"not-back"})
"""Refusals of `end` that a user may accept."""


def end(words: Sequence[str], accepted: Collection[str]) -> Build:
    """Return what plans the end of maintenances, named by nodes or by a name."""

    def build(cluster: Cluster) -> Operation:
        chosen, refusals = _chosen(cluster, words)
        half = _half_begun(cluster, words) if not chosen else []
        # The same command however its nodes are named, so that each of them continues it.
        names = sorted(one.name for one in half or chosen) or list(dict.fromkeys(words))
        command = shlex.join(["avadm", *END.split(), *names])
        if half:
            return _forget(command, half)
        # It only undoes: whatever else is half done does not speak against it, and it blocks nothing.
        if refusals:
            return Operation(END, command, (), refusals=refusals, acceptable=ENDS)
        return _Ending(cluster, command, chosen, frozenset(accepted)).operation()

    return build


def _chosen(cluster: Cluster, words: Sequence[str]) -> tuple[list[Maintenance], list[Finding]]:
    """Return the maintenances that words name, and why some do not."""
    on = maintenances(cluster.state)
    by_name = {one.name: one for one in on}
    by_node = {node: one for one in on for node in one.nodes}
    chosen: dict[str, Maintenance] = {}
    refusals = []
    given: dict[str, set[str]] = {}
    known = ", ".join(by_name) or "none is on"
    for word in dict.fromkeys(words):
        if word in by_name:
            chosen[word] = by_name[word]
            given[word] = set(by_name[word].nodes)
        elif word in by_node:
            one = by_node[word]
            chosen[one.name] = one
            given.setdefault(one.name, set()).add(word)
        else:
            refusals.append(finding("maintenance-unknown", where="NODE|NAME", found=word, wanted=known))
    for name, nodes in given.items():
        if lacking := [node for node in chosen[name].nodes if node not in nodes]:
            refusals.append(
                finding("maintenance-part", where=name, found=f"without {listed(lacking)}", name=name)
            )
    return list(chosen.values()), refusals


@dataclass(frozen=True, slots=True)
class _Half:
    """A maintenance whose beginning was interrupted."""

    command: str
    name: str
    records: tuple[SettingRecord, ...]
    cluster: Cluster


def _half_begun(cluster: Cluster, words: Sequence[str]) -> list[_Half]:
    """Return the begun and never ended beginnings that are named by all of their nodes, or by name."""
    found, left = [], set(words)
    for one in cluster.state.begun():
        if one.verb != BEGIN:
            continue
        given = shlex.split(one.command)[3:]
        if "--for" not in given[1:]:
            continue  # of another release
        rack = given[1] if given[0] == "--rack" else None
        listed = given[: given.index("--for")] if rack is None else []
        asked = Begin(tuple(listed), rack, 1, "-")
        nodes, _ = _nodes(cluster.site, asked)
        nodes = nodes or listed
        name = _name(nodes, rack) if nodes else str(rack)
        if name in left or (nodes and set(nodes) <= left):
            records = tuple(r for r in cluster.state.settings() if r.owner == MAINTENANCE + name)
            found.append(_Half(one.command, name, records, cluster))
            left -= {name, *nodes}
    return [] if left else found


def _forget(command: str, half: Sequence[_Half]) -> Operation:
    """Return the operation that gives up beginnings: what they had set was undone when they ended."""

    def act(tell: Tell) -> None:
        for one in half:
            if left := Settings(one.cluster, tell).release(one.records):
                raise AvadmError(left, EXIT_FOUND_BAD)
            one.cluster.state.drop_operation(one.command, {})

    names = ", ".join(one.name for one in half)
    step = Step(f"give up the maintenance {names}, which was only half begun", act)
    return Operation(END, command, (step,), acceptable=ENDS)


@dataclass
class _Ending:
    """Plans the end of maintenances."""

    cluster: Cluster
    command: str
    chosen: Sequence[Maintenance]
    accepted: frozenset[str]

    def operation(self) -> Operation:
        """Return the operation."""
        names = [node for one in self.chosen for node in one.nodes]
        known = {n.name for n in self.cluster.site.nodes}
        # A node that was taken out of the site file meanwhile is not waited for.
        names = [name for name in names if name in known]
        given_up = "not-back" in self.accepted
        back = health.answering(self.cluster, names)
        refusals = [
            finding("not-back", found="no answer over ssh", host=name) for name in names if name not in back
        ]
        titles = ", ".join(one.name for one in self.chosen)
        steps = []
        if not given_up:
            gate = Gate("nodes, OSDs, monitors and etcd members are back", self._back(names), BACK_S)
            steps.append(Step(f"wait for {listed(names) or 'no node'}", nothing, gate=gate))
        steps.append(Step(f"undo what {titles} had set", self._undo, tuple(names)))
        if any("osd" in n.roles for n in self.cluster.site.nodes if n.name in names):
            steps.append(
                Step("wait for the placement groups", nothing, gate=self._placement_groups(given_up))
            )
        return Operation(
            END,
            self.command,
            steps,
            refusals=refusals,
            acceptable=ENDS,
            notes={MAINTENANCE + one.name: None for one in self.chosen},
        )

    def _undo(self, tell: Tell) -> None:
        """Undo what the maintenances hold; what blocks nothing and cannot be undone now is left to the next command."""
        settings, state = Settings(self.cluster, tell), self.cluster.state
        owners = {MAINTENANCE + one.name for one in self.chosen}
        mine = [r for r in state.settings() if r.owner in owners]
        if left := settings.release([r for r in mine if blocks(r)]):
            raise AvadmError(left, EXIT_FOUND_BAD)
        settings.release([r for r in mine if not blocks(r)])
        for owner in owners:
            settings.hand_over(owner, OPERATION + self.command)

    def _back(self, names: Sequence[str]) -> Callable[[], Progress]:
        """Return the look at nodes: what of them is not back yet."""
        site = self.cluster.site
        chosen = [n for n in site.nodes if n.name in names]

        def of(*roles: str) -> set[str]:
            return {n.name for n in chosen if set(roles) & set(n.roles)}

        def look() -> Progress:
            missing = []
            if kube := of("master", "worker"):
                ready = health.ready(self.cluster)
                missing += [f"{n} is not Ready" for n in sorted(kube) if not ready.get(n, True)]
            if hosts := of("osd"):
                down = health.awaited_osds(self.cluster)
                missing += [
                    f"osd.{i} of {host} is down" for host in sorted(hosts) for i in down.get(host, [])
                ]
            if mons := of("mon"):
                inside = health.monitors(self.cluster).inside
                missing += [f"the monitor of {n} is not in quorum" for n in sorted(mons - inside)]
            if members := of("etcd"):
                inside = health.etcd_members(self.cluster).inside
                missing += [f"etcd of {n} is not in quorum" for n in sorted(members - inside)]
            return Progress(listed(missing), len(missing))

        return look

    def _placement_groups(self, given_up: bool) -> Gate:
        """Return the gate of placement groups, as far as they can become clean: not while OSDs stay away."""
        on = {one.name for one in self.chosen}
        if given_up:
            title, judge = "all placement groups are active", health.inactive
        elif any(one.name not in on for one in maintenances(self.cluster.state)):
            title, judge = "no placement group moves", health.unsettled
        else:
            title, judge = "all placement groups are active and clean", health.unclean

        def look() -> Progress:
            groups = health.placement_groups(self.cluster)
            found = judge(groups.states)
            words = [f"{n} {state}" for state, n in sorted(found.items())]
            # One large group may take long: its objects show that it comes nearer.
            return Progress(listed(words), sum(found.values()) + groups.behind)

        return Gate(title, look, CLEAN_S)
