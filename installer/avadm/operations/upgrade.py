"""Upgrading components to the versions of another profile: one node after another, each proven before the next.

A site is between two profiles meanwhile: the site file names the components that have another one (`component_profiles`) until
all have it, so that every other verb knows what is to run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.components.catalog import UPGRADES
from avadm.components.model import Upgradable
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.operations import upgrade_calico, upgrade_ceph, upgrade_kubernetes
from avadm.operations.drain import ACCEPTABLE as DRAIN_IDS
from avadm.operations.drain import DRAIN, DrainOptions, DrainPart, continued
from avadm.operations.model import Gate, Interruption, Operation, Progress, Step, Tell
from avadm.operations.run import Build
from avadm.operations.site_change import change_site
from avadm.operations.upgrade_model import Asked, Part, Planner, numbers, snapshot_step
from avadm.operations.upgrade_nodes import ENGINE, UpgradeNodes
from avadm.site.load import SiteFile, target_profile
from avadm.site.model import Node
from avadm.site.profile import Profile, plain

VERB = "upgrade"
_OWNER = {program: name for name, (_, one) in UPGRADES.items() for program in one.programs}
"""Program to the component that it is upgraded with."""
PATIENCE_S = 300.0
"""Seconds without progress that a node has after its upgrade: Prometheus reads its write-ahead log first."""
OWN: Mapping[str, Planner] = {
    "ceph": upgrade_ceph.plan,
    upgrade_kubernetes.NAME: upgrade_kubernetes.plan,
    upgrade_calico.NAME: upgrade_calico.plan,
}
"""Components with steps of their own; of the others one node is upgraded after another."""
DRAINED = frozenset({"ceph", ENGINE, upgrade_kubernetes.NAME})
"""Components whose upgrade drains nodes."""
SAME = (
    "os",
    "glibc",
    "systemd",
    "python",
    "ceph_python",
    "kernel_arguments",
    "features",
    "hardware",
    "counts",
)
"""What two profiles must have in common, since no upgrade of a component changes it."""


def command_of(components: Sequence[str], to: str) -> str:
    """Return the command that upgrades components; it identifies the operation."""
    return shlex.join(["avadm", VERB, *dict.fromkeys(components), "--to", to])


def build(
    components: Sequence[str],
    to: str,
    make: Callable[[Cluster], UpgradeNodes] = UpgradeNodes,
    own: Mapping[str, Planner] = OWN,
    accepted: Collection[str] = (),
    drain: DrainOptions = DRAIN,
) -> Build:
    """Return what plans an upgrade.

    Args:
        components: names of components; all that differ where empty.
        to: the profile, by name or as the path of a file.
        make: the nodes, for tests.
        own: components with steps of their own, for tests.
        accepted: ids of refusals that the user accepts.
        drain: how nodes are drained.
    """

    def plan(cluster: Cluster) -> Operation:
        command = continued(cluster.state, command_of(components, to), drain)
        target, findings = _target(cluster.site_file, to)
        chosen, strange = _chosen(cluster.site_file.profile, target, components)
        findings += strange
        if target is None or not chosen:
            return Operation(VERB, command, (), refusals=findings)
        every = frozenset(accepted)
        return _Plan(cluster, make(cluster), command, to, target, chosen, own, every, drain).operation(
            findings
        )

    return plan


def _target(site_file: SiteFile, to: str) -> tuple[Profile | None, list[Finding]]:
    try:
        return target_profile(site_file.path, to), []
    except AvadmError as error:
        return None, [replace(f, where="--to") for f in error.findings]


def _chosen(
    now: Profile, target: Profile | None, components: Sequence[str]
) -> tuple[list[Upgradable], list[Finding]]:
    """Return the components to upgrade, in the order in which they are done, and those that cannot be."""
    named = set(components)
    if target is not None and not components:
        named = {
            _OWNER.get(c, c)
            for c in {*now.versions, *target.versions}
            if now.versions.get(c) != target.versions.get(c)
        }
    findings = []
    for name in sorted(named - UPGRADES.keys()):
        near = get_close_matches(name, UPGRADES, n=1)
        findings.append(
            finding(
                "component-not-supported",
                where="COMPONENT" if components else "--to",
                found=name,
                wanted=near[0] if near else ", ".join(sorted(UPGRADES)),
                name=name,
            )
        )
    if target is not None:
        findings += [
            finding("upgrade-profile-differs", where="--to", found=key, wanted="the same in both", name=key)
            for key in SAME
            if getattr(now, key) != getattr(target, key)
        ]
    return [one for name, (_, one) in UPGRADES.items() if name in named], findings


@dataclass(slots=True)
class _Plan:
    """An upgrade that is being planned.

    Attributes:
        cluster: the site.
        nodes: its nodes.
        command: what continues it.
        to: the profile as it was named.
        target: the profile.
        chosen: the components.
        own: those with steps of their own.
        accepted: ids of refusals that the user accepts.
        drain: how nodes are drained.
    """

    cluster: Cluster
    nodes: UpgradeNodes
    command: str
    to: str
    target: Profile
    chosen: Sequence[Upgradable]
    own: Mapping[str, Planner]
    accepted: frozenset[str]
    drain: DrainOptions

    def operation(self, findings: Sequence[Finding]) -> Operation:
        """Return the operation, from what the nodes report."""
        parts, file = [Part(refusals=findings)], self.cluster.site_file
        for one in self.chosen:
            former, file = file, self._with(file, one)
            planner = self.own.get(one.name)
            if planner is None:
                parts.append(self._row(one, former, file))
                continue
            try:
                asked = Asked(self.cluster, one, self.command, former, file, self.accepted, self.drain)
                parts.append(planner(asked))
            except AvadmError as error:
                parts.append(Part(refusals=error.findings))
        steps = [step for part in parts for step in part.steps]
        if steps:
            steps.append(self._last(file))
        return Operation(
            VERB,
            self.command,
            steps,
            frozenset(UPGRADES[one.name][0].name for one in self.chosen).union(
                *(p.components for p in parts)
            ),
            [one for part in parts for one in part.interrupts],
            [one for part in parts for one in part.packages],
            [one for part in parts for one in part.refusals],
            frozenset().union(*(part.acceptable for part in parts)),
            runs=[one for part in parts for one in part.runs],
        )

    def _row(self, one: Upgradable, former: SiteFile, file: SiteFile) -> Part:
        """Return the part of a component whose nodes are upgraded one after another.

        Args:
            one: the component.
            former: the site with the profile that it has.
            file: the site with the one that it is to have.
        """
        members = self.nodes.of(one)
        if not members:
            none = finding("upgrade-no-node", where="COMPONENT", found=one.name, name=one.name)
            return Part(refusals=[none])
        seen = self._seen(one, members)
        left = [n for n in seen if not self._is_new(seen[n])]
        # Where it was stopped: what was at work there may not run, and is done first.
        stopped = {n for n in seen if self._resumed and not self.nodes.settled(one, n)}
        order = self._order(one, [n.name for n in members]) if left else list(seen)
        order.sort(key=lambda n: n not in stopped)
        moves = _moves(file.profile, one)
        found = self.nodes.installed([n for n in members if n.name in left], list(moves))
        back = {n: _back(_moves(former.profile, one), moves, found.get(n, {})) for n in order}
        drains = self._drains(one, [n for n in order if n in left or n in stopped])
        what, seconds = one.interrupts if len(members) == 1 else one.together
        return Part(
            list(self._steps(one, order, former, file, back, drains)),
            interrupts=[Interruption(what, seconds)] if left and what else (),
            packages=[
                f"{n}: {p} {found.get(n, {}).get(p, 'not installed')} → {moves[p]}"
                for n in left
                for p in moves
            ],
            refusals=[
                *self._refusals(one, seen, left, stopped),
                *(f for drain in drains.values() for f in drain.refusals),
            ],
            acceptable=DRAIN_IDS if one.name == ENGINE else frozenset(),
            runs=[run for drain in drains.values() for run in drain.runs],
        )

    def _drains(self, one: Upgradable, nodes: Sequence[str]) -> dict[str, DrainPart]:
        """Return node to its drain, of those that must be empty while they are upgraded."""

        def done(node: str) -> bool:
            return self._done(one, node)()

        return self.nodes.drains(one, nodes, self.drain, self.accepted, done)

    @property
    def _resumed(self) -> bool:
        return any(one.command == self.command for one in self.cluster.state.begun())

    def _with(self, file: SiteFile, one: Upgradable) -> SiteFile:
        return replace(file, profile=file.profile.with_component(one.programs, one.roles, self.target))

    def _seen(self, one: Upgradable, nodes: Sequence[Node]) -> dict[str, dict[str, str]]:
        """Return node to program to the version that runs there, of the programs that the profile names; "" for no answer."""
        found = {p: self.nodes.running(p, nodes) for p in one.programs if p in self.target.versions}
        return {n.name: {p: of.get(n.name, "") for p, of in found.items()} for n in nodes}

    def _refusals(
        self,
        one: Upgradable,
        seen: Mapping[str, Mapping[str, str]],
        left: Sequence[str],
        stopped: Collection[str],
    ) -> Iterator[Finding]:
        """Yield what forbids the upgrade of a component.

        Args:
            one: the component.
            seen: node to program to the version that runs there.
            left: the nodes that do not run the wanted ones.
            stopped: the nodes in whose upgrade the same command was stopped.
        """
        for program in one.programs:
            if program in self.target.versions:
                of = {node: versions[program] for node, versions in seen.items()}
                yield from self._by_version(one, program, of, stopped)
        try:
            troubles = self.nodes.troubles(one)
        except AvadmError as error:
            yield from error.findings
            return
        for node, why in troubles.items():
            if node not in stopped:
                yield finding("upgrade-unhealthy", where=node, found=why, name=one.name)
        yield from self.nodes.refusals(one, [n for n in left if n not in stopped])

    def _by_version(
        self, one: Upgradable, program: str, seen: Mapping[str, str], stopped: Collection[str]
    ) -> Iterator[Finding]:
        """Yield what of the versions of one program (``seen``, by node) forbids the upgrade."""
        target = self.target.versions[program]
        wanted = numbers(target)
        for node, version in seen.items():
            if not version and node not in stopped:
                yield finding("upgrade-version-unknown", host=node, name=program)
        every = {n: numbers(v)[: len(wanted)] for n, v in seen.items() if v}
        old = {v for v in every.values() if v != wanted}
        if any(v > wanted for v in old):
            yield finding("upgrade-downgrade", program, _shown(seen), target, name=program)
        elif any(_skips(one, program, v, wanted) for v in old):
            yield finding("upgrade-skips-release", program, _shown(seen), target, name=program)
        if len(old) > 1 or (old and wanted in every.values() and not self._resumed):
            yield finding("upgrade-mixed-versions", program, _shown(seen), "one version", name=program)

    def _order(self, one: Upgradable, names: Sequence[str]) -> list[str]:
        """Return nodes in the order in which they are upgraded: the leader last."""
        try:
            leader = self.nodes.leader(one)
        except AvadmError:
            leader = ""
        return sorted(names, key=lambda n: n == leader)

    def _steps(
        self,
        one: Upgradable,
        order: Sequence[str],
        former: SiteFile,
        file: SiteFile,
        back: Mapping[str, Mapping[str, str]],
        drains: Mapping[str, DrainPart],
    ) -> Iterator[Step]:
        """Yield the steps of a component.

        Args:
            one: the component.
            order: its nodes, in the order in which they are upgraded.
            former: the site with the profile that it has.
            file: the site with the one that it is to have.
            back: node to package to the version that a failed upgrade goes back to.
            drains: node to its drain, of the nodes that are not upgraded yet.
        """
        if one.name == "etcd":
            yield snapshot_step(self.cluster, self.nodes.etcd, self.command, order[0])
        target = self.target.versions[one.name].rstrip(".")
        versions = former.profile.versions
        final = any(versions.get(p) != self.target.versions.get(p) for p in one.final)
        for node in order:
            drain = drains.get(node, DrainPart())
            yield from drain.steps
            undone = one.rollback and not final and bool(back[node])
            yield Step(
                f"upgrade {one.name} on {node} to {target}{'' if undone else ', no rollback'}",
                self._act(one, node, file),
                nodes=(node,),
                done=self._done(one, node),
                settings=(*self.nodes.settings(one, node), *drain.settings),
                gate=Gate(
                    f"{one.name} {target} runs on {node} and all are well", self._look(one, node), PATIENCE_S
                ),
                undo=self._undo(one, node, former, back[node]) if undone else None,
            )

    def _runs(self, one: Upgradable, node: str) -> dict[str, str]:
        """Return program to the version that runs on a node."""
        return self._seen(one, [self.cluster.site.node(node)])[node]

    def _is_new(self, seen: Mapping[str, str]) -> bool:
        """Return whether all programs (to the version that runs) have the wanted version."""
        wanted = {p: numbers(self.target.versions[p]) for p in seen}
        return all(numbers(v)[: len(wanted[p])] == wanted[p] for p, v in seen.items())

    def _done(self, one: Upgradable, node: str) -> Callable[[], bool]:
        def done() -> bool:
            return self.nodes.settled(one, node) and self._is_new(self._runs(one, node))

        return done

    def _act(self, one: Upgradable, node: str, file: SiteFile) -> Callable[[Tell], None]:
        def act(tell: Tell) -> None:
            # The others have to do its work meanwhile; of a step that was skipped no gate was asked.
            others = {n: why for n, why in self.nodes.troubles(one).items() if n != node}
            if others:
                raise AvadmError(
                    [finding("upgrade-unhealthy", n, why, name=one.name) for n, why in others.items()],
                    EXIT_FOUND_BAD,
                )
            self.nodes.prepare(one, node, tell)
            self.nodes.bring(file, one, node, _moves(file.profile, one), self.command, tell)

        return act

    def _undo(
        self, one: Upgradable, node: str, former: SiteFile, back: Mapping[str, str]
    ) -> Callable[[Tell], None]:
        def undo(tell: Tell) -> None:
            self.nodes.bring(former, one, node, back, self.command, tell)

        return undo

    def _look(self, one: Upgradable, node: str) -> Callable[[], Progress]:
        def look() -> Progress:
            seen = self._runs(one, node)
            if not self._is_new(seen):
                return Progress(f"on {node} runs {_shown(seen)}", float("inf"))
            troubles = self.nodes.troubles(one, node)
            return Progress("; ".join(f"{n}: {why}" for n, why in troubles.items()), len(troubles))

        return look

    def _last(self, file: SiteFile) -> Step:
        """Return the step that writes the site file."""
        site = self.cluster.site
        whole = _content(file.profile) == _content(self.target)
        held = {} if whole else site.component_profiles | {one.name: self.to for one in self.chosen}
        name = self.to if whole else site.profile
        held = {c: p for c, p in held.items() if p != name}

        def change(data: Any) -> None:
            found = (data.get("profile", site.profile), dict(data.get("component_profiles") or {}))
            if found not in ((site.profile, site.component_profiles), (name, held)):
                raise AvadmError.of(
                    "upgrade-site-changed", where="profile", found=str(found[0]), wanted=site.profile
                )
            if found[0] != name:
                data["profile"] = name
            if held:
                data["component_profiles"] = held
            else:
                data.pop("component_profiles", None)

        text = (
            f"profile: {name}"
            if whole
            else f"component_profiles: {', '.join(f'{c}: {p}' for c, p in held.items())}"
        )
        return Step(
            f"write {text} into the site file",
            lambda tell: change_site(self.cluster.site_file.path, change, tell),
            done=lambda: (site.profile, site.component_profiles) == (name, held),
        )


def _shown(seen: Mapping[str, str]) -> str:
    return ", ".join(f"{node}: {version or 'unknown'}" for node, version in seen.items())


def _skips(one: Upgradable, program: str, old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    """Return whether upstream supports no step between two releases."""
    if old[:1] != new[:1]:
        return program not in one.crosses
    return one.adjacent and new[1] - old[1] > 1


def _moves(profile: Profile, one: Upgradable) -> dict[str, str]:
    """Return package to the version pattern of a profile."""
    packages = list(dict.fromkeys(p for role in one.roles for p in plain(profile.packages.get(role, ()))))
    if not one.packages:
        return dict.fromkeys(packages, f"{profile.versions[one.name]}*")
    return {
        package: f"{profile.versions[program]}*"
        for program, patterns in one.packages.items()
        if program in profile.versions
        for package in packages
        if any(fnmatchcase(package, pattern) for pattern in patterns)
    }


def _back(former: Mapping[str, str], moves: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """Return package to the version that a failed upgrade goes back to; nothing where it is not known.

    Args:
        former: package to the version pattern of the former profile.
        moves: package to the one that it is brought to.
        found: package to the version that is installed now.
    """
    back = {}
    for package, pattern in former.items():
        version, new = found.get(package, ""), moves.get(package, pattern)
        if new == pattern:
            continue
        if version and not fnmatchcase(version, new):
            # What is there: the former pattern may include the new version, too.
            back[package] = version
        elif fnmatchcase(new.rstrip("*"), pattern):
            # It is new already, or cannot be asked: which one it was is not known.
            return {}
        else:
            back[package] = pattern
    return back


def _content(profile: Profile) -> dict[str, Any]:
    """Return what a profile says, whatever its name and the order in which it names packages."""
    found = profile.model_dump(exclude={"name"})
    for source in found["sources"].values():
        source["packages"] = sorted(source["packages"])
    return found
