"""PostgreSQL: each member runs, one is the primary, another has all that it acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, warn
from avadm.findings import Finding

RUNS = ("running", "streaming")
"""States of a member that does its work, as Patroni has them; 3.2 and later say how a standby does."""


def _member(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if data["said"]:
        yield bad(data["said"])
    elif node not in data["members"]:
        yield bad(f"Patroni runs, but knows only {', '.join(sorted(data['members'])) or 'no member'}")
    elif (state := data["members"][node][1]) not in RUNS:
        yield bad(f"the member is {state}")


def _roles(s: Snapshot) -> list[str]:
    """Return the members' roles, by the nodes that answer; the members of all that answer are the same."""
    reports = [found for n in s.site.with_role("database") if (found := s.part(n.name, "database"))]
    return [role for found in reports if not found["said"] for role, _ in found["members"].values()]


def _primary(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if "leader" not in _roles(s):
        yield bad("no member is the primary", "cluster")


def _standby(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    roles = _roles(s)
    if len(s.site.with_role("database")) > 1 and "leader" in roles and "sync_standby" not in roles:
        yield warn("no standby has all that the primary acknowledges", "cluster")


_LIST = "`patronictl -c /etc/patroni/config.yml list` on a node with the role database"
_check = partial(Check, roles=("database",), topic="database", requirement="I6")


CHECKS = (
    _check(
        "database-member",
        "a member of PostgreSQL that does not run",
        ("database",),
        _member,
        remedy="`journalctl -u patroni -e` there; `avadm apply database` starts it again. One whose data are gone: "
        "`avadm apply database --replace NODE`.",
        good="it runs",
    ),
    _check(
        "database-primary",
        "PostgreSQL without a primary: writes fail",
        ("database",),
        _primary,
        scope="site",
        remedy=f"{_LIST}, and `avadm doctor --only etcd`: etcd keeps who is the primary.",
        good="one member is",
    ),
    _check(
        "database-standby",
        "PostgreSQL without a synchronous standby: the loss of the primary loses data",
        ("database",),
        _standby,
        scope="site",
        remedy=f"{_LIST}; a standby that cannot follow is copied again by `avadm apply database --replace NODE`.",
        good="one has all that the primary acknowledges",
    ),
)
