"""Upgrading ceph: monitors, managers, OSDs host by host, metadata servers with one rank, gateways, clients, then the release.

The order is upstream's. A node's packages come with its first step; daemons run on with what they have loaded until their own.
Nothing can be taken back: upstream supports no downgrade.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from avadm.catalogue import finding
from avadm.cluster import ceph_release, health
from avadm.cluster.ceph_release import FileSystem
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import Noout
from avadm.cluster.kinds_filesystem import NoStandbyReplay, OneRank
from avadm.cluster.osd_map import OsdMap
from avadm.cluster.setting import Setting
from avadm.components.objects import object_pools
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.operations.ceph_nodes import CLIENT, GATEWAY, CephFacts, CephNodes, unknown
from avadm.operations.drain import ACCEPTABLE as DRAIN_IDS
from avadm.operations.drain import DrainPart
from avadm.operations.model import Gate, Interruption, Progress, Step, Tell, nothing
from avadm.operations.upgrade_ceph_refusals import ACCEPTABLE, Refusals
from avadm.operations.upgrade_model import Asked, Part, numbers
from avadm.quantity import quantity
from avadm.site.model import Node

PATIENCE_S, CLEAN_S, RANKS_S = 300.0, 900.0, 300.0
"""Seconds without progress of a daemon that was restarted, of placement groups, and of ranks that stop or start."""


def plan(asked: Asked, make: Callable[[Asked], CephNodes] = CephNodes) -> Part:
    """Plan the upgrade from what ceph and its nodes report.

    Raises:
        AvadmError: no monitor answers.
    """
    site = asked.cluster.site
    if not site.with_role("mon"):
        return Part(
            refusals=[finding("upgrade-no-node", where="COMPONENT", found="ceph", name=asked.one.name)]
        )
    room = make(asked)
    nodes = [n for n in site.nodes if room.moves(n)]
    seen = _Seen(
        nodes,
        room.facts(nodes),
        health.osds(asked.cluster),
        ceph_release.file_systems(asked.cluster),
        ceph_release.managers(asked.cluster)[0],
    )
    refusals = Refusals(asked, room, seen.nodes, seen.facts, seen.hosts, seen.systems)
    planned = _Upgrade(asked, room, seen)
    drains = planned.drains.values()
    return Part(
        planned.steps(),
        frozenset({"base", "ceph", "cephfs", "rbd", "objects"}),
        planned.interrupts(),
        planned.packages(),
        [*refusals.all(), *(f for drain in drains for f in drain.refusals)],
        ACCEPTABLE | DRAIN_IDS,
        [run for drain in drains for run in drain.runs],
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was reported when the upgrade was planned.

    Attributes:
        nodes: the nodes with packages of ceph.
        facts: what each has.
        hosts: host to its OSDs and whether they are up.
        systems: the file systems.
        manager: the active one; "" where none is.
    """

    nodes: Sequence[Node]
    facts: Mapping[str, CephFacts]
    hosts: Mapping[str, Mapping[int, bool]]
    systems: Sequence[FileSystem]
    manager: str


