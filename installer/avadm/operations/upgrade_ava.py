"""AVA's upgrade to the version of this avadm: a dump, the migration, then the processes, which report their version themselves.

Kubernetes replaces one pod of each part after another. Where the new version does not come, the manifests of the former one are
applied again, unless a migration came between that its code cannot live with. Pods of users are no part of this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.operations import ava_migrations
from avadm.operations.ava_migrations import Migration
from avadm.operations.ava_platform import (
    ACTS,
    JUMP,
    LOOPS,
    PHASE,
    AvaPlatform,
    DatabaseState,
    Manifests,
    Pod,
    Release,
    Seen,
    unready,
)
from avadm.operations.model import Gate, Interruption, Operation, Progress, Step, Tell, attempt
from avadm.operations.run import Build, Clock, pass_gate
from avadm.operations.upgrade_model import numbers
from avadm.state.operations import OperationRecord

VERB, NAME, TITLE = "upgrade", "ava", "AVA"
COMMAND = f"avadm {VERB} {NAME}"
ACCEPTABLE = frozenset({"upgrade-migration", "upgrade-former-image", "upgrade-former-manifests"})
"""Refusals without which there is a rollback."""
PATIENCE_S = 300.0
"""Seconds without progress of the new processes after their pods are ready: one of each has to take over first."""
DUMP = "dump AVA's database and check the dump"
"""The first step's name, by which a stopped upgrade knows whether it was done."""
LEAD_S = 30.0
"""Seconds in which no operator or scheduler acts, until the lead of the former one has run out."""


def build(
    accepted: Collection[str] = (),
    make: Callable[[Cluster], AvaPlatform] = AvaPlatform,
    migrations: Callable[[], list[Migration]] = ava_migrations.read,
    clock: Clock | None = None,
) -> Build:
    """Return what plans AVA's upgrade.

    Args:
        accepted: ids of refusals that the user accepts.
        make: AVA of the site, for tests.
        migrations: those of this avadm's AVA, for tests.
        clock: time, for tests.
    """

    def plan(cluster: Cluster) -> Operation:
        if cluster.site.components.ava is None:
            none = finding("upgrade-no-node", where="COMPONENT", found=NAME, name=TITLE)
            return Operation(VERB, COMMAND, (), refusals=[none])
        return _Plan(cluster, make(cluster), migrations, frozenset(accepted), clock or Clock()).operation()

    return plan


