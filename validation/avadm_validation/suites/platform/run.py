"""The platform suite: preconditions, checks, and its users and groups taken away at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ava.client import Client
from avadm_validation.measuring.check import Check
from avadm_validation.measuring.runner import Runner, shielded
from avadm_validation.measuring.schedule import Session, begun
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.measuring.targets import PlatformTarget
from avadm_validation.suites.platform import fault_injection, tenant
from avadm_validation.suites.platform.checks import BESIDE, CHECKS, PRECONDITIONS
from avadm_validation.suites.platform.isolation import evaluate


def unfit(check: Check, platform: PlatformTarget) -> str:
    """Return why a check has nothing to measure at this site, "" where it has."""
    if check.NEEDS in ("gpus", "both", "gpus and metrics") and not platform.gpu_nodes:
        return "the site has no workers with the role gpu"
    if check.NEEDS == "gpus and metrics" and platform.metrics is None:
        return "the site has no Prometheus of ours"
    if check.NEEDS == "folders" and not platform.folders:
        return "the site's nodes have no shared file system mounted"
    return ""


@contextmanager
def session(runner: Runner, only: Sequence[str] = ()) -> Iterator[Session]:
    """Look at the preconditions; fix nodes and take users and groups away at the end.

    Args:
        runner: the run, with its target, criteria, manifest and notes.
        only: ids of checks; none: all that the site has, and a note of each that it has not.
    """
    platform = runner.target.platform
    if platform is None:
        raise ValueError("the site has no platform")
    try:
        yield begun(
            runner,
            __package__,
            PRECONDITIONS,
            CHECKS,
            BESIDE,
            only,
            unfit=lambda check: unfit(check, platform),
        )
    finally:
        with shielded():
            ctx = runner.context("guard", runner.efforts(__package__)[PRECONDITIONS.ID])
            runner.put_back(fault_injection.revert_all(ctx))
            admin = ctx.shared.get(tenant.BOSS)
            if isinstance(admin, Client):
                ctx.tell("end what runs, take the users and groups away")
                runner.put_back(tenant.leave(admin, float(ctx.params["end_s"])))
                admin.close()


SUITE = Suite(
    first=PRECONDITIONS,
    checks=CHECKS,
    beside=BESIDE,
    prefix=("A-SC", "A-OT"),
    target="platform",
    open=session,
    criteria=evaluate.criteria,
    lack=Lack(
        check="no-ava",
        needs="the platform",
        key="components",
        found="none, or no ingress to reach it by",
        wanted="components.ava, and network.ingress_vip with a node of the role ingress",
        remedy="Add them and apply.",
    ),
)
