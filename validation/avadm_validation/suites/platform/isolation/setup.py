"""Two tenants on one GPU node, and the attacks of one on the other: made once a run, for all checks that judge them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from ava.client import ApiError
from avadm_validation.measuring import gpus
from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.suites.platform import gpu_inventory, platform_client, polling
from avadm_validation.suites.platform.isolation import fixtures, target
from avadm_validation.suites.platform.isolation.attack_catalog import Attack, attacks, command
from avadm_validation.suites.platform.journal import ENDED, Journal
from avadm_validation.suites.platform.shared_results import once, own
from avadm_validation.suites.platform.tenant import Tenant, tenant
from avadm_validation.suites.platform.work import SMALL, role, spec

LEFT = "isolation"
"""Under which it is left for the run's other checks."""
NEEDS = 3
"""GPUs of one node: the victim's, and one for each of two attackers."""
ROOMY = role(1, each={**SMALL, "gpu": 1, "memory": 256 << 20})
"""Of a container in which many attacks are tried at a time, a process each; in the victim those of the control."""
MINORS = 16
"""Cards that are tried to be opened."""
OLD = {"CUDA_VERSION": "9.0.176"}
"""What makes a runtime of NVIDIA's give a container all GPUs, and what the platform lets users say."""
ALL = {"NVIDIA_VISIBLE_DEVICES": "all"}
"""The same; the platform must refuse it, or it must change nothing."""
ALL_GPUS = "said-all"
IDLE = "Measure when GPUs are idle: `ava cluster show`, kubectl describe node."
CHECKPOINT = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
CARDS = (
    f"cat {CHECKPOINT}; echo; echo --; cat /proc/driver/nvidia/gpus/*/information; "
    "for f in /dev/nvidia[0-9]*; do (: <$f) 2>&1 | grep -q 'No such device' && echo driverless $f; done; true"
)
LOOK: tuple[Attack, ...] = (
    Attack("look-cards", "A-SC3", "cards", "victim", (0,)),
    Attack("look-listed", "A-SC3", "listed", "victim", (0,)),
    *(Attack(f"look-open-{n}", "A-SC3", "device", "victim", ("c", 195, n)) for n in range(MINORS)),
)
"""No attacks: which cards a container has, by its device files, nvidia-smi, and device files of its own making."""


class TooFullError(MeasureError):
    """The scene needs GPUs that others have."""


@dataclass(frozen=True)
class AttackResults:
    """What was seen: raw files, and what was tried.

    Attributes:
        node: where.
        rows: all attacks.
        sometimes: ids of those that need not get through as the control: nothing listens there at all times.
        pods: kind of the container to the raw file of what it reported: ``victim``, ``training``, ``workbench``, ``plain``.
        control: raw files of the same attempts from where they must get through.
        cards: raw file of the node's cards and kubelet's assignments; ``table``: of the pods as Kubernetes tells of them.
        journal: raw files of the user's dealings; ``neighbour``: the victim's.
        runs: kind of the container to its run.
        simulated: whether no driver is behind the node's cards.
    """

    node: str
    rows: tuple[Attack, ...]
    sometimes: frozenset[str]
    pods: Mapping[str, str]
    control: Sequence[str]
    cards: str
    table: str
    journal: Sequence[str]
    neighbour: Sequence[str]
    runs: Mapping[str, str]
    simulated: bool

    def of(self, ctx: Context) -> AttackResults:
        """Return the same with raw files of the check that judges: a check's numbers come from files of its own."""
        return replace(
            self,
            pods={kind: own(ctx, path) for kind, path in self.pods.items()},
            control=[own(ctx, path) for path in self.control],
            cards=own(ctx, self.cards),
            table=own(ctx, self.table),
            journal=[own(ctx, path) for path in self.journal],
            neighbour=[own(ctx, path) for path in self.neighbour],
        )


