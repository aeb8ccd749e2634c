"""The objects suite: preconditions, checks, and every bucket of ours removed at the end."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from avadm_validation.measuring.check import Check
from avadm_validation.measuring.runner import Runner, shielded
from avadm_validation.measuring.schedule import Session, begun
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.measuring.targets import ObjectTarget
from avadm_validation.suites.objects import users
from avadm_validation.suites.objects.checks import BESIDE, CHECKS, PRECONDITIONS
from avadm_validation.suites.objects.store import S3Client


def reached(url: str) -> bool:
    """Say whether the controller can open a connection to a URL."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 443), timeout=5).close()
    except (OSError, ValueError):
        return False
    return True


def unfit(check: Check, target: ObjectTarget) -> str:
    """Return why a check has nothing to measure at this site, "" where it has."""
    if check.NEEDS == "own" and not (target.gateways and target.quota_bytes):
        return "others run the object store: its quotas are theirs"
    if check.NEEDS == "controller" and not reached(target.direct):
        return f"the controller does not reach {target.direct} (a jump host between them?)"
    if check.NEEDS == "gateways" and len(target.gateways) < 2:
        return "the site has no second gateway"
    return ""


@contextmanager
def session(runner: Runner, only: Sequence[str] = ()) -> Iterator[Session]:
    """Make the suite's users, look at the preconditions; remove users and buckets at the end.

    Args:
        runner: the run, with its target, criteria, manifest and notes.
        only: ids of checks; none: all that the site has, and a note of each that it has not.
    """
    target = runner.target.objects
    if target is None:
        raise ValueError("the site has no object store")
    try:
        yield begun(
            runner, __package__, PRECONDITIONS, CHECKS, BESIDE, only, unfit=lambda check: unfit(check, target)
        )
    finally:
        with shielded():
            ctx = runner.context("guard", runner.efforts(__package__)[PRECONDITIONS.ID])
            ctx.tell("remove the buckets and the suite's users")
            store = S3Client(ctx)
            stayed = store.sweep(float(ctx.params["sweep_s"]))
            stayed += users.remove(ctx, float(ctx.params["sweep_s"]))
            runner.put_back(stayed)


SUITE = Suite(
    first=PRECONDITIONS,
    checks=CHECKS,
    beside=BESIDE,
    prefix="A-S3-",
    target="objects",
    open=session,
    lack=Lack(
        check="no-objects",
        needs="an object store",
        key="components",
        found="none, or not installed yet",
        wanted="components.object_store",
        remedy="Add it and apply.",
    ),
)
