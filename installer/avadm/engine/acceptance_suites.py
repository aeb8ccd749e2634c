"""The suites of acceptance: which checks are whose, what of a site each needs, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.sitefile.load import SiteFile
from avadm_validation.measuring.check import Check
from avadm_validation.measuring.runner import Runner
from avadm_validation.protocol.model import CheckResult
from avadm_validation.suites.alluxio import run as alluxio
from avadm_validation.suites.alluxio.checks import CHECKS as CACHE
from avadm_validation.suites.cis import run as cis
from avadm_validation.suites.cis.run import CHECKS as CIS
from avadm_validation.suites.kubernetes import run as kubernetes
from avadm_validation.suites.kubernetes.checks import CHECKS as KUBERNETES
from avadm_validation.suites.logs import run as logs
from avadm_validation.suites.logs.run import CHECKS as LOGS
from avadm_validation.suites.objects import run as objects
from avadm_validation.suites.objects.checks import CHECKS as OBJECTS
from avadm_validation.suites.storage import run as storage
from avadm_validation.suites.storage.checks import CHECKS

Suites = Literal["all", "storage", "objects", "alluxio", "kubernetes", "cis", "logs"]
Lack = tuple[str, str, str, str, str, str]
"""Check, what, key of the site file, found, wanted and remedy of a finding."""


@dataclass(frozen=True)
class Part:
    """One suite.

    Attributes:
        checks: its checks, without preconditions.
        starts: with what the ids of its checks start, those of its preconditions too.
        target: attribute of the target that is None where it has nothing to measure.
        run: runs it, or the checks that are named.
        lack: what is said where it is asked for and the site has no such target.
        whole: whether it is part of `all`.
    """

    checks: Sequence[Check]
    starts: str
    target: str
    run: Callable[[Runner, Sequence[str]], list[CheckResult]]
    lack: Lack
    whole: bool = True


_NO_STORAGE: Lack = (
    "no-role",
    "The storage suite needs nodes with the roles mon and client.",
    "nodes",
    "none of one of them",
    "at least one of each; two clients for what several do at once",
    "Give nodes these roles and apply.",
)
_NO_MASTER: Lack = (
    "no-role",
    "The suites kubernetes and cis need a node with the role master.",
    "nodes",
    "none",
    "one, three or five",
    "Give nodes the role master and apply.",
)
# In the order in which they run: what stops a part of the cluster comes after what only reads and writes.
PARTS: dict[str, Part] = {
    "storage": Part(CHECKS, "", "storage", lambda runner, only: storage.execute(runner, only), _NO_STORAGE),
    "objects": Part(
        OBJECTS,
        "A-S3-",
        "objects",
        lambda runner, only: objects.execute(runner, only),
        (
            "no-objects",
            "The suite objects needs an object store.",
            "components",
            "none, or not installed yet",
            "components.object_store",
            "Add it and apply.",
        ),
    ),
    "alluxio": Part(
        CACHE,
        "A-AL-",
        "cache",
        lambda runner, only: alluxio.execute(runner, only),
        (
            "no-cache",
            "The suite alluxio needs a cache that clients mount.",
            "components",
            "none",
            "components.alluxio with fuse: true",
            "Describe a cache and apply.",
        ),
    ),
    "kubernetes": Part(
        KUBERNETES, "K-", "kube", lambda runner, only: kubernetes.execute(runner, only), _NO_MASTER
    ),
    "cis": Part(CIS, "CIS-", "kube", lambda runner, only: cis.execute(runner, only), _NO_MASTER, whole=False),
    "logs": Part(
        LOGS,
        "A-LOG-",
        "logs",
        lambda runner, only: logs.execute(runner, only),
        (
            "no-logs",
            "The suite logs needs a site that keeps logs.",
            "components",
            "no components.logs",
            "components.logs with two stores",
            "Name two nodes in components.logs.stores and apply.",
        ),
    ),
}


def ids() -> dict[str, list[str]]:
    """Return each suite's name to the ids of its checks."""
    return {name: [c.ID for c in part.checks] for name, part in PARTS.items()}


def execute(runner: Runner, only: Sequence[str], suites: Suites, site_file: SiteFile) -> list[CheckResult]:
    """Run the suites that are asked for, by name or by their checks, and that the site has.

    Raises:
        AvadmError: the site lacks what a suite measures that was asked for by name, or one of its checks was; or it has none
            of what they measure.
    """
    named = {name: [i for i in only if i in own] for name, own in ids().items()}
    whole = [name for name, part in PARTS.items() if part.whole] if suites == "all" else [suites]
    asked = [name for name in PARTS if (named[name] if only else name in whole)]
    there = [name for name in asked if _has(runner.target, PARTS[name])]
    # With nothing there at all a run of everything would end well without having measured anything.
    if (only or suites != "all" or not there) and (lacks := list(_lacks(asked, there, site_file))):
        raise AvadmError(lacks)
    return [result for name in there for result in PARTS[name].run(runner, named[name])]


def _has(target: Any, part: Part) -> bool:
    return getattr(target, part.target) is not None


def _lacks(asked: Sequence[str], there: Sequence[str], site_file: SiteFile) -> Iterator[Finding]:
    """Return what is said of each suite that cannot run, each thing once."""
    lacks = dict.fromkeys(PARTS[name].lack for name in asked if name not in there)
    for check, what, key, found, wanted, remedy in lacks:
        yield Finding(check, what, site_file.where([key]), found, wanted, remedy)


def name_of(checks: Sequence[CheckResult]) -> str:
    """Return the names of the suites that a report's checks are of."""
    starts = [(part.starts, name) for name, part in PARTS.items() if part.starts]
    found = [next((n for s, n in starts if c.id.startswith(s)), "storage") for c in checks]
    return " and ".join(dict.fromkeys(found))
