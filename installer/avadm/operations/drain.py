"""The drain of nodes of Kubernetes, as steps that operations share: cordoned, AVA's runs gone after a notice, pods evicted.

`avadm node drain` is these steps alone. What they set is recorded and undone where they fail; a cordon or a notice to the owners
of runs that was set before stays.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import Cordon, RunDrain
from avadm.cluster.setting import Setting
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.kube.drain import REFUSAL_IDS, RUNS, Allowed, evict, listed, refusals
from avadm.kube.node_runs import NodeRuns, Notice, Platform, identity, present, runs_left, utc
from avadm.operations.ava_platform import AvaPlatform, unready
from avadm.operations.model import Gate, Interruption, LeavingRun, Operation, Progress, Step, Tell, nothing
from avadm.operations.run import Build
from avadm.quantity import quantity
from avadm.state.operations import OPERATION, OperationRecord
from avadm.state.site_state import SiteState

VERB = "node drain"
COMPONENTS = frozenset({"nodes"})
ACCEPTABLE = frozenset({*REFUSAL_IDS.values(), RUNS})
"""Refusals of a drain that a user may accept."""
EVERY_S = 10.0
"""Seconds between two looks at runs."""
AVA_S = 300.0
"""Longest time until AVA answers again whose only node was drained before, seconds."""


@dataclass(frozen=True, slots=True)
class DrainOptions:
    """How nodes are drained.

    Attributes:
        notice: what the owners of AVA's runs are given.
        administrator: AVA's administrator in whose name it is asked; the only one there is where empty.
        timeout: seconds: without a run that leaves after the notices are over, and for the eviction from each node.
    """

    notice: Notice = field(default_factory=Notice)
    administrator: str = ""
    timeout: float = 600.0

    @property
    def words(self) -> list[str]:
        """The options of a command that continues it."""
        words = [] if self.notice.seconds == Notice().seconds else ["--notice", f"{self.notice.seconds}s"]
        words += ["--stop-runs"] if self.notice.stop_runs else []
        return words + (["--as", self.administrator] if self.administrator else [])


DRAIN = DrainOptions(timeout=1800.0)
"""How other operations drain nodes where the user does not choose."""


@dataclass(frozen=True, slots=True)
class DrainPart:
    """A drain as part of an operation.

    Attributes:
        steps: what is done.
        settings: what its last step holds; an operation that needs the nodes empty for longer holds it in its own steps too.
        refusals: what speaks against it; those in `ACCEPTABLE` may be accepted.
        interrupts: what users notice.
        runs: AVA's runs that leave.
    """

    steps: Sequence[Step] = ()
    settings: tuple[Setting, ...] = ()
    refusals: Sequence[Finding] = ()
    interrupts: Sequence[Interruption] = ()
    runs: Sequence[LeavingRun] = ()


def part(
    cluster: Cluster,
    names: Sequence[str],
    options: DrainOptions,
    accepted: Collection[str] = (),
    *,
    gives_up: str = "",
    done: Callable[[], bool] | None = None,
    evicts: bool = True,
) -> DrainPart:
    """Plan the drain of nodes, which Kubernetes knows and whose kubelets answer.

    All are cordoned before a pod leaves, so that none goes from one to the next, and the owners of AVA's runs on all of them are
    notified then, so that their notices are over at the same time.

    Args:
        cluster: the site.
        names: the nodes; without any it is nothing.
        options: how they are drained.
        accepted: ids of refusals that the user accepts.
        gives_up: a sentence that names what gives the operation up, for the remedies of failures.
        done: whether all of it is done, though no pod could show that any more.
        evicts: whether pods are evicted, and what speaks against that is asked; else only AVA's runs leave.

    Raises:
        AvadmError: no master can be asked.
    """
    if not names:
        return DrainPart()
    return _part(
        cluster, names, cluster.masters.ask("look", names), options, accepted, gives_up, done, evicts
    )


def each(
    cluster: Cluster,
    names: Sequence[str],
    options: DrainOptions,
    accepted: Collection[str],
    done: Callable[[str], bool],
) -> dict[str, DrainPart]:
    """Return node to the plan of its drain, where one node is drained after another; they are asked about together.

    Args:
        cluster: the site.
        names: the nodes, as of `part`.
        options: how they are drained.
        accepted: ids of refusals that the user accepts.
        done: whether the drain of a node is done, as of `part`.

    Returns:
        Where no master can be asked that is a refusal, which none can accept, of the first node.
    """
    if not names:
        return {}
    try:
        seen = cluster.masters.ask("look", names)
    except AvadmError as error:
        return dict.fromkeys(names, DrainPart()) | {names[0]: DrainPart(refusals=error.findings)}
    return {name: _part(cluster, [name], seen, options, accepted, done=partial(done, name)) for name in names}


def _part(
    cluster: Cluster,
    names: Sequence[str],
    seen: Mapping[str, Any],
    options: DrainOptions,
    accepted: Collection[str],
    gives_up: str = "",
    done: Callable[[], bool] | None = None,
    evicts: bool = True,
) -> DrainPart:
    """Plan a drain from what the masters reported of the nodes (`seen`)."""
    of_runs = {name: dict(seen[name].get("runs", {})) for name in names}
    against: list[Finding] = []
    platform, known = _platform(cluster, options, of_runs, against)
    silent = platform is None and cluster.platform(options.administrator) is not None
    leaving: list[LeavingRun] = []
    others: set[str] = set()
    moving = 0
    for name in names:
        runs = present(known[name].runs, of_runs[name]) if name in known else []
        held = {run.identity for run in runs}
        # A label alone proves nothing: the namespace must be the run's too. A silent AVA is refused as a whole.
        exempt = {pod for pod, run in of_runs[name].items() if silent or identity(pod, run) in held}
        others |= of_runs[name].keys() - exempt
        leaving += [LeavingRun(name, run, run.planned(options.notice, utc())) for run in runs]
        if not evicts:
            continue
        against += refusals(name, seen[name], exempt)
        moving += len([pod for pod in seen[name]["going"] if pod not in exempt])
    interrupts = []
    if moving:
        what = f"{quantity(moving, 'pod')} of {listed(names)}, stopped and started elsewhere"
        interrupts.append(Interruption(what, None))
    plan = _Plan(cluster, tuple(names), options, platform, frozenset(others), gives_up, done)
    allowed = Allowed.accepting(accepted, options.timeout, runs=silent)
    return DrainPart(plan.steps(allowed if evicts else None), plan.settings, against, interrupts, leaving)


def _platform(
    cluster: Cluster,
    options: DrainOptions,
    of_runs: Mapping[str, Mapping[str, str]],
    against: list[Finding],
) -> tuple[Platform | None, dict[str, NodeRuns]]:
    """Return AVA with what it knows of nodes; None where the site has none or it is silent, a refusal where it has runs there."""
    platform = cluster.platform(options.administrator)
    if platform is None:
        return None, {}
    try:
        return platform, {name: platform.node(name) for name in of_runs}
    except AvadmError as error:
        why = "; ".join(f"{f.what} {f.found}".strip() for f in error.findings)
        for name, pods in of_runs.items():
            if pods:
                against.append(finding(RUNS, found=f"{listed(pods)}: {why}", host=name))
        return None, {}


@dataclass(frozen=True)
class _Plan:
    """The steps of a drain.

    Attributes:
        platform: AVA; None where it has nothing to do.
        others: pods that say they are of runs which AVA does not know: they are evicted.
    """

    cluster: Cluster
    names: tuple[str, ...]
    options: DrainOptions
    platform: Platform | None
    others: frozenset[str]
    gives_up: str
    done: Callable[[], bool] | None

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What is set while pods leave."""
        administrator, notice = self.options.administrator, self.options.notice
        drains = [RunDrain.of(name, administrator, notice) for name in self.names]
        return (*self._cordons, *(drains if self.platform is not None else ()))

    @property
    def _cordons(self) -> tuple[Setting, ...]:
        return tuple(Cordon(name) for name in self.names)

    def steps(self, allowed: Allowed | None) -> list[Step]:
        """Return them; without the eviction where nothing is allowed of it."""
        nodes = listed(self.names)
        # The drain of a node before may have ended AVA, which starts again there.
        gate = None
        if self.platform is not None and allowed is not None and allowed.nowhere:
            gate = Gate("AVA answers", self._answers, AVA_S)
        found = [Step(f"cordon {nodes}", nothing, self.names, self.done, self._cordons, gate=gate)]
        if self.platform is not None:
            title = f"notify the owners of AVA's runs on {nodes}, and wait until the runs have left"
            found.append(
                Step(title, nothing, self.names, self.done, self.settings, gate=self._gate(self.platform))
            )

        if allowed is None:
            return found

        def act(tell: Tell) -> None:
            self._evict(allowed, tell)

        found.append(Step(f"evict the pods of {nodes}", act, self.names, self._empty, self.settings))
        return found

    def _answers(self) -> Progress:
        # Its API alone is asked about runs.
        wrong = unready(["api"], AvaPlatform(self.cluster).seen(), one=True)
        return Progress("; ".join(wrong), len(wrong))

    def _gate(self, platform: Platform) -> Gate:
        masters, names, others = self.cluster.masters, self.names, self.others

        def look() -> Progress:
            left = runs_left(masters, platform, names, others)
            return Progress("; ".join(left.words), left.pods, left.expected_s)

        remedy = "--stop-runs ends trainings when the notice is over; their owners agree with `ava consent`."
        return Gate(
            f"no run of AVA is on {listed(names)}",
            look,
            self.options.timeout,
            EVERY_S,
            f"{remedy} {self.gives_up}".strip(),
        )

    def _empty(self) -> bool:
        """Return whether no pod is left that would be evicted."""
        if self.done is not None and self.done():
            return True
        seen: dict[str, Any] = self.cluster.masters.ask("look", self.names)
        return not any(one["going"] for one in seen.values())

    def _evict(self, allowed: Allowed, tell: Tell) -> None:
        for name in self.names:
            try:
                one = evict(self.cluster.masters, name, allowed, tell)
            except AvadmError as error:
                found = [replace(f, remedy=self._remedy(f)) for f in error.findings]
                raise AvadmError(found, EXIT_FOUND_BAD) from error
            tell(f"    {name}: {quantity(len(one.evicted), 'pod')} evicted in {one.seconds:.0f} s")

    def _remedy(self, found: Finding) -> str:
        accepts = f"`--accept {found.check}` accepts it." if found.check in ACCEPTABLE else ""
        return " ".join(filter(None, [found.remedy, accepts, self.gives_up]))


