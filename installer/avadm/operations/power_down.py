"""Powering a site down: runs first, then AVA and all pods, clients of ceph, its daemons, the monitors, etcd; and the machines.

Until the step that records it, what fails is undone as by any operation. From that step on the site stays on its way down,
`noout`, cordons and the silence with it: `avadm power down` continues, `avadm power up` goes back.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from avadm.catalogue import finding
from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import SiteNoout, SiteSilence
from avadm.cluster.settings import Settings
from avadm.components.ava.component import NAMESPACE
from avadm.components.catalog import COMPONENTS
from avadm.components.model import Stage
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.kube.drain import REFUSAL_IDS
from avadm.kube.node_runs import Notice, utc
from avadm.operations import drain
from avadm.operations.drain import DrainOptions, DrainPart
from avadm.operations.maintenance import LONGEST_S, maintenances
from avadm.operations.model import Gate, Interruption, Operation, Step, Tell, attempt, nothing
from avadm.operations.power_nodes import PowerNodes, listed, until_none
from avadm.operations.run import Build, current_user
from avadm.quantity import quantity
from avadm.site.placement import alertmanagers, kube_nodes
from avadm.state.operations import OPERATION
from avadm.state.power import POWER, PowerNote, PowerState, powered_down
from avadm_node.probes.kube import ending

DOWN = "power down"
ACCEPTABLE = frozenset({"groups-unclean", "power-silent"}) | drain.ACCEPTABLE
STOP_S, PODS_S, OFF_S = 300.0, 600.0, 300.0
"""Seconds without progress: of units that stop, of pods that end, of nodes that are switched off."""
SOON_S, LATER_S = 5, 60
"""Seconds until a node is switched off: long enough for its reply, and for the end of this command."""
SHOWN_RUNS = 20


@dataclass(frozen=True, slots=True)
class Down:
    """What a user asks of `power down`.

    Attributes:
        notice: seconds that the owners of AVA's runs have.
        text: the same as the user wrote it.
        stop_runs: whether runs are stopped when the notice is over.
        poweroff: whether the nodes are switched off in the end.
        accepted: ids of refusals that the user accepts.
        timeout: seconds without a run that leaves once their notice is over.
        whom: AVA's administrator in whose name; None: the only one there is.
    """

    notice: int = 1800
    text: str = "30m"
    stop_runs: bool = False
    poweroff: bool = False
    accepted: frozenset[str] = frozenset()
    timeout: float = 600.0
    whom: str | None = None

    @property
    def drain(self) -> DrainOptions:
        """How AVA's runs leave."""
        return DrainOptions(Notice(self.notice, self.stop_runs), self.whom or "", self.timeout)

    @property
    def command(self) -> str:
        """The command that continues it."""
        flags = [*(["--stop-runs"] if self.stop_runs else []), *(["--poweroff"] if self.poweroff else [])]
        name = ["--as", self.whom] if self.whom is not None else []
        return shlex.join(["avadm", *DOWN.split(), "--notice", self.text, *flags, *name])


def down(asked: Down) -> Build:
    """Return what plans that a site is powered down, as a user asks for it."""
    return lambda cluster: _Down(cluster, asked).operation()


