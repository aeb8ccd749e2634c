"""Runs the Kubernetes suite: preconditions, checks, judgement, and the namespaces removed at the end."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

from avadm_validation.measuring.check import Check
from avadm_validation.measuring.runner import Runner, shielded
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.measuring.targets import KubeTarget
from avadm_validation.protocol.model import CheckResult
from avadm_validation.suites.kubernetes.checks import CHECKS, PRECONDITIONS, TOGETHER
from avadm_validation.suites.kubernetes.cluster import Cluster


def unfit(check: Check, kube: KubeTarget) -> str:
    """Return why a check has nothing to measure at this site, "" where it has."""
    if check.NEEDS == "ingress" and not kube.ingress:
        return (
            "the site has no address for what comes from outside (network.ingress_vip and the role ingress)"
        )
    if check.NEEDS == "balancer" and not kube.balancer:
        return "the site has no addresses for services (network.load_balancer)"
    if check.NEEDS == "gpu" and not kube.gpu_nodes:
        return "the site has no nodes with the role gpu"
    kind = check.NEEDS.removeprefix("class ")
    if kind != check.NEEDS and kind not in kube.classes:
        return f"the site has no storage class {kind}"
    return ""


def execute(runner: Runner, only: Sequence[str] = ()) -> list[CheckResult]:
    """Run the checks (or those named) within a run; what nobody named and the site has not is left out with a note.

    Args:
        runner: the run, with its target, criteria, manifest and notes.
        only: ids of checks; none: all that the site has.
    """
    kube = runner.target.kube
    if kube is None:
        raise ValueError("the site has no Kubernetes")
    params = runner.efforts(__package__)
    results: list[CheckResult] = []

    def one(check: Check) -> CheckResult:
        return runner.after(first, check, params[check.ID], unfit(check, kube))

    try:
        first = runner.one(PRECONDITIONS, params[PRECONDITIONS.ID])
        results.append(first)
        chosen = []
        for check in CHECKS:
            why = unfit(check, kube)
            if why and not only:
                runner.left.append(f"{check.ID} was left out: {why}.")
            elif not only or check.ID in only:
                chosen.append(check)
        for together, some in groupby(chosen, key=lambda c: c in TOGETHER):
            checks = list(some)
            if not together:
                results += map(one, checks)
                continue
            with ThreadPoolExecutor(len(checks)) as pool:
                results += pool.map(one, checks)
    finally:
        with shielded():
            ctx = runner.context("guard", params[PRECONDITIONS.ID])
            ctx.tell("remove the namespaces")
            stayed = Cluster(ctx).sweep(float(ctx.params["sweep_s"]))
            runner.put_back(stayed)
    return results


SUITE = Suite(
    first=PRECONDITIONS,
    checks=CHECKS,
    prefix="K-",
    target="kube",
    execute=execute,
    lack=Lack(
        check="no-role",
        needs="a node with the role master",
        key="nodes",
        found="none",
        wanted="one, three or five",
        remedy="Give nodes the role master and apply.",
    ),
)