@dataclass(slots=True)
class _Plan:
    """An upgrade of AVA that is being planned.

    Attributes:
        cluster: the site.
        platform: its AVA.
        migrations: reads those of this avadm's AVA.
        accepted: ids of refusals that the user accepts.
        clock: time.
        refusals: what speaks against it so far.
    """

    cluster: Cluster
    platform: AvaPlatform
    migrations: Callable[[], list[Migration]]
    accepted: frozenset[str]
    clock: Clock
    refusals: list[Finding] = field(default_factory=list)

    @property
    def record(self) -> OperationRecord | None:
        """The same command, where it was stopped or failed."""
        return next((one for one in self.cluster.state.begun() if one.command == COMMAND), None)

    def operation(self) -> Operation:
        """Return the operation, from what AVA, its database and the registry report."""
        self.refusals += self.platform.missing()
        newest = self.platform.newest()
        seen: Seen | None = attempt(self.refusals, self.platform.seen)
        state: DatabaseState | None = attempt(self.refusals, self.platform.database)
        ordered: list[Migration] | None = attempt(self.refusals, self.migrations)
        troubles: Mapping[str, str] | None = attempt(self.refusals, self.platform.members)
        self.refusals += [
            finding("upgrade-unhealthy", where=node, found=why, name="The database")
            for node, why in (troubles or {}).items()
        ]
        if seen is not None and not seen.deployed:
            self.refusals.append(finding("upgrade-not-installed", where=NAME))
        if newest is None or seen is None or state is None or ordered is None or not seen.deployed:
            return self._operation()
        left = ava_migrations.after(ordered, state.revision)
        if left is None:
            last = ordered[-1].revision
            self.refusals.append(
                finding("upgrade-database-newer", where=state.node, found=state.revision, wanted=last)
            )
            return self._operation()
        if self.record is None and not left and not _wrong(self.platform.parts, seen, newest):
            return self._operation()
        return self._whole(newest, seen, state, ordered)

    def _whole(
        self, newest: Release, seen: Seen, state: DatabaseState, ordered: list[Migration]
    ) -> Operation:
        manifests = self.platform.manifests()
        former = self._former(newest, seen, manifests)
        self.refusals += self._unwell(newest, seen, state)
        nodes = self._nodes()
        left = ava_migrations.after(ordered, state.revision) or []
        rolls = set(seen.deployed.values()) != {newest.tag}
        since = self._since_former(ordered, state)
        against = list(self._without_rollback(former, since, manifests))
        if rolls or left:
            self.refusals += against
        back = None if against else former
        work = _Work(self, newest, back, state, nodes, ordered[-1].revision)
        interrupts = []
        if rolls:
            interrupts = [
                Interruption(
                    "open connections into workbenches, by ssh and browser, and uploads: each may be cut once, "
                    "and can be begun again"
                ),
                Interruption(
                    "starts and ends of runs wait until the next operator and scheduler act", LEAD_S
                ),
            ]
        if any(not one.compatible for one in left):
            interrupts.append(
                Interruption(
                    "AVA's API and web site, whose former version cannot use the migrated tables", None
                )
            )
        return self._operation(
            list(work.steps(left, former)),
            interrupts,
            [
                *([f"{TITLE} {former.tag if former else 'unknown'} → {newest.tag}"] if rolls else []),
                *(f"{TITLE}'s database {_shown(one)}" for one in left),
            ],
        )

    def _operation(
        self,
        steps: Sequence[Step] = (),
        interrupts: Sequence[Interruption] = (),
        packages: Sequence[str] = (),
    ) -> Operation:
        return Operation(
            VERB,
            COMMAND,
            steps,
            frozenset({PHASE, "database"}),
            interrupts,
            packages,
            self.refusals,
            ACCEPTABLE,
        )

    def _former(self, newest: Release, seen: Seen, manifests: Mapping[str, Manifests]) -> Release | None:
        """Return the version that a failed upgrade goes back to; None where none is known."""
        tags = {tag for tag in seen.deployed.values() if tag != newest.tag}
        if not tags and self.record is not None:
            # All deployments have the new image already: the former is what was kept last.
            kept = [tag for one in manifests.values() for tag in one.kept if tag != newest.tag][:1]
            tags = set(kept)
        if len(tags) != 1:
            return None
        tag = tags.pop()
        versions = {one.version for one in seen.pods if one.tag == tag and one.version}
        return Release(tag, versions.pop() if len(versions) == 1 else "")

    def _unwell(self, newest: Release, seen: Seen, state: DatabaseState) -> Iterator[Finding]:
        """Yield what forbids an upgrade of this AVA, whatever the versions are."""
        if any(numbers(Release(tag).number) > numbers(newest.number) for tag in seen.deployed.values()):
            found = ", ".join(sorted(set(seen.deployed.values())))
            yield finding("upgrade-downgrade-ava", NAME, found, newest.tag)
        if self.record is None:
            if len(set(seen.deployed.values())) > 1:
                shown = ", ".join(f"{part}: {tag}" for part, tag in sorted(seen.deployed.items()))
                yield finding("upgrade-mixed-versions", NAME, shown, "one version", name=TITLE)
            for why in unready(self.platform.parts, seen):
                yield finding("upgrade-unhealthy", NAME, why, name=TITLE)
        # The dump of a stopped upgrade is there, and takes some of it.
        if state.free < state.size and (self.record is None or DUMP not in self.record.steps):
            yield finding(
                "upgrade-dump-space",
                host=state.node,
                found=f"{state.free // 2**20} MiB",
                wanted=f"{-(-state.size // 2**20)} MiB",
            )

    def _nodes(self) -> list[str]:
        """Return the nodes of the phase that answer; all of the registry have to."""
        nodes = self.platform.nodes()
        for name in self.cluster.asked("registry"):
            if name not in nodes:
                self.refusals.append(
                    finding("upgrade-unhealthy", where=name, found="no answer", name="The image registry")
                )
        return nodes

    def _since_former(self, ordered: list[Migration], state: DatabaseState) -> list[Migration] | None:
        """Return the migrations between the former version and this one; None where the first cannot be known."""
        if self.record is None:
            return ava_migrations.after(ordered, state.revision)
        # The first dump was taken before anything was migrated.
        dumps = self.platform.dumped(self.record.started)
        if dumps:
            return ava_migrations.after(ordered, dumps[0])
        return None if DUMP in self.record.steps else ava_migrations.after(ordered, state.revision)

    def _without_rollback(
        self, former: Release | None, since: list[Migration] | None, manifests: Mapping[str, Manifests]
    ) -> Iterator[Finding]:
        """Yield why a failed upgrade could not go back to the former version."""
        if since is None:
            yield finding("upgrade-migration", NAME, "no dump of this upgrade says which migrations it ran")
        for one in since or []:
            if not one.compatible:
                yield finding("upgrade-migration", NAME, f"{one.revision}: {one.title}")
        if former is None:
            yield finding("upgrade-former-manifests", NAME, "the former version is not known")
            return
        if not any(former.tag in (one.written, *one.kept) for one in manifests.values()):
            yield finding("upgrade-former-manifests", NAME, "no master has them", former.tag)
        try:
            pushed = self.platform.pushed(former.tag)
        except AvadmError as error:
            yield from error.findings
            return
        for node, there in pushed.items():
            if not there:
                yield finding("upgrade-former-image", where=node, found="not there", wanted=former.tag)


