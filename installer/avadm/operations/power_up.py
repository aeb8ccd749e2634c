"""Starting a site that was powered down: in the reverse order, each part asked whether it serves before the next.

It works where the nodes were only stopped and where they were switched off: what runs already is left alone, and waited for.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from avadm.catalogue import finding
from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import Cordon
from avadm.cluster.settings import Settings, blocks
from avadm.components.model import Stage
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.operations.ava_platform import AvaPlatform, unready
from avadm.operations.model import Gate, Operation, Progress, Step, Tell, nothing
from avadm.operations.power_down import DOWN, primaries
from avadm.operations.power_nodes import PowerNodes, listed, until_none
from avadm.operations.run import Build
from avadm.site.placement import kube_nodes
from avadm.state.operations import OPERATION
from avadm.state.power import POWER, PowerState, powered_down

UP = "power up"
COMMAND = shlex.join(["avadm", *UP.split()])
ACCEPTABLE = frozenset({"osds-down", "power-silent"})
START_S, CLEAN_S, AVA_S = 600.0, 900.0, 600.0
"""Seconds without progress: of a stage that starts, of placement groups, of the platform."""
Look = Callable[[], Sequence[str]]


def up(accepted: frozenset[str]) -> Build:
    """Return what plans that a site is started, with the ids of refusals that the user accepts."""
    return lambda cluster: _Up(cluster, accepted).operation()


@dataclass
class _Up:
    """Plans it."""

    cluster: Cluster
    accepted: frozenset[str]

    def operation(self) -> Operation:
        """Return the operation, with all that speaks against it."""
        site = self.cluster.site
        names = [n.name for n in site.nodes]
        silent = set(names) - health.answering(self.cluster, names)
        self.nodes = PowerNodes(self.cluster, frozenset(silent))
        self.kube = [n.name for n in kube_nodes(site) if n.name not in silent]
        return Operation(
            UP,
            COMMAND,
            self._steps(),
            # It is the way back from a power down that is half done, and the note keeps other commands away.
            components=frozenset(),
            refusals=[finding("power-silent", host=name) for name in names if name in silent],
            acceptable=ACCEPTABLE,
            notes={POWER: None},
        )

    def _steps(self) -> list[Step]:
        steps = []
        if powered_down(self.cluster.state) is not None:
            steps.append(Step("record that the site is being started", self._record))
        for stage in reversed(Stage):
            if stage is Stage.JOBS:
                steps += self._served()
            if self.nodes.of(stage):
                steps.append(self._start(stage))
            if stage is Stage.OSDS and self.nodes.of(stage):
                steps.append(self._placement_groups())
        return steps

    def _record(self, tell: Tell) -> None:
        note = powered_down(self.cluster.state)
        if note is not None:
            self.cluster.state.keep_note(POWER, replace(note, state=PowerState.STARTING).note)
            self.cluster.push()

    def _start(self, stage: Stage) -> Step:
        """Return the step that starts what of a stage is enabled and does not run; done where it serves already."""
        nodes, (title, serves) = self.nodes, self._serving(stage)

        def left() -> list[str]:
            missing = [f"{one} does not run" for one in nodes.missing(stage)]
            # Only what runs can serve; asked before, a cluster without a quorum takes its time to say so.
            return missing or list(serves())

        return Step(
            f"start {stage.value}" if stage is not Stage.CLIENTS else "mount cephfs",
            lambda tell: nodes.start(stage),
            nodes.of(stage),
            done=partial(_none, left),
            gate=Gate(title, until_none(left), START_S),
        )

    def _serving(self, stage: Stage) -> tuple[str, Look]:
        """Return what must be true of a stage once its units run, and what of that is not."""
        looks: dict[Stage, tuple[str, Look]] = {
            Stage.ETCD: ("all members of etcd are in quorum", self._etcd),
            Stage.MONITORS: ("all monitors are in quorum", self._monitors),
            Stage.OSDS: ("all OSDs are up", self._osds),
            Stage.METADATA: ("each rank has an active metadata server", self._ranks),
            Stage.CLIENTS: ("clients have cephfs mounted", self._mounts),
            Stage.DATABASE: ("PostgreSQL has a primary", self._primary),
            Stage.CONTROL: ("the API server answers", self._api),
            Stage.KUBELETS: ("all nodes are Ready", self._ready),
        }
        return looks.get(stage, ("its units run", lambda: ()))

    def _etcd(self) -> list[str]:
        quorum = health.etcd_members(self.cluster)
        return [
            f"etcd of {n} is not in quorum" for n in sorted(quorum.members - quorum.inside - self.nodes.gone)
        ]

    def _monitors(self) -> list[str]:
        quorum = health.monitors(self.cluster)
        return [
            f"the monitor of {n} is not in quorum"
            for n in sorted(quorum.members - quorum.inside - self.nodes.gone)
        ]

    def _osds(self) -> list[str]:
        if "osds-down" in self.accepted:
            return []
        hosts = health.osds(self.cluster)
        return [
            f"osd.{i} of {name} is down"
            for name, its in sorted(hosts.items())
            if name not in self.nodes.gone
            for i, up in sorted(its.items())
            if not up
        ]

    def _ranks(self) -> list[str]:
        active, needed = health.active_ranks(self.cluster)
        return [f"{active} of {needed} ranks are active"] if active < needed else []

    def _mounts(self) -> list[str]:
        filesystem = self.cluster.site.components.ceph.filesystem
        if filesystem is None:
            return []
        # A mount that hangs counts as none: both are asked within a time.
        mount = ["timeout", "10", "mountpoint", "-q", filesystem.mount]
        stat = ["timeout", "10", "stat", "--file-system", filesystem.mount]
        command = f"{shlex.join(mount)} && {shlex.join(stat)} >/dev/null"
        done = self.cluster.fleet.map(
            dict.fromkeys(self.nodes.of(Stage.CLIENTS), command), timeout=health.ASK_S
        )
        return [f"{filesystem.mount} of {name} does not answer" for name, one in done.items() if not one.ok]

    def _primary(self) -> list[str]:
        found = primaries(self.cluster, self.nodes.of(Stage.DATABASE))
        return [] if len(found) == 1 else [f"primaries: {', '.join(found) or 'none'}"]

    def _api(self) -> list[str]:
        health.ready(self.cluster)
        return []

    def _ready(self) -> list[str]:
        ready = health.ready(self.cluster)
        return [f"{name} is not Ready" for name in self.kube if not ready.get(name, False)]

    def _placement_groups(self) -> Step:
        """Return the step that waits for the placement groups, as far as they can become clean without what stays away."""
        given_up = "osds-down" in self.accepted or bool(self.nodes.gone)
        judge = health.inactive if given_up else health.unclean

        def look() -> Progress:
            groups = health.placement_groups(self.cluster)
            found = judge(groups.states)
            words = [f"{n} {state}" for state, n in sorted(found.items())]
            return Progress(listed(words), sum(found.values()) + groups.behind)

        title = "all placement groups are active" + ("" if given_up else " and clean")
        return Step("wait for the placement groups", nothing, gate=Gate(title, look, CLEAN_S))

    def _served(self) -> list[Step]:
        """Return the steps that let pods come again, wait for the platform, and undo what is left."""
        steps = []
        if self.kube:
            title = "uncordon the nodes that `avadm power down` cordoned"
            steps.append(Step(title, self._uncordon, tuple(self.kube), done=lambda: not self._cordons()))
        if self.kube and self.cluster.site.components.ava is not None:
            gate = Gate("AVA answers", until_none(self._platform), AVA_S)
            steps.append(Step("wait for AVA", nothing, gate=gate))
        steps.append(Step("unset noout and end the silence", self._undo))
        return steps

    def _cordons(self) -> list[str]:
        return [r.target for r in self.cluster.state.settings() if r.owner == POWER and r.kind == Cordon.kind]

    def _uncordon(self, tell: Tell) -> None:
        mine = [r for r in self.cluster.state.settings() if r.owner == POWER and r.kind == Cordon.kind]
        if left := Settings(self.cluster, tell).release(mine):
            raise AvadmError(left, EXIT_FOUND_BAD)

    def _platform(self) -> list[str]:
        """Return what keeps AVA from answering; with one pod of each part it does, since nodes may stay away."""
        platform = AvaPlatform(replace(self.cluster, avoided=self.cluster.avoided | self.nodes.gone))
        return unready(platform.parts, platform.seen(), one=True)

    def _undo(self, tell: Tell) -> None:
        """Undo what `power down` holds still; what blocks nothing and cannot be undone now is left to the next command."""
        settings, state = Settings(self.cluster, tell), self.cluster.state
        mine = [r for r in state.settings() if r.owner == POWER]
        if left := settings.release([r for r in mine if blocks(r)]):
            raise AvadmError(left, EXIT_FOUND_BAD)
        settings.release([r for r in mine if not blocks(r)])
        settings.hand_over(POWER, OPERATION + COMMAND)
        for one in state.begun():
            if one.verb == DOWN:
                state.drop_operation(one.command, {})


def _none(left: Look) -> bool:
    """Return whether nothing is left; what cannot be asked is not done."""
    try:
        return not left()
    except AvadmError:
        return False