@dataclass
class _Down:
    """Plans it."""

    cluster: Cluster
    asked: Down

    def __post_init__(self) -> None:
        self.drained = DrainPart()
        self.note = powered_down(self.cluster.state)
        self.owner = OPERATION + self.asked.command

    def operation(self) -> Operation:
        """Return the operation, with all that speaks against it."""
        refusals = self._refusals()
        silent, gone = self._silent(), set(self.note.without if self.note else ())
        off = self.note is not None and self.note.state is PowerState.DOWN
        if off or self._accepts("power-silent"):
            # Of a site that is down nodes may have been switched off.
            gone |= silent
        refusals += [finding("power-silent", host=name) for name in sorted(silent - (gone if off else set()))]
        self.nodes = PowerNodes(self.cluster, frozenset(gone & silent))
        self.kube = [n.name for n in kube_nodes(self.cluster.site) if n.name not in self.nodes.gone]
        if self.note is None:
            refusals += self._cluster_refusals()
        return Operation(
            DOWN,
            self.asked.command,
            self._steps(),
            components=frozenset(one.name for one in COMPONENTS),
            interrupts=[Interruption("the whole site: it serves nothing until `avadm power up`", None)],
            refusals=refusals,
            acceptable=ACCEPTABLE,
            keeps=POWER,
            runs=self.drained.runs,
        )

    def _accepts(self, check: str) -> bool:
        return check in self.asked.accepted

    def _keep_note(self, state: PowerState, *, off: bool = False) -> None:
        """Record how far the site is; who began it and when stay as they were."""
        now = powered_down(self.cluster.state) or PowerNote(
            state, current_user(), time.time(), self.asked.command
        )
        gone = tuple(sorted({*now.without, *self.nodes.gone}))
        self.cluster.state.keep_note(POWER, replace(now, state=state, without=gone, off=off or now.off).note)
        self.cluster.push()

    def _silent(self) -> set[str]:
        names = [n.name for n in self.cluster.site.nodes]
        return set(names) - health.answering(self.cluster, names)

    # Refusals

    def _refusals(self) -> list[Finding]:
        """Return what the site's records say against it."""
        note = self.note
        ours = any(one.command == self.asked.command for one in self.cluster.state.begun())
        found = []
        if note is not None and note.state is PowerState.STARTING:
            found.append(finding("power-starting", found=note.words))
        elif (
            note is not None
            and note.state is PowerState.DOWN
            and not ours
            and not (self.asked.poweroff and not note.off)
        ):
            found.append(finding("power-already", found=note.words))
        found += [
            finding("power-maintenance", where=one.name, found=f"{one.user}: {one.reason}", name=one.name)
            for one in maintenances(self.cluster.state)
        ]
        return found

    def _cluster_refusals(self) -> list[Finding]:
        """Return what the running site says against it."""
        found: list[Finding] = []
        site = self.cluster.site
        if site.with_role("osd"):
            states = attempt(found, lambda: health.placement_groups(self.cluster).states)
            if bad := health.unclean(states or {}):
                words = ", ".join(f"{n} {state}" for state, n in sorted(bad.items()))
                found.append(finding("groups-unclean", found=words, wanted="all active and clean"))
        if site.with_role("etcd"):
            quorum = attempt(found, lambda: health.etcd_members(self.cluster))
            if quorum is not None and not quorum.survives(()):
                inside = ", ".join(sorted(quorum.inside)) or "none"
                found.append(finding("etcd-quorum", found=f"in it: {inside}", wanted="a quorum, to end pods"))
        if self.kube:
            found += self._pods()
        return found

    def _pods(self) -> list[Finding]:
        """Return the runs that nothing may stop, and the pods that would be lost."""
        found: list[Finding] = []
        looks = attempt(found, lambda: self._ask_pods("look", "", ()))
        if looks is None:
            return found
        planned = attempt(found, self._drain)
        if planned is None:
            return found
        self.drained = planned
        found += planned.refusals
        runs = list({one.run.id: one.run for one in planned.runs}.values())
        if runs and not self.asked.stop_runs:
            words = [run.words(utc()) for run in runs]
            more = [f"and {len(words) - SHOWN_RUNS} more"] if len(words) > SHOWN_RUNS else []
            found.append(
                finding("power-runs", found="; ".join([*words[:SHOWN_RUNS], *more]), wanted="no run")
            )
        # Those of runs leave by the platform. A label alone proves nothing: the namespace must be the run's too.
        leaving = {run.identity for run in runs}
        for why, pods in looks["refused"].items():
            lost = [p for p in pods if (p.partition("/")[0], looks["runs"].get(p, "")) not in leaving]
            if lost:
                found.append(finding(REFUSAL_IDS[why], found=listed(lost)))
        return found

    def _drain(self) -> DrainPart:
        """Plan that AVA's runs leave; all other pods are ended by steps of their own, once nothing is undone any more."""
        asked = self.asked
        return drain.part(self.cluster, self.kube, asked.drain, asked.accepted, done=self._past, evicts=False)

    # Steps

    def _steps(self) -> list[Step]:
        nodes, steps = self.nodes, self._before()
        for stage in Stage:
            if not nodes.of(stage):
                continue
            if stage is Stage.KUBELETS and self.kube:
                steps += self._end_pods()
            elif stage is Stage.DATABASE and len(nodes.of(stage)) > 1:
                steps.append(self._stop_standbys())
            elif stage is Stage.OSDS:
                steps.append(Step("set noout until `avadm power up`", self._set_noout, done=self._noout_held))
            steps.append(self._stop(stage))
            if stage is Stage.KUBELETS:
                steps.append(self._stop_containers())
        steps.append(
            Step(
                "record that the site is down",
                lambda tell: self._keep_note(PowerState.DOWN),
                done=self._is_down,
            )
        )
        return [*steps, *(self._switch_off() if self.asked.poweroff else [])]

    def _before(self) -> list[Step]:
        """Return the steps that are undone where they fail, and the one after which nothing is."""
        steps = []
        if alertmanagers(self.cluster.site):
            end = f"{datetime.fromtimestamp(time.time() + LONGEST_S, UTC):%Y-%m-%dT%H:%M:%SZ}"
            silence = SiteSilence(POWER, (), end, f"power down by {current_user()}")
            title = "silence notices of alerts until `avadm power up`"
            steps.append(Step(title, nothing, settings=(silence,), done=self._past))
        steps += self.drained.steps
        title = "record that the site is on its way down: what follows is not undone by a failure"
        return [*steps, Step(title, self._record, done=self._past)]

    def _past(self) -> bool:
        """Return whether the site is recorded as powered down: what comes before is done, and cannot be asked any more."""
        return self.note is not None

    def _is_down(self) -> bool:
        note = powered_down(self.cluster.state)
        return note is not None and note.state is PowerState.DOWN

    def _record(self, tell: Tell) -> None:
        """Let cordons, notices and the silence belong to the site that is down, and record that it is on its way.

        In this order: a kill in between leaves settings that `avadm power up` undoes, never a site that goes down uncordoned.
        """
        Settings(self.cluster, tell).hand_over(self.owner, POWER)
        self._keep_note(PowerState.STOPPING)

    def _end_pods(self) -> list[Step]:
        """Return the steps that end AVA's pods, and then all others; both are done once no kubelet runs."""
        steps = []
        ava = self.cluster.site.components.ava is not None
        for title, namespace, but in (
            ("end the pods of AVA", NAMESPACE, ()),
            ("end all other pods", "", (NAMESPACE,)),
        ):
            if namespace and not ava:
                continue
            look = partial(self._left_pods, namespace, but if ava else ())
            gate = Gate("they have ended", until_none(look), PODS_S)
            act = partial(self._end, namespace, but if ava else ())
            steps.append(Step(title, act, tuple(self.kube), done=self._no_kubelet, gate=gate))
        return steps

    def _no_kubelet(self) -> bool:
        return not self.nodes.running(Stage.KUBELETS)

    def _ask_pods(self, do: str, namespace: str, but: Sequence[str]) -> dict[str, Any]:
        # What would be lost was refused or accepted before anything was changed; AVA's runs are gone by now.
        force, delete = (self._accepts(REFUSAL_IDS[why]) for why in ("without-controller", "local-data"))
        asked = {"do": do, "names": self.kube, "namespace": namespace, "except": list(but)}
        return self.cluster.masters.call(
            ending.answer, {**asked, "force": force, "delete_local_data": delete}, wait=len(self.kube)
        )

    def _end(self, namespace: str, but: Sequence[str], tell: Tell) -> None:
        answer = self._ask_pods("end", namespace, but)
        findings = [finding(REFUSAL_IDS[why], found=listed(pods)) for why, pods in answer["refused"].items()]
        if findings:
            raise AvadmError(findings, EXIT_FOUND_BAD)

    def _left_pods(self, namespace: str, but: Sequence[str]) -> list[str]:
        """Return the pods that have not ended, in words; those that came meanwhile are asked to end too."""
        answer = self._ask_pods("end", namespace, but)
        left = [
            f"{one['pod']} on {one['node']}" + (f" ({one['why']})" if one["why"] else "")
            for one in answer["left"]
        ]
        return [*left, *(pod for pods in answer["refused"].values() for pod in pods)]

    def _set_noout(self, tell: Tell) -> None:
        Settings(self.cluster, tell).hold([SiteNoout("all")], POWER)

    def _noout_held(self) -> bool:
        """Return whether the flag is set; where no OSD runs any more it was, and monitors may be gone that could be asked."""
        if self.cluster.state.setting(SiteNoout.kind, "all", POWER) is None:
            return False
        return not self.nodes.running(Stage.OSDS) or SiteNoout("all").held(self.cluster)

    def _stop(self, stage: Stage) -> Step:
        """Return the step that stops a stage's units."""
        nodes = self.nodes
        if stage is Stage.CLIENTS:
            # Released again with each look: what a process held is let go of when that ends.
            gate = Gate(
                "nothing of ceph is mounted or mapped",
                until_none(lambda: nodes.release(nodes.fsid())),
                STOP_S,
            )
            return Step(f"release {stage.value}", nothing, nodes.of(stage), done=self._released, gate=gate)
        # Of OSDs the nodes are asked alone: monitors never mark the last of them down (mon_osd_min_up_ratio).
        look = self._metadata_up if stage is Stage.METADATA else partial(nodes.running, stage)
        return Step(
            f"stop {stage.value}",
            lambda tell: nodes.stop(stage),
            nodes.of(stage),
            done=lambda: not nodes.running(stage),
            gate=Gate("none is left", until_none(look), STOP_S),
        )

    def _released(self) -> bool:
        running = self.nodes.running(Stage.CLIENTS)
        return not running and not self.nodes.mounted(self.nodes.fsid())

    def _stop_containers(self) -> Step:
        """Return the step that stops what kubelets left: pods of daemon sets. docker would let them live on without it."""
        nodes = self.nodes
        return Step(
            "stop the containers that kubelets left",
            lambda tell: nodes.stop_containers(),
            nodes.of(Stage.KUBELETS),
            done=lambda: not nodes.left_containers(),
            gate=Gate("none is left", until_none(nodes.left_containers), STOP_S),
        )

    def _stop_standbys(self) -> Step:
        """Return the step that leaves PostgreSQL's primary alone: no standby takes over while it shuts down."""
        nodes = self.nodes

        def standbys() -> list[str]:
            names = nodes.of(Stage.DATABASE)
            first = set(primaries(self.cluster, names))
            return [name for name in names if name not in first]

        def left() -> list[str]:
            # One that no Patroni calls the primary is left to the next step: nothing can take over from it.
            return nodes.running(Stage.DATABASE)[1:]

        return Step(
            "stop the standbys of PostgreSQL",
            lambda tell: nodes.stop(Stage.DATABASE, standbys()),
            nodes.of(Stage.DATABASE),
            done=lambda: not left(),
            gate=Gate("its primary is alone", until_none(left), STOP_S),
        )

    def _metadata_up(self) -> list[str]:
        left = self.nodes.running(Stage.METADATA)
        up = health.metadata_servers(self.cluster)[0] if not left else set()
        return left or [f"the monitors count mds.{name} as up" for name in sorted(up - set(self.nodes.gone))]

    def _switch_off(self) -> list[Step]:
        """Return the steps that switch nodes off: those with lock and state last, that of avadm never."""
        own = set(self.nodes.host())
        names = [n.name for n in self.cluster.site.nodes if n.name not in {*self.nodes.gone, *own}]
        last = tuple(name for name in names if name in self.nodes.keepers)
        first = tuple(name for name in names if name not in last)
        left = f"; {listed(sorted(own))} stays on: avadm runs there" if own else ""
        steps = []
        if first:
            steps.append(
                Step(
                    f"switch {quantity(len(first), 'node')} off{left}",
                    partial(self._off, first, SOON_S),
                    first,
                    done=lambda: not self.nodes.on(first),
                    gate=Gate("they do not answer any more", until_none(lambda: self.nodes.on(first)), OFF_S),
                )
            )
        if last:
            title = (
                f"have {listed(last)} switched off in {LATER_S} s, which keep the lock and the state{left}"
            )
            steps.append(Step(title, partial(self._off, last, LATER_S), last))
        return steps

    def _off(self, names: Sequence[str], seconds: int, tell: Tell) -> None:
        """Switch off those that answer still, node by node."""
        self._keep_note(PowerState.DOWN, off=True)
        for name in self.nodes.on(names):
            self.nodes.switch_off([name], seconds)


def primaries(cluster: Cluster, names: Sequence[str]) -> list[str]:
    """Return the nodes of these whose Patroni reports that its PostgreSQL is the primary."""
    addresses = {n.name: str(n.address) for n in cluster.site.nodes if n.name in names}
    commands = {n: shlex.join(["/usr/local/sbin/avadm-database-health", a]) for n, a in addresses.items()}
    done = cluster.fleet.map(commands, timeout=health.ASK_S) if commands else {}
    return [name for name in addresses if done[name].ok]