def continued(state: SiteState, command: str, options: DrainOptions) -> str:
    """Return the whole command of an operation that drains: one that was begun may be continued with other options of the drain.

    Args:
        state: what is recorded of the site.
        command: the command without these options, which are its last words.
        options: the options.
    """
    for one in state.begun():
        rest = one.command[len(command) :]
        if one.command.startswith(command) and rest[:1] in ("", " ") and _only_options(shlex.split(rest)):
            return one.command
    return " ".join([command, *map(shlex.quote, options.words)])


def _only_options(words: Sequence[str]) -> bool:
    left = iter(words)
    for word in left:
        if word in ("--notice", "--as"):
            next(left, None)
        elif word != "--stop-runs":
            return False
    return True


def drain(names: Collection[str], options: DrainOptions, accepted: Collection[str] = ()) -> Build:
    """Return what plans `avadm node drain`.

    Args:
        names: the nodes, which are nodes of Kubernetes by the site file.
        options: how they are drained.
        accepted: ids of refusals that the user accepts.
    """

    def build(cluster: Cluster) -> Operation:
        ordered = [n.name for n in cluster.site.nodes if n.name in names]
        command = continued(cluster.state, shlex.join(["avadm", *VERB.split(), *ordered]), options)
        up = f"`{shlex.join(['avadm', 'node', 'uncordon', *ordered])}` gives up."
        try:
            planned = part(cluster, ordered, options, accepted, gives_up=up)
        except AvadmError as error:
            return Operation(VERB, command, (), COMPONENTS, refusals=error.findings, acceptable=ACCEPTABLE)

        def keep(tell: Tell) -> None:
            # From now on they are an administrator's: `node uncordon` undoes them, the end of no command does.
            for record in cluster.state.settings():
                if record.owner == OPERATION + command:
                    cluster.state.drop_setting(record)

        last = Step(f"leave {listed(ordered)} cordoned", keep, settings=planned.settings)
        return Operation(
            VERB,
            command,
            [*planned.steps, last],
            COMPONENTS,
            planned.interrupts,
            runs=planned.runs,
            refusals=planned.refusals,
            acceptable=ACCEPTABLE,
        )

    return build


def half_drained(state: SiteState, names: Collection[str]) -> list[OperationRecord]:
    """Return the half-done drains all of whose nodes are among these."""
    return [one for one in state.begun() if one.verb == VERB and _nodes(one.command) <= set(names)]


def _nodes(command: str) -> set[str]:
    """Return the nodes of a command of `node drain`."""
    return set(takewhile(lambda word: not word.startswith("-"), shlex.split(command)[3:]))


def give_up(names: Collection[str]) -> Build:
    """Return what plans to give up half-done drains of these nodes: what they had set is undone before each command."""

    def build(cluster: Cluster) -> Operation:
        half = half_drained(cluster.state, names)

        def act(tell: Tell) -> None:
            for one in half:
                cluster.state.drop_operation(one.command, {})

        step = Step(f"give up {', '.join(f'`{one.command}`' for one in half) or 'nothing'}", act)
        return Operation("node uncordon", shlex.join(["avadm", "node", "uncordon", *sorted(names)]), (step,))

    return build
