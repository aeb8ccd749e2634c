"""Runs the Kubernetes suite: preconditions, checks, judgement, and the namespaces removed at the end."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any

from avadm_validation import data
from avadm_validation.protocol.model import CheckResult, Verdict
from avadm_validation.suites.kubernetes.checks import CHECKS, PRECONDITIONS, TOGETHER
from avadm_validation.suites.kubernetes.cluster import Cluster
from avadm_validation.suites.runner import Suite, shielded
from avadm_validation.suites.storage import Check
from avadm_validation.suites.storage.context import KubeTarget


def efforts(kind: str, effort: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of each check for a kind of target and an effort."""
    return data.efforts("avadm_validation.suites.kubernetes", kind, effort)


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


def execute(suite: Suite, only: Sequence[str] = ()) -> list[CheckResult]:
    """Run the checks (or those named) within a run; what nobody named and the site has not is left out with a note.

    Args:
        suite: the run, with its target, criteria, manifest and notes.
        only: ids of checks; none: all that the site has.
    """
    kube = suite.target.kube
    if kube is None:
        raise ValueError("the site has no Kubernetes")
    params = efforts(suite.target.kind, suite.effort)
    results: list[CheckResult] = []

    def one(check: Check) -> CheckResult:
        if first.verdict is not Verdict.PASS:
            return suite.blank(check, Verdict.BLOCKED, ["the preconditions are not met", *first.reasons])
        if why := unfit(check, kube):
            return suite.blank(check, Verdict.NOT_RUN, [why])
        return suite.one(check, params[check.ID])

    try:
        first = suite.one(PRECONDITIONS, params[PRECONDITIONS.ID])
        results.append(first)
        chosen = []
        for check in CHECKS:
            why = unfit(check, kube)
            if why and not only:
                suite.left.append(f"{check.ID} was left out: {why}.")
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
            ctx = suite.context("guard", params[PRECONDITIONS.ID])
            ctx.tell("remove the namespaces")
            stayed = Cluster(ctx).sweep(float(ctx.params["sweep_s"]))
            suite.left += stayed
            for text in stayed:
                suite.warn(text)
    return results