def results(ctx: Context) -> AttackResults:
    """Return what was seen, made by the first check that asks; MeasureError for each where it could not be made."""
    return once(ctx, LEFT, AttackResults, _make).of(ctx)


def _make(ctx: Context) -> AttackResults:
    quota = {"gpu": 1, "cpu": None, "memory": None}
    with (
        gpus.held("platform"),
        tenant(ctx, [quota], part="v") as theirs,
        tenant(ctx, [{**quota, "gpu": 2}], part="a") as own,
    ):
        return _Scene(ctx, theirs, own).results()


class _Scene:
    def __init__(self, ctx: Context, theirs: Tenant, own: Tenant) -> None:
        self.ctx = ctx
        self.node = _node(ctx)
        self.theirs = Journal(theirs.user, theirs.groups[0])
        self.own = Journal(own.user, own.groups[0])
        self.mark, self.key = f"mark{secrets.token_hex(6)}", 7_000_000 + secrets.randbelow(1_000_000)

    def results(self) -> AttackResults:
        ctx = self.ctx
        ctx.step(f"two tenants on {self.node}")
        run, card = self._victim()
        _, found = fixtures.ask(ctx, f"get pods --all-namespaces -l ava.io/run={run}", "victim")
        (pod,) = found["items"]
        with fixtures.planted(ctx, self.node, self.mark, pod) as words:
            address = pod["status"]["podIP"]
            words |= {"key": self.key, "victim_address": address, "other_card": card}
            ports = [_port(p) for p in platform_client.target(ctx).closed]
            rows = [*attacks(words), *ports]
            ctx.step(f"{len(rows)} attacks from a training and a workbench")
            runs = self._attackers(rows)
            with ThreadPoolExecutor(1) as beside:
                control = beside.submit(self._control, rows, pod, str(words["operator"]))
                pods = {kind: self._output(kind, one, rows) for kind, one in runs.items()}
                pods["victim"], places = control.result()
            runs["victim"] = run
            names = ",".join(runs.values())
            table, _ = fixtures.ask(ctx, f"get pods --all-namespaces -l 'ava.io/run in ({names})'", "pods")
        done = ctx.must(ctx.rec.run(self.node, CARDS, "cards"))
        self.theirs.look()
        self.theirs.pods(run)
        return AttackResults(
            node=self.node,
            rows=tuple(rows),
            sometimes=frozenset(p.name for p in platform_client.target(ctx).closed if not p.always),
            pods=pods,
            control=places,
            cards=ctx.rec.save("cards.txt", done.stdout),
            table=table,
            journal=[self.own.save(ctx, "attacker.jsonl")],
            neighbour=[self.theirs.save(ctx, "victim.jsonl")],
            runs=runs,
            simulated="driverless" in done.stdout,
        )

    def _victim(self) -> tuple[str, int]:
        """Start the victim; return its run and the number of its card."""
        image = platform_client.target(self.ctx).image
        job = {"image": image, "command": target.command(self.mark, self.key), "roles": [ROOMY]}
        run = self.theirs.start("victim", {**job, "node": self.node})
        messages: list[str] = []

        def ready() -> bool:
            messages[:] = [x for x in self.theirs.output(run) if x.startswith("ready")]
            return bool(messages)

        if not polling.until(ready, float(self.ctx.params["place_s"])):
            self.theirs.look()
            raise MeasureError(f"the victim does not run: {self.theirs.runs[run].reason}")
        names = messages[0].split()[1:]
        if len(names) != 1:
            raise MeasureError(f"the victim asked for one card and has {names}")
        return run, int(names[0].removeprefix("nvidia"))

    def _attackers(self, rows: Sequence[Attack]) -> dict[str, str]:
        """Start what attacks, and what looks at its cards without having asked for any; return kind to run."""
        image = platform_client.target(self.ctx).image
        # A pod that has ended would be removed before it is looked at from outside.
        line = command([*rows, *LOOK], stays=True)
        with_gpu = {"image": image, "command": line, "node": self.node, "roles": [ROOMY], "env": OLD}
        jobs: dict[str, dict[str, Any]] = {
            "training": with_gpu,
            "workbench": {**with_gpu, "kind": "workbench"},
            "plain": {"image": image, "command": command(LOOK, stays=True), "roles": [role()], "env": OLD},
        }
        runs = {kind: self.own.start(kind, job) for kind, job in jobs.items()}
        try:
            runs[ALL_GPUS] = self.own.start(ALL_GPUS, spec(image, "short", role(), env=ALL))
            self.own.stop(runs.pop(ALL_GPUS))
        except ApiError:
            pass  # as it should be; the journal has it
        return runs

    def _output(self, kind: str, run: str, rows: Sequence[Attack]) -> str:
        """Return the raw file of what a container reported of its attempts; MeasureError where it does not tell of all."""
        wanted = {row.id for row in LOOK if kind == "plain"} or {row.id for row in (*rows, *LOOK)}
        lines: dict[str, str] = {}

        def all_there() -> bool:
            for line in self.own.user.logs(run, tail=1000):
                if line.text.startswith('{"id"'):
                    lines[line.text] = str(json.loads(line.text)["id"])
            return set(lines.values()) >= wanted or self.own.look().get(run) in ENDED

        polling.until(all_there, float(self.ctx.params["attack_s"]), every=1.0)
        if left := sorted(wanted - set(lines.values())):
            self.own.look()
            raise MeasureError(
                f"the {kind} has not reported {len(left)} of {len(wanted)} attempts ({', '.join(left[:3])}): "
                f"{self.own.states[run]} {self.own.runs[run].reason}"
            )
        self.own.pods(run)
        return self.ctx.rec.save(f"said-{kind}.jsonl", "\n".join(lines) + "\n")

    def _control(
        self, rows: Sequence[Attack], pod: Mapping[str, Any], operator: str
    ) -> tuple[str, list[str]]:
        """Make the same attempts from where they must get through; return the victim's raw file and all of them."""
        ctx, master = self.ctx, platform_client.target(self.ctx).master
        inside = {
            "victim": (pod["metadata"]["namespace"], pod["metadata"]["name"]),
            "operator": ("ava-system", operator),
        }

        def place(name: str) -> str:
            mine = [row for row in rows if row.control == name]
            argv = command([*mine, *LOOK] if name == "victim" else mine)
            if name in inside:
                node, line = master, f"{fixtures.KUBECTL} exec -n {inside[name][0]} {inside[name][1]} -- "
            else:
                node, line = self.node if name == "node" else name, ""
                argv[0] = ctx.target.python
            done = ctx.must(
                ctx.rec.run(node, line + " ".join(map(quote, argv)), f"control-{name}", timeout=120)
            )
            for row in mine:
                if row.undo:
                    ctx.rec.run(node, row.undo, "undo")
            return ctx.rec.save(f"control-{name}.jsonl", done.stdout)

        places = sorted({row.control for row in rows} | {"victim"})
        with ThreadPoolExecutor(4) as pool:
            paths = dict(zip(places, pool.map(place, places), strict=True))
        return paths["victim"], list(paths.values())


def _node(ctx: Context) -> str:
    """Return the GPU node with most free cards that are whole."""
    _, seen = gpu_inventory.look(ctx, "free")
    able = sorted(
        (n for n, x in seen.items() if x.open and x.free >= NEEDS), key=lambda n: (-seen[n].free, n)
    )
    if not able:
        free = ", ".join(f"{n} {x.free} of {x.size}" for n, x in sorted(seen.items())) or "no node has GPUs"
        raise TooFullError(f"{NEEDS} free GPUs of one node are needed: {free}")
    return able[0]


def _port(one: Any) -> Attack:
    return Attack(one.name, "A-SC3", "connect", one.node, (one.address, one.port))
