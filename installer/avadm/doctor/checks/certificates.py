"""Certificates on the nodes that end soon, have ended, or cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from avadm.doctor.base import Check, Trouble, bad, warn
from avadm.doctor.model import Snapshot
from avadm.quantity import quantity

DAY = 86400.0
BAD_SHARE, WARN_SHARE = 0.1, 0.25
"""Shares of its life that are left; `avadm apply` renews one that has less than a third left."""
BAD_DAYS = 7.0


def _ending(s: Snapshot, node: str, data: Any) -> Iterator[Trouble]:
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


def _authorities(s: Snapshot, node: str, data: Any) -> Iterator[Trouble]:
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


CHECKS = (
    Check(
        "certificates",
        "certificates",
        "a certificate that has expired or soon will",
        "`avadm apply` renews it and restarts who uses it. /etc/traefik/own.crt is your own: renew it at its authority, "
        "put it into components.ava.certificate and its key into the vault, then `avadm apply addons`.",
        "certificates",
        _ending,
        requirement="I5",
        good="all live for long",
    ),
    Check(
        "etcd-authorities",
        "certificates",
        "a member of etcd that trusts another authority beside that of members",
        "Bring all members up, then `avadm apply etcd` without --limit: it ends with the authority of members alone.",
        "etcd_peers",
        _authorities,
        ("etcd",),
        requirement="I5",
        good="each trusts the authority of members alone",
    ),
)