@dataclass
class _Upgrade:
    """The steps of an upgrade."""

    asked: Asked
    room: CephNodes
    seen: _Seen
    cluster: Cluster = field(init=False)
    drains: Mapping[str, DrainPart] = field(init=False)
    """Worker to its drain, of those whose client is not upgraded yet."""

    def __post_init__(self) -> None:
        self.cluster = self.asked.cluster
        workers = [n for n in self._with("client") if self.room.in_kubernetes(n)]
        left = [n for n in workers if self._has_old_client(n)]
        self.drains = self.room.drains(left, self._client_done)

    def _has_old_client(self, node: str) -> bool:
        """Return whether a client was old when the upgrade was planned; one that was stopped is asked again."""
        fact = self.seen.facts.get(node, CephFacts(silent="no answer"))
        old = fact.silent or not self.room.is_new(fact.installed) or self._old_clients(fact)
        return bool(old) or (self.asked.resumed and not self._client_done(node))

    def _old_clients(self, fact: CephFacts) -> list[str]:
        """Return the programs and clients of the file system that run with the former version on a node."""
        stale = [p for p in fact.stale if p == "ceph-fuse"]
        clients = [n for n in fact.of(CLIENT) if not n.startswith(GATEWAY)]
        return stale or sorted(n for n in clients if not self.room.is_new(fact.daemons[n]))

    @property
    def _version(self) -> str:
        return self.asked.wanted.rstrip(".")

    @property
    def _release(self) -> str:
        return ceph_release.RELEASES.get(numbers(self.asked.wanted)[0], "")

    def _with(self, role: str) -> list[str]:
        return [n.name for n in self.seen.nodes if role in n.roles]

    def steps(self) -> list[Step]:
        """Return all steps, in order."""
        hosts = [n.name for n in self.seen.nodes if self.seen.hosts.get(n.name)]
        return [
            *(self._daemon("monitor", "mon", node, self._monitor(node)) for node in self._with("mon")),
            self._monitors_done(),
            *(self._daemon("manager", "mgr", node, self._manager(node)) for node in self._managers()),
            *(self._osds(host) for host in hosts),
            *self._metadata_servers(),
            *(self._gateway(n.name) for n in object_pools.gateways(self.cluster.site)),
            *(step for node in self._with("client") for step in self._client(node)),
            *self._others(),
            *self._finish(),
        ]

    def packages(self) -> list[str]:
        """Return what changes on each node."""
        moves = {n.name: self.room.moves(n) for n in self.seen.nodes}
        every = sorted({package for one in moves.values() for package in one})
        found = self.room.installed(self.seen.nodes, every)
        lines = []
        for node, wanted in moves.items():
            has = found.get(node, {})
            changed = {p: v for p, v in sorted(wanted.items()) if not fnmatchcase(has.get(p, ""), v)}
            lines += [f"{node}: {p} {has.get(p, 'not installed')} → {v}" for p, v in changed.items()]
            if changed and (more := self._brought(wanted)):
                lines.append(f"{node}: {more}")
        return lines

    def _brought(self, packages: Collection[str]) -> str:
        """Return what comes along with packages of a node, by number and the names that an administrator looks for."""
        found = {
            p: source.what
            for source in self.asked.after.profile.sources.values()
            for p in source.needed(packages)
            if p not in packages
        }
        known = [p for p in ("libc6", "python3", "openssh-server", "apt", "base-files") if p in found]
        sources = ", ".join(sorted(set(found.values())))
        return f"up to {len(found)} more of {sources}, among them {', '.join(known)}" if known else ""

    def interrupts(self) -> list[Interruption]:
        """Return what users notice."""
        found = []
        if self.seen.hosts:
            found.append(
                Interruption("rbd, S3 and cephfs: each OSD's data are served by other OSDs in turn", 10.0)
            )
        if len(self._with("mon")) < 3:
            found.append(
                Interruption("all of ceph: a monitor is restarted, and the others are no quorum", 60.0)
            )
        if self.seen.systems:
            found.append(Interruption("cephfs: a rank moves to another metadata server", 30.0))
        if len(object_pools.gateways(self.cluster.site)) == 1:
            found.append(Interruption("S3: the only gateway is restarted", 30.0))
        if pods := [n for n in self._with("client") if self.room.in_kubernetes(n)]:
            found.append(
                Interruption(f"pods of {', '.join(pods)}: one worker after another is drained", None)
            )
        return found

    def _fact(self, node: str) -> CephFacts:
        fact = self.room.fact(node)
        if fact.silent:
            raise unknown(node, fact.silent)
        return fact

    def _old(self, node: str, prefix: str) -> list[str]:
        """Return the daemons of a kind that do not run the new version on a node."""
        return sorted(
            name for name, version in self._fact(node).of(prefix).items() if not self.room.is_new(version)
        )

    def _daemon(self, what: str, kind: str, node: str, also: Callable[[], str]) -> Step:
        """Return the step of a daemon that is named as its node.

        Args:
            what: the daemon, for people.
            kind: the daemon, as ceph names it.
            node: its node.
            also: what else must be true of it once it runs the new version; "" where it is.
        """
        name = f"{kind}.{node}"

        def look() -> Progress:
            version = self._fact(node).daemons.get(name, "")
            if not self.room.is_new(version):
                return Progress(f"{name} runs {version or 'nothing'}", 2)
            return Progress(why, 1) if (why := also()) else Progress()

        def act(tell: Tell) -> None:
            self.room.install(node, tell)
            if not self.room.is_new(self._fact(node).daemons.get(name, "")):
                self._may_stop(kind, node)
                self.room.restart(node, [f"ceph-{kind}@{node}"])

        return Step(
            f"upgrade the {what} on {node} to {self._version}, no rollback",
            act,
            (node,),
            done=lambda: not look().holds and self.room.has_packages(self.cluster.site.node(node)),
            gate=Gate(f"{name} runs {self._version} and serves", look, PATIENCE_S),
        )

    def _may_stop(self, kind: str, node: str) -> None:
        """Refuse to stop a monitor while another one is not in quorum (exit 1): the gate before it may have been skipped."""
        if kind != "mon":
            return
        quorum = health.monitors(self.cluster)
        if missing := quorum.members - quorum.inside - {node}:
            raise AvadmError(
                finding(
                    "mon-quorum",
                    found=f"not in it: {', '.join(sorted(missing))}",
                    wanted="all others in quorum",
                ),
                EXIT_FOUND_BAD,
            )

    def _monitor(self, node: str) -> Callable[[], str]:
        def also() -> str:
            quorum = health.monitors(self.cluster)
            missing = sorted(quorum.members - quorum.inside)
            return f"not in quorum: {', '.join(missing)}" if missing else ""

        return also

    def _monitors_done(self) -> Step:
        major = numbers(self.asked.wanted)[0]

        def look() -> Progress:
            found = ceph_release.monitors_release(self.cluster)
            return Progress(f"they are of release {found}", major - found) if found < major else Progress()

        return Step(
            f"wait until the monitors are of release {self._release}",
            nothing,
            done=lambda: not look().holds,
            gate=Gate(f"all monitors are of release {self._release}", look, PATIENCE_S),
        )

    def _managers(self) -> list[str]:
        """Return the nodes of managers, the active one last."""
        return sorted(self._with("mgr"), key=lambda node: node == self.seen.manager)

    def _manager(self, node: str) -> Callable[[], str]:
        def also() -> str:
            active, standbys = ceph_release.managers(self.cluster)
            if not active:
                return "no manager is active"
            return "" if node in {active, *standbys} else f"mgr.{node} is neither active nor stands by"

        return also

    def _osds(self, host: str) -> Step:
        ids = sorted(self.seen.hosts[host])

        def names() -> dict[int, str]:
            running = self._fact(host).of("osd.")
            return {i: running.get(f"osd.{i}", "") for i in ids}

        def look() -> Progress:
            old = {i: version for i, version in names().items() if not self.room.is_new(version)}
            osds = OsdMap.read(self.cluster)
            down = [i for i in ids if i in osds.osds and not osds.osds[i].up]
            words = [f"osd.{i} runs {version or 'nothing'}" for i, version in old.items()]
            words += [f"osd.{i} is down" for i in down if i not in old]
            words += [osds.moving] if osds.unclean else []
            return Progress("; ".join(words), osds.left + 1000.0 * len({*old, *down}))

        def act(tell: Tell) -> None:
            self.room.install(host, tell)
            old = [i for i, version in names().items() if not self.room.is_new(version)]
            if not old:
                return
            osds = OsdMap.read(self.cluster)
            why = osds.without_copy or health.why_not_stopped(self.cluster, old)
            if why:
                where = ", ".join(f"osd.{i}" for i in old)
                raise AvadmError(
                    finding("pools-stop", where=where, found=why, wanted="no pool below min_size"),
                    EXIT_FOUND_BAD,
                )
            self.room.restart(host, [f"ceph-osd@{i}" for i in old])

        title = f"the OSDs of {host} run {self._version} and all placement groups are active and clean"
        return Step(
            f"upgrade the OSDs of {host} ({len(ids)}) to {self._version}, no rollback",
            act,
            (host,),
            done=lambda: not look().holds and self.room.has_packages(self.cluster.site.node(host)),
            settings=(Noout(host),),
            gate=Gate(title, look, CLEAN_S),
        )

    def _metadata_servers(self) -> Iterable[Step]:
        """Yield the steps of the file systems: one rank each, standbys first, then those that serve, then all ranks again."""
        nodes = self._with("mds")
        if not nodes:
            return
        settings: list[Setting] = []
        for fs in self.seen.systems:
            settings += [NoStandbyReplay(fs.name)] if fs.standby_replay else []
            settings += [OneRank(f"{fs.name}={fs.max_mds}")] if fs.max_mds > 1 else []
        old = [n for n in nodes if not self.room.is_new(self.seen.facts[n].daemons.get(f"mds.{n}", ""))]
        if not old:
            settings = []
        held = tuple(settings)
        if held:
            names = ", ".join(fs.name for fs in self.seen.systems)
            yield Step(
                f"reduce {names} to one rank without followers",
                nothing,
                settings=held,
                gate=Gate("each file system has one rank", self._one_rank, RANKS_S),
            )
        serving = {name: -rank for fs in self.seen.systems for rank, name in fs.ranks.items()}
        # Ranks stop from the highest on; rank 0 is left to the end.
        order = sorted(nodes, key=lambda n: serving.get(n, -1000))
        for node in order:
            step = self._daemon("metadata server", "mds", node, self._mds(node))
            yield Step(step.name, step.act, step.nodes, step.done, held, step.gate)
        if held:
            yield Step(
                "wait until all ranks serve again",
                nothing,
                gate=Gate("each file system has its ranks", self._ranks, RANKS_S),
            )

    def _one_rank(self) -> Progress:
        systems = ceph_release.file_systems(self.cluster)
        many = [f"{fs.name} has {fs.inside} ranks" for fs in systems if fs.inside > 1 or 0 not in fs.ranks]
        follow = [f"{name} follows a rank" for fs in systems for name in sorted(fs.followers)]
        left = sum(abs(fs.inside - 1) + (0 not in fs.ranks) + len(fs.followers) for fs in systems)
        return Progress("; ".join([*many, *follow]), left)

    def _ranks(self) -> Progress:
        systems = ceph_release.file_systems(self.cluster)
        few = [
            f"{fs.name} has {len(fs.ranks)} of {fs.max_mds}" for fs in systems if len(fs.ranks) < fs.max_mds
        ]
        return Progress("; ".join(few), sum(max(0, fs.max_mds - len(fs.ranks)) for fs in systems))

    def _mds(self, node: str) -> Callable[[], str]:
        def also() -> str:
            up, _needed = health.metadata_servers(self.cluster)
            if node not in up:
                return f"mds.{node} is not up"
            idle = [fs.name for fs in ceph_release.file_systems(self.cluster) if 0 not in fs.ranks]
            return f"no metadata server is active for {', '.join(idle)}" if idle else ""

        return also

    def _gateway(self, node: str) -> Step:
        def look() -> Progress:
            running = self._fact(node).of(GATEWAY)
            if not running or (old := self._old(node, GATEWAY)):
                return Progress(
                    f"its gateway runs {', '.join(running[n] for n in old) if running else 'not'}", 2
                )
            return Progress(why, 1) if (why := self.room.gateway_trouble(node)) else Progress()

        def act(tell: Tell) -> None:
            self.room.install(node, tell)
            if not self._fact(node).of(GATEWAY) or self._old(node, GATEWAY):
                self.room.restart(node, [f"ceph-radosgw@rgw.{node}"])

        return Step(
            f"upgrade the gateway on {node} to {self._version}, no rollback",
            act,
            (node,),
            done=lambda: not look().holds and self.room.has_packages(self.cluster.site.node(node)),
            gate=Gate(f"the gateway of {node} runs {self._version} and answers", look, PATIENCE_S),
        )

    def _client_look(self, node: str) -> Progress:
        fact = self._fact(node)
        if not self.room.is_new(fact.installed):
            return Progress(f"ceph {fact.installed or 'nothing'} is installed", 3)
        if old := self._old_clients(fact):
            return Progress(f"{', '.join(old)} is still the old one", 2)
        return Progress(why, 1) if (why := self.room.mount_trouble(node)) else Progress()

    def _client_done(self, node: str) -> bool:
        return not self._client_look(node).holds and self.room.has_packages(self.cluster.site.node(node))

    def _client(self, node: str) -> Iterable[Step]:
        """Yield the steps of a client: a worker is drained before."""
        drain = self.drains.get(node, DrainPart())
        yield from drain.steps

        def act(tell: Tell) -> None:
            kind, users = self.room.mount_users(node)
            if users:
                raise AvadmError(
                    finding("upgrade-mount-in-use", found="; ".join(users[:5]), host=node), EXIT_FOUND_BAD
                )
            self.room.install(node, tell)
            # The kernel's client is no package of ceph's.
            if not kind or kind.startswith("fuse"):
                self.room.remount(node)

        yield Step(
            f"upgrade the client on {node} to {self._version}, no rollback",
            act,
            (node,),
            done=lambda: self._client_done(node),
            settings=drain.settings,
            gate=Gate(
                f"the client of {node} is {self._version} and its file system responds",
                lambda: self._client_look(node),
                PATIENCE_S,
            ),
        )

    def _others(self) -> Iterable[Step]:
        """Yield the steps of nodes that have packages of ceph, and neither a daemon nor a client of the file system."""
        done = {"mon", "mgr", "osd", "mds", "rgw", "client"}
        for node in self.seen.nodes:
            if not done & set(node.roles):
                yield self._packages_alone(node)

    def _packages_alone(self, node: Node) -> Step:
        return Step(
            f"upgrade ceph's packages on {node.name} to {self._version}, no rollback",
            lambda tell: self.room.install(node.name, tell),
            (node.name,),
            done=lambda: self.room.has_packages(node),
        )

    def _finish(self) -> Iterable[Step]:
        release = self._release
        yield Step(
            f"let no OSD older than {release} join (require-osd-release)",
            lambda tell: self.cluster.ceph("osd", "require-osd-release", release),
            done=lambda: ceph_release.required_osd_release(self.cluster) == release,
        )
        yield Step(
            "have all monitors listen for messenger v2",
            lambda tell: self.cluster.ceph("mon", "enable-msgr2"),
            done=lambda: not ceph_release.without_messenger_v2(self.cluster),
            gate=Gate("all monitors listen for messenger v2", self._messenger, PATIENCE_S),
        )
        names = [n.name for n in self.seen.nodes]
        yield Step(
            "check that all clients and servers have one version",
            nothing,
            gate=Gate(f"all of ceph runs one version {self._version}", self._equal, PATIENCE_S),
        )
        yield Step(
            f"run ceph's phases with the new profile ({quantity(len(names), 'node')})",
            lambda tell: self.room.apply(names, tell),
            tuple(names),
            done=lambda: not self.room.due(),
        )

    def _messenger(self) -> Progress:
        left = ceph_release.without_messenger_v2(self.cluster)
        return Progress(f"not {', '.join(left)}" if left else "", len(left))

    def _equal(self) -> Progress:
        """Return what of ceph, client or server, does not run the one new version (K1: data was lost by that)."""
        facts = self.room.facts(self.seen.nodes)
        bad, found = [], set()
        for node, fact in sorted(facts.items()):
            if fact.silent:
                bad.append(f"{node} does not answer")
            bad += [f"{node}: the old {program} runs on" for program in fact.stale]
            for name, version in [("ceph", fact.installed), *sorted(fact.daemons.items())]:
                found.add(version)
                if not self.room.is_new(version):
                    bad.append(f"{node}: {name} is {version or 'not installed'}")
        if len(found) > 1 and not bad:
            bad.append(f"versions are {', '.join(sorted(found))}")
        return Progress("; ".join(bad[:5]), len(bad))
