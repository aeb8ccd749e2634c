"""Certificates on the nodes that end soon, have ended, or cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, warn
from avadm.findings import Finding
from avadm.quantity import quantity

DAY = 86400.0
BAD_SHARE, WARN_SHARE = 0.1, 0.25
"""Shares of its life that are left; `avadm apply` renews one that has less than a third left."""
BAD_DAYS = 7.0


def _ending(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for path, life in sorted(data.items()):
        if isinstance(life, str):
            yield warn(f"{path}: {life}")
            continue
        begins, ends = life
        left = ends - s.taken
        text = f"{path} ends in {left / DAY:.1f} days"
        if left <= 0:
            yield bad(f"{path} ended {-left / DAY:.1f} days ago")
        elif begins > s.taken:
            yield bad(
                f"{path} begins only in {(begins - s.taken) / DAY:.1f} days: the node's clock, or the controller's, is wrong"
            )
        elif left < BAD_SHARE * (ends - begins) or (
            left < BAD_DAYS * DAY and ends - begins > 4 * BAD_DAYS * DAY
        ):
            yield bad(text)
        elif left < WARN_SHARE * (ends - begins):
            yield warn(text)


def _authorities(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    count = data["authorities"]
    path = "/etc/etcd/pki/peer-ca.crt"
    if count is None:
        yield bad(
            f"{path} is not there: clients' certificates, Calico's on every node too, are members' as well"
        )
    elif count == 0:
        yield bad(f"{path} holds no certificate")
    elif count > 1:
        held = quantity(count, "authority", "authorities")
        yield warn(f"{path} has {held}, wanted one: by the former, others than members may join")


_check = partial(Check, topic="certificates", requirement="I5")


CHECKS = (
    _check(
        "certificates",
        "a certificate that has expired or soon will",
        ("certificates",),
        _ending,
        remedy="`avadm apply` renews it and restarts who uses it. /etc/traefik/own.crt is your own: renew it at its authority, "
        "put it into components.ava.certificate and its key into the vault, then `avadm apply addons`.",
        good="all live for long",
    ),
    _check(
        "etcd-authorities",
        "a member of etcd that trusts another authority beside that of members",
        ("etcd_peers",),
        _authorities,
        roles=("etcd",),
        remedy="Bring all members up, then `avadm apply etcd` without --limit: it ends with the authority of members alone.",
        good="each trusts the authority of members alone",
    ),
)