@dataclass(frozen=True, slots=True)
class _Work:
    """The steps of an upgrade of AVA.

    Attributes:
        plan: the plan.
        newest: the version that is to run.
        back: the one that a failed step goes back to; None where there is no way back.
        state: the database when it was planned.
        nodes: the nodes of AVA's phase that answer.
        revision: what the database is to have.
    """

    plan: _Plan
    newest: Release
    back: Release | None
    state: DatabaseState
    nodes: Sequence[str]
    revision: str

    @property
    def platform(self) -> AvaPlatform:
        """AVA of the site."""
        return self.plan.platform

    @property
    def masters(self) -> list[str]:
        """The masters that answer."""
        return [name for name in self.plan.cluster.asked("master") if name in self.nodes]

    def steps(self, left: Sequence[Migration], former: Release | None) -> Iterator[Step]:
        """Yield the steps.

        Args:
            left: the migrations that the database needs.
            former: the version that runs.
        """
        suffix = "" if self.back else ", no rollback"
        yield Step(
            DUMP,
            lambda tell: tell(f"    kept as {self.platform.dump(self.platform.database())}"),
            nodes=(self.state.node,),
            done=self._is_dumped,
        )
        if former is not None:
            yield Step(
                f"keep the manifests of AVA {former.tag}",
                lambda tell: self._keep(former, tell),
                nodes=tuple(self.masters),
                done=lambda: self._is_kept(former),
            )
            moves = "; ".join(_shown(one) for one in left)
            yield Step(
                f"push the image of AVA {self.newest.tag}"
                + (f" and migrate the database in one transaction: {moves}" if moves else "")
                + (suffix if moves else ""),
                lambda tell: self.platform.migrate(former, self.nodes, COMMAND, tell),
                nodes=tuple(self.nodes),
                done=self._is_migrated,
                gate=Gate(f"the database is at revision {self.revision}", self._look_at_database, PATIENCE_S),
                undo=self._undo if self.back else None,
            )
        yield Step(
            f"roll AVA {self.newest.tag} out, one pod of each part after another{suffix}",
            lambda tell: self.platform.roll(self.nodes, COMMAND, tell),
            nodes=tuple(self.nodes),
            done=lambda: self.platform.settled(self.nodes) and not self._look(self.newest).holds,
            gate=Gate(
                f"AVA's processes report {self.newest.version}, one operator and one scheduler act, and users get in",
                lambda: self._look(self.newest),
                PATIENCE_S,
                remedy="`kubectl logs --namespace ava-system POD` on a master says what a process waits for.",
            ),
            undo=self._undo if self.back else None,
        )

    def _is_dumped(self) -> bool:
        record = self.plan.record
        if record is None:
            return False
        # A dump of the migrated tables would hide that they were migrated.
        return DUMP in record.steps or self.state.revision in self.platform.dumped(record.started)

    def _keep(self, former: Release, tell: Tell) -> None:
        kept = self.platform.keep(former.tag)
        tell(f"    kept on {', '.join(kept) or 'no master'}")
        if self.back is not None and not kept:
            raise AvadmError(
                finding("upgrade-former-manifests", NAME, "no master has them", former.tag), EXIT_FOUND_BAD
            )

    def _is_kept(self, former: Release) -> bool:
        found = self.platform.manifests()
        return all(name in found and former.tag in found[name].kept for name in self.masters)

    def _is_migrated(self) -> bool:
        return self.platform.database().revision == self.revision and all(
            self.platform.pushed(self.newest.tag).values()
        )

    def _look_at_database(self) -> Progress:
        revision = self.platform.database().revision
        return Progress("" if revision == self.revision else f"it is at {revision}", 1.0)

    def _look(self, release: Release) -> Progress:
        wrong = _wrong(self.platform.parts, self.platform.seen(), release)
        return Progress("; ".join(wrong), len(wrong))

    def _undo(self, tell: Tell) -> None:
        """Go back to the former version, and see it run; the database keeps what was migrated."""
        if self.back is None:
            return
        back = self.back
        found = self.platform.manifests()
        masters = [n for n in self.masters if n in found and back.tag in found[n].kept]
        if not masters:
            raise AvadmError(
                finding("upgrade-former-manifests", NAME, "no master has them", back.tag), EXIT_FOUND_BAD
            )
        self.platform.restore(back, masters[0], COMMAND, tell)
        gate = Gate(f"AVA {back.tag} runs again", lambda: self._look(back), PATIENCE_S)
        pass_gate(gate, tell, self.plan.clock)
        tell(f"    AVA {back.tag} runs again")


