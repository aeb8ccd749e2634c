"""Calico's upgrade: the nodes in batches, masters with its controllers first; pods stay where they are.

While Calico restarts on a node, the kernel keeps the routes and rules of its pods, and the other nodes keep those to it (BGP's
graceful restart); a pod that begins there waits for its address. The former version runs on the same data, so a node that fails
gets it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from avadm.artifacts.manifest import begins
from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.kube.drain import listed
from avadm.operations.model import Gate, Interruption, Progress, Step, Tell
from avadm.operations.upgrade_kubernetes_nodes import NODES, KubernetesNodes
from avadm.operations.upgrade_model import Asked, Part, numbers, snapshot_step

NAME = "calico"
NODE, CONTROLLERS = "calico-node", "calico-kube-controllers"
"""Its programs, as profiles call them; the controllers run on masters."""
BATCH_S = 300.0
"""Seconds without progress of a batch after the change."""
DAY = 10_000_000
"""From this first number on a version is the day of a snapshot, such as 20250813."""
AWAY = "upgrade-node-away"
ACCEPTABLE = frozenset({AWAY})


def plan(asked: Asked, make: Callable[..., KubernetesNodes] = KubernetesNodes) -> Part:
    """Plan Calico's part of an upgrade.

    Args:
        asked: what is to be upgraded.
        make: Kubernetes of the site, for tests.

    Raises:
        AvadmError: no master can be asked.
    """
    return _Plan(asked, make(asked.cluster)).part()


def age(version: str) -> tuple[int, ...]:
    """Return what orders Calico's versions; the snapshot that avadm began with is older than its first release."""
    found = numbers(version)
    return (0, *found) if found[:1] >= (DAY,) else (1, *found)


@dataclass(frozen=True, slots=True)
class _Plan:
    """An upgrade of Calico that is being planned.

    Attributes:
        asked: what is to be upgraded.
        kube: Kubernetes of the site.
    """

    asked: Asked
    kube: KubernetesNodes

    @property
    def wanted(self) -> str:
        """The version that Calico is to have."""
        return self.asked.after.profile.versions[NODE]

    def part(self) -> Part:
        """Return the part, from what masters and nodes report."""
        if not self.kube.masters:
            return Part(refusals=[finding("upgrade-no-node", where="COMPONENT", found=NAME, name=NAME)])
        seen, ready = self._seen(self.kube.members), self._ready()
        away = [n for n in self.kube.members if n not in ready]
        taken = [n for n in self.kube.members if n in ready or self._stopped(n)]
        left = [n for n in taken if self._wrong(seen[n])]
        pause = Interruption("pods that begin on a node whose Calico restarts wait for their addresses", 30.0)
        return Part(
            list(self._steps(taken)),
            frozenset({NODES}),
            [pause] if left else (),
            [f"{n}: calico {seen[n][NODE] or 'unknown'} → {self.wanted}" for n in left],
            list(self._refusals(seen, away)),
            ACCEPTABLE,
        )

    def _ready(self) -> list[str]:
        return [name for name, one in self.kube.kubelets().items() if one.ready]

    def _seen(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return node to program to the version that runs there; "" for no answer."""
        found = {n: {NODE: version} for n, version in self.kube.running(NODE, names).items()}
        masters = [n for n in names if n in self.kube.masters]
        for name, version in (self.kube.running(CONTROLLERS, masters) if masters else {}).items():
            found[name][CONTROLLERS] = version
        return found

    def _is_new(self, version: str) -> bool:
        return begins(version, self.wanted)

    def _wrong(self, seen: Mapping[str, str]) -> list[str]:
        """Return what of a node's programs is not of the wanted version, in words."""
        return [
            f"{program} is {version or 'not reported'}"
            for program, version in seen.items()
            if not self._is_new(version)
        ]

    def _stopped(self, name: str) -> bool:
        """Return whether the same command was stopped at work on a node."""
        return self.asked.resumed and not self.kube.settled(NODES, name)

    def _refusals(self, seen: Mapping[str, Mapping[str, str]], away: Sequence[str]) -> Iterator[Finding]:
        """Yield what forbids the upgrade; what a stopped one explains does not."""
        # Those of the former version too, by which a failed node is taken back.
        for file in (self.asked.after, self.asked.before):
            yield from self.kube.missing(file)
        for name in away:
            if not self._stopped(name):
                yield finding(AWAY, where=name, found="not Ready", wanted="Ready", name=name)
        for name, programs in seen.items():
            if name not in away and not all(programs.values()) and not self._stopped(name):
                yield finding("upgrade-version-unknown", host=name, name=NAME)
        every = {v for programs in seen.values() for v in programs.values() if v}
        shown = ", ".join(sorted(every))
        if any(age(v) > age(self.wanted) and not self._is_new(v) for v in every):
            yield finding("upgrade-downgrade", NAME, shown, self.wanted, name=NAME)
        if len(every) > 1 and not self.asked.resumed:
            yield finding("upgrade-mixed-versions", NAME, shown, "one version", name=NAME)
        try:
            for node, why in self.kube.etcd.troubles().items():
                yield finding("upgrade-unhealthy", where=node, found=why, name="etcd")
        except AvadmError as error:
            yield from error.findings

    def _steps(self, taken: Sequence[str]) -> Iterator[Step]:
        yield snapshot_step(self.asked.cluster, self.kube.etcd, self.asked.command, self.kube.etcd.names[0])
        for number, names in enumerate(self.kube.batches(taken), 1):
            yield Step(
                f"upgrade Calico of batch {number}, {listed(names)}, to {self.wanted}",
                self._act(names),
                nodes=tuple(names),
                done=self._done(names),
                gate=Gate(f"{listed(names)}: Ready, with Calico {self.wanted}", self._look(names), BATCH_S),
                undo=self._undo(names),
            )

    def _act(self, names: Sequence[str]) -> Callable[[Tell], None]:
        def act(tell: Tell) -> None:
            self.kube.bring(self.asked.after, NODES, names, self.asked.command, tell)

        return act

    def _troubles(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return node to what is not as it is to be after its upgrade."""
        seen, ready = self._seen(names), self._ready()
        found = {n: [*self._wrong(seen[n]), *([] if n in ready else ["not Ready"])] for n in names}
        return {n: words for n, words in found.items() if words}

    def _done(self, names: Sequence[str]) -> Callable[[], bool]:
        def done() -> bool:
            return all(self.kube.settled(NODES, n) for n in names) and not self._troubles(names)

        return done

    def _look(self, names: Sequence[str]) -> Callable[[], Progress]:
        def look() -> Progress:
            found = self._troubles(names)
            words = "; ".join(f"{n}: {', '.join(why)}" for n, why in found.items())
            return Progress(words, sum(map(len, found.values())))

        return look

    def _undo(self, names: Sequence[str]) -> Callable[[Tell], None]:
        def undo(tell: Tell) -> None:
            found = self._troubles(names)
            failed = [n for n in names if n in found or not self.kube.settled(NODES, n)]
            if failed:
                self.kube.bring(self.asked.before, NODES, failed, self.asked.command, tell)

        return undo
