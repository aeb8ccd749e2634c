"""The cache suite: preconditions, checks, and what it made removed at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from avadm_validation.measuring.runner import Runner, shielded
from avadm_validation.measuring.schedule import Session, begun
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.suites.alluxio.cache import Cache
from avadm_validation.suites.alluxio.checks import BESIDE, CHECKS, PRECONDITIONS


@contextmanager
def session(runner: Runner, only: Sequence[str] = ()) -> Iterator[Session]:
    """Look at the preconditions; remove at the end what the checks (or those named) made."""
    if runner.target.cache is None:
        raise ValueError("the site has no cache")
    params = runner.efforts(__package__)
    try:
        yield begun(runner, __package__, PRECONDITIONS, CHECKS, BESIDE, only)
    finally:
        with shielded():
            ctx = runner.context("guard", params[PRECONDITIONS.ID])
            ctx.tell("remove the files of the cache's checks")
            swept = [Cache(runner.context(c.ID, params[c.ID])) for c in CHECKS[:1]]
            stayed = [text for one in swept for text in one.sweep()]
            runner.put_back(stayed)


SUITE = Suite(
    first=PRECONDITIONS,
    checks=CHECKS,
    beside=BESIDE,
    prefix="A-AL-",
    target="cache",
    open=session,
    lack=Lack(
        check="no-cache",
        needs="a cache that clients mount",
        key="components",
        found="none",
        wanted="components.alluxio with fuse: true",
        remedy="Describe a cache and apply.",
    ),
)
