"""Upgrading components to the versions of another profile: one node after another, each proven before the next.

A site is between two profiles meanwhile: the site file names the components that have another one (`component_profiles`) until
all have it, so that every other verb knows what is to run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.components.catalog import UPGRADES
from avadm.components.model import Upgradable
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.operations import upgrade_kubernetes
from avadm.operations.model import Gate, Interruption, Operation, Progress, Step, Tell
from avadm.operations.run import Build
from avadm.operations.site_change import change_site
from avadm.operations.upgrade_model import Asked, Part, Planner
from avadm.operations.upgrade_nodes import UpgradeNodes
from avadm.site.load import SiteFile, target_profile
from avadm.site.profile import Profile, plain

VERB = "upgrade"
_OWNER = {program: name for name, (_, one) in UPGRADES.items() for program in one.programs}
"""Program to the component that it is upgraded with."""
PATIENCE_S = 300.0
"""Seconds without progress that a node has after its upgrade: Prometheus reads its write-ahead log first."""
OWN: Mapping[str, Planner] = {upgrade_kubernetes.NAME: upgrade_kubernetes.plan}
"""Components with steps of their own; of the others one node is upgraded after another."""
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
) -> Build:
    """Return what plans an upgrade.

    Args:
        components: names of components; all that differ where empty.
        to: the profile, by name or as the path of a file.
        make: the nodes, for tests.
        own: components with steps of their own, for tests.
        accepted: ids of refusals that the user accepts.
    """

    def plan(cluster: Cluster) -> Operation:
        command = command_of(components, to)
        target, findings = _target(cluster.site_file, to)
        chosen, strange = _chosen(cluster.site_file.profile, target, components)
        findings += strange
        if target is None or not chosen:
            return Operation(VERB, command, (), refusals=findings)
        return _Plan(cluster, make(cluster), command, to, target, chosen, own, frozenset(accepted)).operation(
            findings
        )

    return plan


def numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version or its prefix: ``2.53.`` gives (2, 53)."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(n) for n in match[0].split(".")) if match else ()


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
    """

    cluster: Cluster
    nodes: UpgradeNodes
    command: str
    to: str
    target: Profile
    chosen: Sequence[Upgradable]
    own: Mapping[str, Planner]
    accepted: frozenset[str]

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
                parts.append(planner(Asked(self.cluster, one, self.command, former, file, self.accepted)))
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
        seen = self.nodes.running(one, members)
        wanted = numbers(self.target.versions[one.name])
        left = [n for n in seen if numbers(seen[n])[: len(wanted)] != wanted]
        # Where it was stopped: what was at work there may not run, and is done first.
        stopped = {n for n in seen if self._resumed and not self.nodes.settled(one, n)}
        order = self._order(one, [n.name for n in members]) if left else list(seen)
        order.sort(key=lambda n: n not in stopped)
        moves = _moves(file.profile, one)
        found = self.nodes.installed([n for n in members if n.name in left], list(moves))
        what, seconds = one.interrupts if len(members) == 1 else one.together
        return Part(
            list(self._steps(one, order, former, file)),
            interrupts=[Interruption(what, seconds)] if left and what else (),
            packages=[
                f"{n}: {p} {found.get(n, {}).get(p, 'not installed')} → {moves[p]}"
                for n in left
                for p in moves
            ],
            refusals=list(self._refusals(one, seen, left, stopped)),
        )

    @property
    def _resumed(self) -> bool:
        return any(one.command == self.command for one in self.cluster.state.begun())

    def _with(self, file: SiteFile, one: Upgradable) -> SiteFile:
        return replace(file, profile=file.profile.with_component(one.programs, one.roles, self.target))

    def _refusals(
        self, one: Upgradable, seen: Mapping[str, str], left: Sequence[str], stopped: Collection[str]
    ) -> Iterator[Finding]:
        """Yield what forbids the upgrade of a component.

        Args:
            one: the component.
            seen: node to the version that runs there.
            left: the nodes that do not run the wanted one.
            stopped: the nodes in whose upgrade the same command was stopped.
        """
        target = self.target.versions[one.name]
        wanted = numbers(target)
        for node, version in seen.items():
            if not version and node not in stopped:
                yield finding("upgrade-version-unknown", host=node, name=one.name)
        old = {numbers(v)[: len(wanted)] for n, v in seen.items() if v and n in left}
        if any(v > wanted for v in old):
            yield finding("upgrade-downgrade", one.name, _shown(seen), target, name=one.name)
        elif any(_skips(one, v, wanted) for v in old):
            yield finding("upgrade-skips-release", one.name, _shown(seen), target, name=one.name)
        if len(old) > 1 or (old and len(left) < len(seen) and not self._resumed):
            yield finding("upgrade-mixed-versions", one.name, _shown(seen), "one version", name=one.name)
        try:
            troubles = self.nodes.troubles(one)
        except AvadmError as error:
            yield from error.findings
            return
        for node, why in troubles.items():
            if node not in stopped:
                yield finding("upgrade-unhealthy", where=node, found=why, name=one.name)

    def _order(self, one: Upgradable, names: Sequence[str]) -> list[str]:
        """Return nodes in the order in which they are upgraded: the leader last."""
        if one.name != "etcd":
            return list(names)
        try:
            leader = self.nodes.etcd.leader()
        except AvadmError:
            leader = ""
        return sorted(names, key=lambda n: n == leader)

    def _steps(
        self, one: Upgradable, order: Sequence[str], former: SiteFile, file: SiteFile
    ) -> Iterator[Step]:
        if one.name == "etcd":
            yield Step(
                "take a snapshot of etcd and check it",
                lambda tell: tell(f"    kept on {self.nodes.etcd.snapshot()}"),
                nodes=(order[0],),
                done=self._has_snapshot,
            )
        target = self.target.versions[one.name].rstrip(".")
        back = "" if one.rollback else ", no rollback"
        for node in order:
            yield Step(
                f"upgrade {one.name} on {node} to {target}{back}",
                self._act(one, node, file),
                nodes=(node,),
                done=self._done(one, node),
                gate=Gate(
                    f"{one.name} {target} runs on {node} and all are well", self._look(one, node), PATIENCE_S
                ),
                undo=self._undo(one, node, former) if one.rollback else None,
            )

    def _has_snapshot(self) -> bool:
        begun = next(one.started for one in self.cluster.state.begun() if one.command == self.command)
        return self.nodes.etcd.has_snapshot(begun)

    def _runs(self, one: Upgradable, node: str) -> str:
        """Return the version that runs on a node."""
        return self.nodes.running(one, [self.cluster.site.node(node)])[node]

    def _is_new(self, one: Upgradable, version: str) -> bool:
        wanted = numbers(self.target.versions[one.name])
        return numbers(version)[: len(wanted)] == wanted

    def _done(self, one: Upgradable, node: str) -> Callable[[], bool]:
        def done() -> bool:
            return self.nodes.settled(one, node) and self._is_new(one, self._runs(one, node))

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
            if one.name == "etcd" and (heir := self.nodes.etcd.hand_over(node)):
                tell(f"    {heir} leads now")
            self.nodes.bring(file, one, node, _moves(file.profile, one), self.command, tell)

        return act

    def _undo(self, one: Upgradable, node: str, former: SiteFile) -> Callable[[Tell], None]:
        def undo(tell: Tell) -> None:
            self.nodes.bring(former, one, node, _moves(former.profile, one), self.command, tell)

        return undo

    def _look(self, one: Upgradable, node: str) -> Callable[[], Progress]:
        def look() -> Progress:
            version = self._runs(one, node)
            if not self._is_new(one, version):
                return Progress(f"on {node} the version is {version or 'not reported'}", float("inf"))
            troubles = self.nodes.troubles(one)
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


def _skips(one: Upgradable, old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    """Return whether upstream supports no step between two releases."""
    if old[:1] != new[:1]:
        return True
    return one.adjacent and new[1] - old[1] > 1


def _moves(profile: Profile, one: Upgradable) -> dict[str, str]:
    """Return package to the version pattern of a profile."""
    return dict.fromkeys(plain(profile.packages[one.role]), f"{profile.versions[one.name]}*")


def _content(profile: Profile) -> dict[str, Any]:
    """Return what a profile says, whatever its name and the order in which it names packages."""
    found = profile.model_dump(exclude={"name"})
    for source in found["sources"].values():
        source["packages"] = sorted(source["packages"])
    return found
