"""Rules over the storage cluster's knobs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from avadm.components.ceph.backfill import ENTITY, LIMITS, OPTIONS, has_mclock, option_name
from avadm.components.ceph.identities import Entity, fs_entity, rbd_entity
from avadm.components.objects.object_pools import shares as objects
from avadm.findings import Finding
from avadm.quantity import quantity
from avadm.site.components import Ceph
from avadm.site.draft import CEPH_ROLES, Draft
from avadm.site.source import KeyPath

CEPH: KeyPath = ("components", "ceph")
BUILT_IN = ("client.admin", "client.bootstrap-osd")
"""Clients of ceph that every site has."""
_HIDES = re.compile(
    # Folders of which everything below belongs to the system, and those of which only they themselves do.
    r"/(bin|boot|dev|etc|lib|lib32|lib64|libx32|proc|run|sbin|sys|usr|var)(/.*)?|/(home|mnt|opt|root|tmp)?"
)


def replicas(draft: Draft) -> Iterator[Finding]:
    """There are as many places as copies, and the copies needed to serve are fewer than all."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    if draft.whole("roles", "rack", "name") and (osds := draft.site.with_role("osd")):
        domains = {n.rack if ceph.failure_domain == "rack" else n.name for n in osds}
        if len(domains) < ceph.replicas:
            yield draft.finding(
                "replicas-too-many",
                (*CEPH, "replicas"),
                f"{quantity(ceph.replicas, 'replica')}, {len(domains)}: {', '.join(sorted(domains))}",
                f"at least {ceph.replicas} {ceph.failure_domain}s with the role osd",
                failure_domain=ceph.failure_domain,
            )
        elif len(domains) == ceph.replicas and ceph.failure_domain == "rack":
            yield draft.finding(
                "racks-without-reserve",
                (*CEPH, "failure_domain"),
                f"{quantity(ceph.replicas, 'replica')}, {quantity(len(domains), 'rack')} with OSDs: {', '.join(sorted(domains))}",
                f"at least {quantity(ceph.replicas + 1, 'rack')} with the role osd",
            )
    low, all_ = ceph.min_replicas, ceph.replicas
    path = (*CEPH, "min_replicas")
    if low > all_:
        yield draft.finding("min-replicas", path, f"{low} of {all_}", f"1 to {all_ - 1}", value=all_ - 1)
    elif low == all_:
        yield draft.finding(
            "min-replicas-all", path, f"{low} of {all_}", f"{all_ - 1} of {all_}", value=all_ - 1
        )
    elif low == 1:
        yield draft.finding("min-replicas-one", path, f"{low} of {all_}", "2 of 3")


def shares(draft: Draft) -> Iterator[Finding]:
    """The pools' shares are parts of one whole."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    total = sum(p.share for p in ceph.rbd_pools) + (ceph.filesystem.share if ceph.filesystem else 0)
    if draft.ok("components", "object_store"):
        total += sum(objects(draft.site).values())
    if total > 1 + 1e-9:
        yield draft.finding("shares-sum", CEPH, f"{total:g}", "at most 1 together")


def pools(draft: Draft) -> Iterator[Finding]:
    """No two pools have one name; the file system's own pools count."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    yield from draft.twice(
        "duplicate-pool",
        (((*CEPH, "rbd_pools", i), p.name, None) for i, p in enumerate(ceph.rbd_pools)),
    )
    own = {f"{ceph.filesystem.name}_{kind}" for kind in ("data", "metadata")} if ceph.filesystem else set()
    for i, pool in enumerate(ceph.rbd_pools):
        if pool.name in own:
            yield draft.finding(
                "duplicate-pool-filesystem",
                (*CEPH, "rbd_pools", i),
                pool.name,
                f"a name other than {' and '.join(sorted(own))}",
            )


