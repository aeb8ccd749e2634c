"""Kubernetes' upgrade: masters one after another, then the nodes in batches, each drained before its kubelet is replaced.

API servers come first, since no kubelet may be newer than one that it asks. Upstream supports one minor release at a time, and no
way back for API servers that have written; a node's kubelet and kube-proxy get their former program back where the new one fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from avadm.artifacts.manifest import begins
from avadm.catalogue import finding
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.kube.drain import listed
from avadm.operations.balancer_nodes import BalancerNodes
from avadm.operations.drain import ACCEPTABLE as DRAIN_IDS
from avadm.operations.drain import DrainPart
from avadm.operations.model import Gate, Interruption, Progress, Step, Tell
from avadm.operations.upgrade_kubernetes_nodes import (
    CONTROL,
    NODES,
    VIRTUAL,
    Kubelet,
    KubernetesNodes,
)
from avadm.operations.upgrade_model import Asked, Part, snapshot_step
from avadm.quantity import quantity

API_SERVER = "kube-apiserver"
NAME = "kubernetes"
BEHIND = 2
"""Minor releases by which a kubelet may be older than its API server."""
MASTER_S, NODE_S = 300.0, 300.0
"""Seconds without progress of a master and of a node after the change."""
AWAY = "upgrade-node-away"
ACCEPTABLE = frozenset({AWAY, "upgrade-budget", *DRAIN_IDS})


def plan(asked: Asked, make: Callable[..., KubernetesNodes] = KubernetesNodes) -> Part:
    """Plan Kubernetes' part of an upgrade.

    Args:
        asked: what is to be upgraded.
        make: Kubernetes of the site, for tests.

    Raises:
        AvadmError: no master can be asked.
    """
    return _Plan(asked, make(asked.cluster)).part()


def minor(version: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version; None where it has none."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None


@dataclass(frozen=True, slots=True)
class _Batch:
    """Nodes that are upgraded together.

    Attributes:
        number: counted from 1.
        names: the nodes.
        drain: their drain.
    """

    number: int
    names: tuple[str, ...]
    drain: DrainPart


@dataclass(slots=True)
class _Plan:
    """An upgrade of Kubernetes that is being planned.

    Attributes:
        asked: what is to be upgraded.
        kube: Kubernetes of the site.
    """

    asked: Asked
    kube: KubernetesNodes

    @property
    def wanted(self) -> str:
        """The version that Kubernetes is to have."""
        return self.asked.after.profile.versions[API_SERVER]

    def part(self) -> Part:
        """Return the part, from what the masters report."""
        masters = self.kube.masters
        if not masters:
            return Part(refusals=[finding("upgrade-no-node", where="COMPONENT", found=NAME, name=NAME)])
        api, kubelets = self.kube.api(), self.kube.kubelets()
        away = [n for n in self.kube.members if n not in kubelets or not kubelets[n].ready]
        taken = [n for n in self.kube.members if n not in away or self._stopped(n)]
        left = [n for n in taken if not self._is_new(kubelets[n].version if n in kubelets else "")]
        batches = [
            self._batch(number, names, kubelets) for number, names in enumerate(self.kube.batches(taken), 1)
        ]
        interrupts = [one for batch in batches for one in batch.drain.interrupts]
        if len(masters) == 1 and not self._is_new(api[masters[0]]):
            interrupts.insert(0, Interruption("the API, with its only server", 60.0))
        return Part(
            [*self._before(), *(step for batch in batches for step in self._steps(batch))],
            frozenset({NODES}),
            interrupts,
            [f"{n}: hyperkube {kubelets[n].version} → {self.wanted}" for n in left if n in kubelets],
            [
                *self._refusals(api, kubelets, away),
                *(one for batch in batches for one in batch.drain.refusals),
                *self._budgets([n for n in left if n in kubelets]),
            ],
            ACCEPTABLE,
            [one for batch in batches for one in batch.drain.runs],
        )

    def _batch(self, number: int, names: Sequence[str], kubelets: Mapping[str, Kubelet]) -> _Batch:
        """Return a batch with its drain, of the nodes that are not upgraded yet and can end pods."""
        old = [n for n in names if n in kubelets and not self._is_new(kubelets[n].version)]
        # Where it was stopped the new kubelet may run, and take pods.
        old += [n for n in names if n in kubelets and n not in old and self._stopped(n)]
        able = [n for n in names if n in old and kubelets[n].ready]
        if not able:
            return _Batch(number, tuple(names), DrainPart())
        drain = self.kube.drained(able, self.asked.drain, self.asked.accepted, self._nodes_done(names))
        return _Batch(number, tuple(names), drain)

    def _stopped(self, name: str) -> bool:
        """Return whether the same command was stopped at work on a node: it may not be Ready, and is done first."""
        return self.asked.resumed and not self.kube.settled(NODES, name)

    def _is_new(self, version: str) -> bool:
        return begins(version, self.wanted)

    def _refusals(
        self,
        api: Mapping[str, str],
        kubelets: Mapping[str, Kubelet],
        away: Sequence[str],
    ) -> Iterator[Finding]:
        """Yield what forbids the upgrade.

        Args:
            api: master to the version behind its address; "" where it does not answer.
            kubelets: node to what Kubernetes reports of it.
            away: nodes that are not Ready, or unknown to Kubernetes.
        """
        # Those of the former version too, by which a failed node is taken back.
        for file in (self.asked.after, self.asked.before):
            yield from self.kube.missing(file)
        for name, version in api.items():
            if not version and not self._at_work(name):
                yield finding(
                    "upgrade-unhealthy", where=name, found="its API server does not answer", name=NAME
                )
        running = {n: v for n, v in api.items() if v and n != VIRTUAL}
        yield from self._jump(running)
        yield from self._skew(running, kubelets)
        for name in away:
            if not self._stopped(name):
                found = "not Ready" if name in kubelets else "unknown to Kubernetes"
                yield finding(AWAY, where=name, found=found, wanted="Ready", name=name)
        try:
            for node, why in self.kube.etcd.troubles().items():
                yield finding("upgrade-unhealthy", where=node, found=why, name="etcd")
        except AvadmError as error:
            yield from error.findings

    def _at_work(self, name: str) -> bool:
        """Return whether the same command was stopped at work on a master."""
        resumed = self.asked.resumed
        if name == VIRTUAL:
            return resumed and any(not self.kube.settled(CONTROL, one) for one in self.kube.masters)
        return resumed and not self.kube.settled(CONTROL, name)

    def _jump(self, running: Mapping[str, str]) -> Iterator[Finding]:
        """Yield what is wrong with the step from the versions that run to the wanted one."""
        new, shown = minor(self.wanted), _shown(running)
        old = {v for v in running.values() if not self._is_new(v)}
        numbers = [found for v in old if (found := minor(v)) is not None]
        if new is not None and any(found > new for found in numbers):
            yield finding("upgrade-downgrade", NAME, shown, self.wanted, name=NAME)
        elif new is not None and any(found[0] != new[0] or new[1] - found[1] > 1 for found in numbers):
            yield finding("upgrade-skips-release", NAME, shown, self.wanted, name=NAME)
        elif any(_patch(v) > _patch(self.wanted) for v in old if minor(v) == new):
            yield finding("upgrade-downgrade", NAME, shown, self.wanted, name=NAME)
        if len(set(running.values())) > 1 and not self.asked.resumed:
            yield finding("upgrade-mixed-versions", NAME, shown, "one version", name=NAME)

    def _skew(self, running: Mapping[str, str], kubelets: Mapping[str, Kubelet]) -> Iterator[Finding]:
        """Yield the kubelets that upstream does not support with the API servers that run, or with the new ones."""
        new = minor(self.wanted)
        servers = [found for v in running.values() if (found := minor(v)) is not None]
        for name, one in kubelets.items():
            own = minor(one.version)
            if own is None or new is None:
                yield finding("upgrade-version-unknown", host=name, name="kubelet")
            elif servers and own > min(servers):
                yield finding("upgrade-skew", name, one.version, f"at most {_text(min(servers))}", name=NAME)
            elif own[0] != new[0] or new[1] - own[1] > BEHIND:
                least = (new[0], max(new[1] - BEHIND, 0))
                yield finding("upgrade-skew", name, one.version, f"{_text(least)} or newer", name=NAME)

    def _budgets(self, names: Sequence[str]) -> Iterator[Finding]:
        """Yield the pods that a budget keeps on nodes that are to be drained."""
        try:
            kept = self.kube.kept(names)
        except AvadmError as error:
            yield from error.findings
            return
        for node, pods in kept.items():
            yield finding("upgrade-budget", host=node, found=listed(pods))

    def _before(self) -> Iterator[Step]:
        """Yield the steps before the nodes: the snapshot, and the masters one after another."""
        yield snapshot_step(self.asked.cluster, self.kube.etcd, self.asked.command, self.kube.etcd.names[0])
        for name in self.kube.masters:
            yield Step(
                f"upgrade the API server, controller-manager and scheduler on {name} to {self.wanted}, no rollback",
                self._master(name),
                nodes=(name,),
                done=self._master_done(name),
                settings=BalancerNodes(self.asked.cluster).api_server(name),
                gate=Gate(
                    f"{self.wanted} runs behind the address of {name} and all API servers answer",
                    self._look_at_master(name),
                    MASTER_S,
                ),
            )

    def _steps(self, batch: _Batch) -> Iterator[Step]:
        """Yield the steps of a batch; what its drain has set is held to their end, however that is."""
        yield from batch.drain.steps
        names = batch.names
        yield Step(
            f"upgrade kubelet and kube-proxy of batch {batch.number}, {listed(names)}, to {self.wanted}",
            self._nodes(names),
            nodes=names,
            done=self._nodes_done(names),
            settings=batch.drain.settings,
            gate=Gate(
                f"{listed(names)}: Ready, with kubelet and kube-proxy {self.wanted}",
                self._look_at_nodes(names),
                NODE_S,
            ),
            undo=self._undo(names),
        )

    def _master_done(self, name: str) -> Callable[[], bool]:
        def done() -> bool:
            return self.kube.settled(CONTROL, name) and not self._wrong_on_master(name, self.kube.api())

        return done

    def _wrong_on_master(self, name: str, api: Mapping[str, str]) -> list[str]:
        """Return which of a master's own servers are not of the wanted version."""
        wrong = (
            [] if self._is_new(api[name]) else [f"behind the address of {name} is {api[name] or 'no reply'}"]
        )
        return wrong + [
            f"{program} on {name} is {version or 'not reported'}"
            for program, version in self.kube.controllers(name).items()
            if not self._is_new(version)
        ]

    def _master(self, name: str) -> Callable[[Tell], None]:
        def act(tell: Tell) -> None:
            # The others have to do its work meanwhile; of a step that was skipped no gate was asked.
            silent = [n for n, version in self.kube.api().items() if not version and n not in (name, VIRTUAL)]
            bad = dict.fromkeys(silent, "its API server does not answer") | self.kube.etcd.troubles()
            if bad:
                raise AvadmError(
                    [finding("upgrade-unhealthy", n, why, name=NAME) for n, why in bad.items()],
                    EXIT_FOUND_BAD,
                )
            self.kube.bring(self.asked.after, CONTROL, [name], self.asked.command, tell)

        return act

    def _look_at_master(self, name: str) -> Callable[[], Progress]:
        def look() -> Progress:
            api = self.kube.api()
            wrong = self._wrong_on_master(name, api)
            wrong += [f"{other} does not answer" for other, version in api.items() if not version]
            return Progress("; ".join(wrong), len(wrong))

        return look

    def _nodes_done(self, batch: Sequence[str]) -> Callable[[], bool]:
        def done() -> bool:
            return all(self.kube.settled(NODES, n) for n in batch) and not self._wrong_on_nodes(batch)

        return done

    def _wrong_on_nodes(self, batch: Sequence[str]) -> dict[str, str]:
        """Return node to what is not as it is to be after its upgrade."""
        kubelets, proxies = self.kube.kubelets(), self.kube.proxies(batch)
        wrong = {}
        for name in batch:
            one = kubelets.get(name)
            if one is None:
                wrong[name] = "unknown to Kubernetes"
            elif not self._is_new(one.version):
                wrong[name] = f"kubelet is {one.version}"
            elif not self._is_new(proxies.get(name, "")):
                wrong[name] = f"kube-proxy is {proxies.get(name) or 'not reported'}"
            elif not one.ready:
                wrong[name] = "not Ready"
            elif one.gpus < self.kube.gpus(name):
                wrong[name] = f"{one.gpus} of {quantity(self.kube.gpus(name), 'GPU')}"
        return wrong

    def _nodes(self, batch: Sequence[str]) -> Callable[[Tell], None]:
        def act(tell: Tell) -> None:
            # No kubelet may be newer than an API server that it asks.
            old = {n: v for n, v in self.kube.api().items() if not self._is_new(v)}
            if old:
                raise AvadmError(
                    [
                        finding(
                            "upgrade-unhealthy", n, f"its API server is {v or 'not answering'}", name=NAME
                        )
                        for n, v in old.items()
                    ],
                    EXIT_FOUND_BAD,
                )
            self.kube.bring(self.asked.after, NODES, batch, self.asked.command, tell)

        return act

    def _look_at_nodes(self, batch: Sequence[str]) -> Callable[[], Progress]:
        def look() -> Progress:
            wrong = self._wrong_on_nodes(batch)
            return Progress("; ".join(f"{n}: {why}" for n, why in wrong.items()), len(wrong))

        return look

    def _undo(self, batch: Sequence[str]) -> Callable[[Tell], None]:
        def undo(tell: Tell) -> None:
            wrong = self._wrong_on_nodes(batch)
            failed = [n for n in batch if n in wrong or not self.kube.settled(NODES, n)]
            if failed:
                self.kube.bring(self.asked.before, NODES, failed, self.asked.command, tell)

        return undo


def _patch(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(n) for n in match[0].split(".")) if match else ()


def _text(number: tuple[int, int]) -> str:
    return f"{number[0]}.{number[1]}"


def _shown(running: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {version or 'unknown'}" for name, version in running.items())
