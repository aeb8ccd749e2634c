"""The CIS suite: reads each node once a section, judges each control, changes nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files

from avadm_validation.measuring.check import Check
from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.measuring.runner import Runner
from avadm_validation.measuring.schedule import Session
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.protocol.fleet import Result
from avadm_validation.suites.cis.controls import SECTIONS, Control, controls, criteria, exceptions
from avadm_validation.suites.cis.extract import complies, seen

TIMEOUT_S = 60.0


class Section:
    """The controls of one section, as a check of the runner.

    Args:
        number: the section's, e.g. ``1.1``.
    """

    def __init__(self, number: str) -> None:
        english, chinese = SECTIONS[number]
        self.number = number
        self.ID = f"CIS-{number}"
        self.TITLE = (f"CIS Kubernetes benchmark 1.2.0: {english}", f"CIS Kubernetes 基准 1.2.0:{chinese}")
        self.NEEDS = ""

    def controls(self) -> list[Control]:
        """Return the section's controls in order."""
        return [c for c in controls().values() if c.section == self.number]

    def run(self, ctx: Context) -> Outcome:
        """Read the nodes and count for each control those on which it fails."""
        kube = ctx.target.kube
        if kube is None:
            raise MeasureError("the site has no Kubernetes")
        by_role = {"master": kube.masters, "etcd": kube.etcd, "node": kube.nodes}
        mine = self.controls()
        nodes = list(dict.fromkeys(n for c in mine for n in by_role[c.role]))
        raw = _read(ctx, nodes, [f for c in mine for f in c.files if f.startswith("/")])
        docs = {n: json.loads(ctx.read(path)) for n, path in raw.items()}
        metrics = [
            metric(
                c.id,
                (f"{c.id} {c.title}", ""),
                "nodes",
                "cluster",
                [ctx.sample("cis_failing", {"nodes": [raw[n] for n in by_role[c.role]]}, control=c.id)],
            )
            for c in mine
        ]
        failing = {c: [n for n in by_role[c.role] if not complies(c, docs[n])] for c in mine if c.scored}
        return Outcome(
            method="arguments of the running processes, owners and modes of files, read by tools/cisread.py on "
            f"{', '.join(nodes)}; measured is the number of nodes on which a control fails",
            metrics=metrics,
            reasons=[_reason(c, where, docs[where[0]]) for c, where in failing.items() if where],
            remedy=" ".join(_remedy(c) for c, where in failing.items() if where and c.id not in exceptions()),
        )


CHECKS: tuple[Check, ...] = tuple(Section(number) for number in SECTIONS)
BESIDE: tuple[tuple[Check, ...], ...] = tuple((check,) for check in CHECKS)
"""All of them: they read."""


def _reason(control: Control, nodes: Sequence[str], doc: dict[str, object]) -> str:
    text = f"{control.id} {control.title}: wanted {control.wanted}, found {seen(control, doc)} on {', '.join(nodes)}"
    why = exceptions().get(control.id)
    return f"{text}. Excepted: {why}" if why else text


def _remedy(control: Control) -> str:
    return f"{control.id}: {control.remedy or f'set {control.wanted}'}; then `avadm apply`."


def _read(ctx: Context, nodes: Sequence[str], patterns: Sequence[str]) -> dict[str, str]:
    """Return each node's raw file; nothing is put on the nodes, the program comes through ssh."""
    ctx.step(f"read {len(nodes)} nodes")
    program = (files("avadm_validation") / "tools" / "cisread.py").read_bytes()
    line = f"{ctx.target.python} - {shlex.quote(json.dumps(sorted(set(patterns))))}"
    results = ctx.rec.fleet.map(dict.fromkeys(nodes, line), timeout=TIMEOUT_S, stdin=program)
    raw = {node: ctx.rec.keep(results[node], "read") for node in nodes}
    bad = [_why(results[node]) for node in nodes if results[node].rc or results[node].error or not raw[node]]
    if bad:
        raise MeasureError("; ".join(bad))
    return {node: path for node, path in raw.items() if path}


def _why(result: Result) -> str:
    last = (result.stderr.strip().splitlines() or [f"exit status {result.rc}, nothing printed"])[-1]
    return f"{result.node}: {result.error or last}"


@contextmanager
def session(runner: Runner, only: Sequence[str] = ()) -> Iterator[Session]:
    """Judge all sections, or those named; there is nothing to prepare, and nothing to put back."""
    if runner.target.kube is None:
        raise ValueError("the site has no Kubernetes")
    yield Session(
        lambda check: runner.one(check, {}),
        [c for c in CHECKS if not only or c.ID in only],
        BESIDE,
    )


SUITE = Suite(
    checks=CHECKS,
    beside=BESIDE,
    prefix="CIS-",
    target="kube",
    open=session,
    criteria=criteria,
    every_reason=True,
    lack=Lack(
        check="no-role",
        needs="a node with the role master",
        key="nodes",
        found="none",
        wanted="one, three or five",
        remedy="Give nodes the role master and apply.",
    ),
)
