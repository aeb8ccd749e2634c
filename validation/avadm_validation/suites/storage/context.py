"""What a storage check works with: the target, its clients, evidence, and how to run the tools on many nodes."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from avadm_validation.protocol.evidence import Recorder
from avadm_validation.protocol.fleet import Result
from avadm_validation.protocol.model import Class, Metric, Sample, Series, Verdict
from avadm_validation.suites.alluxio.target import CacheTarget
from avadm_validation.suites.logs.target import LogTarget
from avadm_validation.suites.objects.target import ObjectTarget
from avadm_validation.suites.storage.extract import compute, facts

TOOLS = ("filegen.py", "rbdread.py", "rbdlock.py")


class MeasureError(Exception):
    """A measurement could not be made; the text says on which node and why."""


@dataclass(frozen=True)
class KubeTarget:
    """What is measured of Kubernetes.

    Attributes:
        master: a node on which root's ``kubectl`` works.
        nodes: every node that runs pods, masters too.
        version: what every kubelet must report, e.g. ``v1.9.11``.
        image: the image of the acceptance pods, with its registry; has python3.
        domain: the site's second-level domain.
        addresses: every node's name to its address.
        ingress: address of the way in from outside, "" where there is none.
        balancer: first and last address of services of the type LoadBalancer, () where there are none.
        outside: a node that is not part of the cluster, "" where there is none.
        gpu_nodes: nodes with GPUs.
        masters: nodes that run the control plane.
        etcd: nodes that keep its data base.
        cluster_domain: domain of the cluster's own names.
        classes: storage classes that the site has.
        default_class: the one of claims that name none, "" for none.
        mounters: nodes that run pods and mount volumes of ceph.
        kubelet: what every kubelet keeps back and when it evicts, as its own configuration names it.
    """

    master: str
    nodes: tuple[str, ...]
    version: str
    image: str
    domain: str
    addresses: Mapping[str, str]
    ingress: str = ""
    balancer: tuple[str, ...] = ()
    outside: str = ""
    gpu_nodes: tuple[str, ...] = ()
    masters: tuple[str, ...] = ()
    etcd: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    classes: tuple[str, ...] = ()
    default_class: str = ""
    mounters: tuple[str, ...] = ()
    kubelet: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """What is measured.

    Attributes:
        site: name of the site.
        profile: its version profile.
        kind: ``site`` or ``lab``; chooses criteria and efforts.
        clients: client nodes, in order.
        mon: a node on which root's ``ceph`` works; "" where there is no ceph.
        nodes: every node, for clock comparison.
        mds: nodes that may run an MDS.
        mount: mount point of cephfs on clients; None where there is none.
        pool: pool of rbd images; None where there is none.
        rbd_user: cephx user (without ``client.``) that clients use for images.
        python: interpreter on nodes.
        ceph_python: interpreter on clients that has ceph's bindings.
        max_skew_ms: largest clock difference allowed.
        notes: what the reader must know of the site.
        kube: its Kubernetes, None where it has none.
        objects: its object store, None where it has none.
        cache: its cache, None where it has none.
        logs: where its logs are kept, None where they are not.
    """

    site: str
    profile: str
    kind: Literal["site", "lab"]
    clients: tuple[str, ...]
    mon: str
    nodes: tuple[str, ...]
    mds: tuple[str, ...] = ()
    mount: str | None = "/mnt/cephfs"
    pool: str | None = "rbd"
    rbd_user: str = "rbd"
    python: str = "python3"
    ceph_python: str = "python3"
    max_skew_ms: float = 50.0
    notes: tuple[str, ...] = ()
    kube: KubeTarget | None = None
    objects: ObjectTarget | None = None
    cache: CacheTarget | None = None
    logs: LogTarget | None = None

    @property
    def storage(self) -> str | None:
        """The node that is asked about the storage; None where there is no ceph, or no client of it."""
        return self.mon if self.mon and self.clients else None


@dataclass(frozen=True)
class Step:
    """Progress: what is being done, how many repetitions, how long it will take."""

    check: str
    text: str
    repetitions: int = 1
    seconds: float = 0.0


@dataclass
class Outcome:
    """What a check measured; judgement comes later."""

    method: str
    metrics: list[Metric] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    remedy: str = ""
    verdict: Verdict | None = None
    """Set where the check itself knows (BLOCKED, PROJECTED); combined as the worst."""
    projected: tuple[float, tuple[float, float]] | None = None
    """Projected value and its prediction interval, where the verdict came from one."""


@dataclass
class Context:
    """One check's view of the run.

    Attributes:
        target: what is measured.
        rec: evidence of this check.
        params: the check's effort (sizes, seconds, repetitions).
        run: id of the run, part of every name that is made.
        seed: seed of the run.
        class_: class of the numbers.
        progress: told of each step.
        clock_offset: nodes' clock minus ours, seconds.
        shared: what one check of a run leaves for the next (images that took long to fill).
    """

    target: Target
    rec: Recorder
    params: Mapping[str, Any]
    run: str
    seed: int
    class_: Class
    progress: Callable[[Step], None] = lambda step: None
    clock_offset: float = 0.0
    shared: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of everything that the run makes on the site."""
        return f"avadm-accept-{self.run}"

    @property
    def tools(self) -> str:
        """Folder of the tools on client nodes."""
        return f"/tmp/{self.name}"  # noqa: S108 - the name is the run's own, made 0700

    @property
    def private(self) -> str:
        """Command that makes the folder of tools, which root runs, or finds it root's own, no link, shut to others."""
        folder = shlex.quote(self.tools)
        return (
            f'mkdir -m 700 {folder} 2>/dev/null || [ "$(stat -c \'%u %a %F\' {folder})" = "$(id -u) 700 directory" ] || '
            f"{{ echo {folder} is not ours alone: remove it >&2; false; }}"
        )

    @property
    def work(self) -> str:
        """This check's folder on cephfs."""
        return f"{self.target.mount}/{self.name}/{self.rec.check}"

    def step(self, text: str, repetitions: int = 1, seconds: float = 0.0) -> None:
        """Tell what is being done."""
        self.progress(Step(self.rec.check, text, repetitions, seconds))

    def tell(self, text: str) -> None:
        """Tell what is being put back; unlike ``step`` it never raises: somebody listening is not needed for it."""
        # SystemExit: what the command line raises where its output is gone (ctrl-C under `| tee`).
        with contextlib.suppress(Exception, SystemExit):
            self.step(text)

    def ceph(self, command: str, name: str, *, timeout: float = 60.0) -> Result:
        """Run a command of ceph's on the mon node; MeasureError where it fails."""
        return self.must(self.rec.run(self.target.mon, command, name, timeout=timeout))

    def must(self, result: Result) -> Result:
        """Return the result; MeasureError where the command failed."""
        if result.rc or result.error:
            why = result.error or (result.stderr.strip().splitlines() or [f"exit status {result.rc}"])[-1]
            raise MeasureError(f"{result.node}: {result.command.split()[0]}: {why}")
        return result

    def tool(self, script: str, *arguments: str | float, **options: str | float) -> str:
        """Return the command line of a tool on a node; ``try_s=3`` becomes ``--try-s 3``."""
        return self._tool(self.target.python, script, arguments, options)

    def _tool(
        self, python: str, script: str, arguments: Sequence[object], options: Mapping[str, object]
    ) -> str:
        line = [python, f"{self.tools}/{script}", *map(str, arguments)]
        for name, value in options.items():
            line += [f"--{name.replace('_', '-')}", str(value)]
        return f"{self.noted} exec {' '.join(map(shlex.quote, line))}"

    @property
    def noted(self) -> str:
        """Start of a command line that notes its shell's pid, so that the guard can end what a killed run left."""
        return f"echo $$ > {shlex.quote(self.tools)}/pid.$$;"

    def image_tool(self, script: str, *arguments: str | float, image: str, **options: str | float) -> str:
        """Return the command line of a tool that opens an image of the pool as the clients' user."""
        place = {"user": self.target.rbd_user, "pool": str(self.target.pool), "image": image}
        return self._tool(self.target.ceph_python, script, arguments, {**place, **options})

    def gate(self) -> float:
        """Return a start on the nodes' clock that every client can make."""
        return time.time() + self.clock_offset + float(self.params.get("lead_s", 1.0))

    def everywhere(self, commands: Mapping[str, str], name: str, *, timeout: float) -> list[str]:
        """Run one command per client at once; return the paths of their outputs; MeasureError where one fails."""
        results = self.rec.map(commands, name, timeout=timeout)
        for node in commands:
            self.must(results[node])
        return [self.rec.last(node) for node in commands]

    def filegen(
        self, op: str, per_client: Mapping[str, Sequence[str | float]], *common: str | float
    ) -> list[str]:
        """Run filegen on several clients with one start gate; return their raw files in order."""
        options = dict(zip(common[::2], common[1::2], strict=False))
        repeat = int(options.get("--repeat", 1))
        seconds = repeat * (float(options.get("--duration", 0)) + float(options.get("--gap", 0.3)))
        seconds += float(options.get("--extra", 0))
        # One client alone has nobody to wait for.
        gate = self.gate() if len(per_client) > 1 else 0.0
        commands = {
            node: self.tool("filegen.py", op, "--seed", self.seed, "--start", f"{gate:.3f}", *common, *own)
            for node, own in per_client.items()
        }
        self.step(op, repeat, seconds)
        return self.everywhere(commands, op, timeout=seconds + float(self.params.get("timeout_s", 300)))

    def read(self, path: str) -> str:
        """Return the text of a raw file."""
        return (self.rec.folder / path).read_text(encoding="utf-8")

    def sample(
        self,
        extract: str,
        inputs: Mapping[str, list[str]],
        **params: float | str,
    ) -> Sample:
        """Make a sample: its numbers come from the raw files by the functions that ``verify`` will use again."""
        texts = {group: [self.read(p) for p in paths] for group, paths in inputs.items()}
        seconds, files = facts(extract, texts, params)
        if files is not None:
            params["files"] = files
        return Sample(
            value=compute(extract, texts, params),
            seconds=seconds,
            started=self.rec.commands[-1].started if self.rec.commands else 0.0,
            extract=extract,
            inputs=dict(inputs),
            params=params,
        )


def tool_sources() -> dict[str, bytes]:
    """Return the tools that run on nodes, by file name."""
    folder = files("avadm_validation") / "tools"
    return {name: (folder / name).read_bytes() for name in TOOLS}


def load_folder(folder: Path, inputs: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the texts of raw files by group, for computing a sample again."""
    return {g: [(folder / p).read_text(encoding="utf-8") for p in paths] for g, paths in inputs.items()}
