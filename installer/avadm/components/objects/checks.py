"""The object store: gateways and their virtual address over TLS, users against their quotas."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.checks.metric_age import late
from avadm.components.objects.component import GATEWAY
from avadm.findings import Finding
from avadm.quantity import quantity

FULL = 0.9
"""Share of a quota; as the alert ObjectQuotaNearFull."""
LATE_S = 1800.0
"""Seconds since users were last counted; that is done each five minutes."""
ACCEPTANCE = "avadm-accept"
"""How the acceptance suite's users begin: one of them is there to fill its quota."""
OK = 200


def _words(answer: Any) -> str:
    """Return what is wrong with an answer, "" for nothing."""
    if answer["status"] == OK:
        return ""
    return f"{answer['url']}: {answer['said'] or 'HTTP ' + str(answer['status'])}"


def _gateway(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if wrong := _words(data["gateway"]):
        yield bad(wrong)


def _address(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if data["address"] is None or not (wrong := _words(data["address"])):
        return
    reports = [found for n in s.site.with_role(GATEWAY) if (found := s.part(n.name, "objects")) is not None]
    well = sum(not _words(found["gateway"]) for found in reports)
    if well:
        yield bad(f"{wrong}; {well} of {quantity(len(reports), 'gateway')} answer at their own addresses")
    else:
        yield bad(f"{wrong}; no gateway answers at its own address either", remedy=_GATEWAY_REMEDY)


def _quota(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    reports = [found["usage"] for n in s.site.with_role(GATEWAY) if (found := s.part(n.name, "objects"))]
    fresh = [usage for usage in reports if usage["age_s"] is not None and not late(usage, LATE_S)]
    if not fresh:
        if all(late(usage, LATE_S) for usage in reports):
            yield unknown("no gateway's node has counted lately what users have", "cluster")
        return
    values = min(fresh, key=lambda usage: usage["age_s"])["values"]
    for kind in ("bytes", "objects"):
        limits = values.get(f"avadm_objects_user_quota_{kind}", {})
        for user, limit in sorted(limits.items()):
            has = values.get(f"avadm_objects_user_{kind}", {}).get(user, 0.0)
            if limit > 0 and has > FULL * limit and not user.startswith(ACCEPTANCE):
                yield warn(f"{has:.0f} of {limit:.0f} {kind}, {has / limit:.0%}", f"user {user}")


def _usage(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if words := late(data["usage"], LATE_S):
        yield warn(f"figures of what users have: {words}")


_GATEWAY_REMEDY = (
    "`journalctl -u 'ceph-radosgw@*' -e` there and `ceph -s`; `avadm apply objects` starts it again. Where the certificate "
    "is refused: `avadm apply objects` writes it again."
)
_check = partial(Check, roles=(GATEWAY,), topic="objects", requirement="I3")


CHECKS = (
    _check(
        "objects-gateway",
        "an S3 gateway that does not answer over TLS",
        ("objects",),
        _gateway,
        remedy=_GATEWAY_REMEDY,
        good="it answers, and its certificate is of the site's authority",
    ),
    _check(
        "objects-address",
        "the object store's virtual address, not answered",
        ("objects",),
        _address,
        remedy="`ip -4 addr` on the rgw nodes shows who holds it, `journalctl -u keepalived -u haproxy -e` there why it does not "
        "answer.",
        good="it answers",
    ),
    _check(
        "objects-quota",
        "a user of the object store that has nearly all of its quota",
        ("objects",),
        _quota,
        scope="site",
        remedy="Have objects or old versions deleted, or raise the quota in components.object_store.users and "
        "`avadm apply objects`: "
        "at 100 % every write of that user is refused.",
        good="no quota is nearly used up",
    ),
    _check(
        "objects-usage",
        "users' usage has not been counted lately",
        ("objects",),
        _usage,
        remedy="`systemctl list-timers avadm-objects-usage.timer` and `journalctl -u avadm-objects-usage -e` there.",
        good="counted within half an hour",
    ),
)