def _shown(one: Migration) -> str:
    return f"{one.revision} ({one.title}{'' if one.compatible else '; the former version cannot use it'})"


def _wrong(parts: Sequence[str], seen: Seen, release: Release) -> list[str]:
    """Return what is not as it is to be where a version runs and is well."""
    wrong = [
        f"{part} has the image {tag}" for part, tag in sorted(seen.deployed.items()) if tag != release.tag
    ]
    wrong += unready(parts, seen)
    pods = [one for one in seen.pods if not one.ending]
    wrong += [f"{one.name} is of {one.tag}" for one in pods if one.tag != release.tag]
    if not release.version:
        return wrong
    own = [one for one in pods if one.tag == release.tag and one.ready]
    wrong += [
        f"{one.name} reports {one.version or 'no version'}"
        for one in own
        if one.part != JUMP and one.version != release.version
    ]
    return wrong + [why for part in ACTS if (why := _idle(part, own))]


def _idle(part: str, pods: Sequence[Pod]) -> str:
    """Return why no process of a part does its work; "" where one does."""
    acting = [one for one in pods if one.part == part and one.figures.get(ACTS[part]) == 1]
    if not acting:
        return f"no {part} acts"
    if not any(one.figures.get(LOOPS[part], 0) >= 1 for one in acting):
        return f"the {part} has made no pass yet"
    return ""
