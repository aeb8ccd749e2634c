"""The doctor's checks; a new topic: one file with a tuple CHECKS, and one line here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from avadm.doctor.base import Check
from avadm.doctor.checks import (
    admission,
    ava,
    cache,
    calico,
    ceph,
    ceph_daemons,
    certificates,
    database,
    database_backup,
    etcd,
    gpu,
    hosts,
    journal,
    kubernetes,
    logs,
    monitoring,
    objects,
    packet_filter,
    pods,
    risks,
    services,
)
from avadm.errors import AvadmError

MODULES = (
    hosts,
    services,
    ceph,
    ceph_daemons,
    etcd,
    kubernetes,
    admission,
    pods,
    calico,
    packet_filter,
    gpu,
    objects,
    cache,
    database,
    database_backup,
    ava,
    logs,
    monitoring,
    certificates,
    risks,
    journal,
)
CHECKS: tuple[Check, ...] = tuple(check for module in MODULES for check in module.CHECKS)


def choose(wanted: Collection[str]) -> Sequence[Check]:
    """Return the checks with these ids or topics, all where none is named.

    Raises:
        AvadmError: a name is neither a check nor a topic.
    """
    known = {c.id for c in CHECKS} | {c.topic for c in CHECKS}
    if strange := [w for w in wanted if w not in known]:
        near = [n for w in strange for n in get_close_matches(w, sorted(known), n=1)]
        remedy = f"Did you mean {', '.join(near)}?" if near else "`avadm doctor --list` shows all."
        what, topics = "There is no such check or topic.", ", ".join(sorted({c.topic for c in CHECKS}))
        raise AvadmError.of(
            check="unknown-check",
            what=what,
            where="--only",
            found=", ".join(strange),
            wanted=f"a topic: {topics}",
            remedy=remedy,
        )
    return [c for c in CHECKS if not wanted or c.id in wanted or c.topic in wanted]
