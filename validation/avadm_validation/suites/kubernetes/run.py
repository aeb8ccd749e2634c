"""The Kubernetes suite: preconditions, checks, and the namespaces removed at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from avadm_validation.measuring.check import Check
from avadm_validation.measuring.runner import Runner, shielded
from avadm_validation.measuring.schedule import Session, begun
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.measuring.targets import KubeTarget
from avadm_validation.suites.kubernetes.checks import BESIDE, CHECKS, PRECONDITIONS
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


@contextmanager
def session(runner: Runner, only: Sequence[str] = ()) -> Iterator[Session]:
    """Look at the preconditions, make the namespaces; remove these at the end.

    Args:
        runner: the run, with its target, criteria, manifest and notes.
        only: ids of checks; none: all that the site has, and a note of each that it has not.
    """
    kube = runner.target.kube
    if kube is None:
        raise ValueError("the site has no Kubernetes")

    def sweep() -> list[str]:
        ctx = runner.context("guard", runner.efforts(__package__)[PRECONDITIONS.ID])
        ctx.tell("remove the namespaces")
        return Cluster(ctx).sweep(float(ctx.params["sweep_s"]))

    try:
        yield begun(
            runner,
            __package__,
            PRECONDITIONS,
            CHECKS,
            BESIDE,
            only,
            unfit=lambda check: unfit(check, kube),
            closing=sweep,
        )
    finally:
        with shielded():
            runner.put_back(sweep())


SUITE = Suite(
    first=PRECONDITIONS,
    checks=CHECKS,
    beside=BESIDE,
    prefix="K-",
    target="kube",
    open=session,
    lack=Lack(
        check="no-role",
        needs="a node with the role master",
        key="nodes",
        found="none",
        wanted="one, three or five",
        remedy="Give nodes the role master and apply.",
    ),
)