def keys(draft: Draft) -> Iterator[Finding]:
    """No two of ceph's clients would share a key: file system and pools name them."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    fs = ceph.filesystem
    named: list[tuple[KeyPath, str]] = [((*CEPH, "filesystem", "name"), fs_entity(fs.name))] if fs else []
    # Of pools of one name the last: `pools` tells of the others.
    numbers = {pool.name: i for i, pool in enumerate(ceph.rbd_pools)}
    named += [((*CEPH, "rbd_pools", i, "name"), rbd_entity(name)) for name, i in numbers.items()]
    built_in = (*BUILT_IN, *([ENTITY] if ceph.backfill else []))
    seen = {Entity(name, {}).secret: name for name in built_in}
    for path, name in named:
        secret = Entity(name, {}).secret
        if secret in seen:
            yield draft.finding(
                "ceph-key-clash",
                path,
                f"{name} and {seen[secret]}, both {secret}",
                f"names that differ in a letter or digit from each other and from {' and '.join(built_in)}",
            )
        seen.setdefault(secret, name)


def mount(draft: Draft) -> Iterator[Finding]:
    """The mount point hides nothing of the system, and has no character that systemd or ceph would interpret."""
    ceph = _ceph(draft)
    if ceph is None or ceph.filesystem is None:
        return
    point = ceph.filesystem.mount
    plain = re.fullmatch(r"[A-Za-z0-9_./-]+", point) and ".." not in point.split("/")
    if not plain or _HIDES.fullmatch(posixpath.normpath(f"/{point.lstrip('/')}")):
        yield draft.finding(
            "mount-point",
            (*CEPH, "filesystem", "mount"),
            point,
            "a path of its own, such as /mnt/cephfs, of letters, digits, '_', '.' and '-'",
        )


def _ceph(draft: Draft) -> Ceph | None:
    """Return the knobs where they are right and matter: a node has a role of ceph, or someone wrote them."""
    used = draft.has(*CEPH_ROLES) or draft.written(CEPH)
    return draft.site.components.ceph if used and draft.ok(*CEPH) else None


def settings(draft: Draft) -> Iterator[Finding]:
    """Sections, options and values fit on their lines of ceph.conf."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    for section, options in ceph.config.items():
        path: KeyPath = (*CEPH, "config", section)
        if not re.fullmatch(r"(global|client|mon|mgr|osd|mds)(\.[A-Za-z0-9_.*-]+)?", section):
            yield draft.finding(
                "ceph-config",
                path,
                section,
                "global, client, mon, mgr, osd or mds, or one daemon of these such as osd.3",
            )
        for option, value in options.items():
            if not re.fullmatch(r"[A-Za-z0-9_]+([ -][A-Za-z0-9_]+)*", option) or not str(value).isprintable():
                yield draft.finding(
                    "ceph-config-option",
                    (*path, option),
                    f"{option} = {value}",
                    "a name of letters, digits and '_', and a value on one line",
                )


def backfill(draft: Draft) -> Iterator[Finding]:
    """Limits of backfill are complete, and nothing in ceph.conf takes precedence over them."""
    ceph = _ceph(draft)
    if ceph is None or (given := ceph.backfill) is None:
        return
    path: KeyPath = (*CEPH, "backfill")
    if (given.hours is None) != (given.limits_in_hours is None):
        missing = "limits_in_hours" if given.hours else "hours"
        yield draft.finding("backfill-hours", path, f"no {missing}", "hours and limits_in_hours, or neither")
    if given.hours and given.hours[:5] == given.hours[6:]:
        yield draft.finding("backfill-hours", (*path, "hours"), given.hours, "an end other than the begin")
    for name in ("limits", "limits_in_hours"):
        part = getattr(given, name)
        if part is not None and not part.model_dump(exclude_none=True):
            wanted = ", ".join(key for key, _ in LIMITS)
            yield draft.finding("backfill-empty", (*path, name), "no limit", f"one or more of {wanted}")
    if draft.profile is not None and has_mclock(ceph, draft.profile):
        for name in ("limits", "limits_in_hours"):
            part = getattr(given, name)
            if (
                part is not None
                and part.recovery_sleep_s
                and draft.written((*path, name, "recovery_sleep_s"))
            ):
                where: KeyPath = (*path, name, "recovery_sleep_s")
                yield draft.finding(
                    "backfill-sleep", where, part.recovery_sleep_s, "no pause, or another scheduler"
                )
    for section, options in ceph.config.items():
        for key in options:
            if section.split(".")[0] in ("global", "osd") and option_name(key) in OPTIONS:
                yield draft.finding(
                    "backfill-config",
                    (*CEPH, "config", section, key),
                    f"{key} in {section}",
                    "it in one place",
                )


RULES = [replicas, shares, pools, keys, mount, settings, backfill]
