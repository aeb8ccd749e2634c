"""Rules over the storage cluster's knobs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

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
            yield draft.error(
                "replicas-too-many",
                (*CEPH, "replicas"),
                f"There are fewer {ceph.failure_domain}s with OSDs than copies.",
                f"{quantity(ceph.replicas, 'replica')}, {len(domains)}: {', '.join(sorted(domains))}",
                f"at least {ceph.replicas} {ceph.failure_domain}s with the role osd",
                "Add OSD nodes, lower replicas, or set failure_domain: host.",
            )
        elif len(domains) == ceph.replicas and ceph.failure_domain == "rack":
            yield draft.warning(
                "racks-without-reserve",
                (*CEPH, "failure_domain"),
                "After the loss of a rack its copies cannot be recreated: no other rack may take them.",
                f"{quantity(ceph.replicas, 'replica')}, {quantity(len(domains), 'rack')} with OSDs: {', '.join(sorted(domains))}",
                f"at least {quantity(ceph.replicas + 1, 'rack')} with the role osd",
                "Spread the OSD nodes over one rack more, or set failure_domain: host.",
            )
    low, all_ = ceph.min_replicas, ceph.replicas
    path = (*CEPH, "min_replicas")
    if low > all_:
        yield draft.error(
            "min-replicas",
            path,
            "More copies are needed to serve than are ever made.",
            f"{low} of {all_}",
            f"1 to {all_ - 1}",
            f"Set min_replicas to {all_ - 1}.",
        )
    elif low == all_:
        yield draft.warning(
            "min-replicas",
            path,
            "Every lost OSD stops I/O, since all copies are needed to serve.",
            f"{low} of {all_}",
            f"{all_ - 1} of {all_}",
            f"Set min_replicas to {all_ - 1} where service goes first.",
        )
    elif low == 1:
        yield draft.warning(
            "min-replicas",
            path,
            "With one copy left, writes continue: if that disk fails too, they are lost.",
            f"{low} of {all_}",
            "2 of 3",
            "Use 3 replicas and min_replicas 2 where data goes before space.",
        )


def shares(draft: Draft) -> Iterator[Finding]:
    """The pools' shares are parts of one whole."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    total = sum(p.share for p in ceph.rbd_pools) + (ceph.filesystem.share if ceph.filesystem else 0)
    if draft.ok("components", "object_store"):
        total += sum(objects(draft.site).values())
    if total > 1 + 1e-9:
        yield draft.error(
            "shares-sum",
            CEPH,
            "The shares of file system, pools and object store come to more than the whole.",
            f"{total:g}",
            "at most 1 together",
            "Lower filesystem.share, object_store.share or a pool's share.",
        )


def pools(draft: Draft) -> Iterator[Finding]:
    """No two pools have one name; the file system's own pools count."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    yield from draft.twice(
        "duplicate-pool",
        "The pool name",
        (((*CEPH, "rbd_pools", i), p.name, None) for i, p in enumerate(ceph.rbd_pools)),
    )
    own = {f"{ceph.filesystem.name}_{kind}" for kind in ("data", "metadata")} if ceph.filesystem else set()
    for i, pool in enumerate(ceph.rbd_pools):
        if pool.name in own:
            yield draft.error(
                "duplicate-pool",
                (*CEPH, "rbd_pools", i),
                "The file system has a pool of this name.",
                pool.name,
                f"a name other than {' and '.join(sorted(own))}",
                "Rename the pool.",
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
    seen = {Entity(name, {}).secret: name for name in BUILT_IN}
    for path, name in named:
        secret = Entity(name, {}).secret
        if secret in seen:
            yield draft.error(
                "ceph-key-clash",
                path,
                "Two clients of ceph would share one key.",
                f"{name} and {seen[secret]}, both {secret}",
                f"names that differ in a letter or digit from each other and from {' and '.join(BUILT_IN)}",
                "Rename the file system or the pool.",
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
        yield draft.error(
            "mount-point",
            (*CEPH, "filesystem", "mount"),
            "The file system cannot be mounted there.",
            point,
            "a path of its own, such as /mnt/cephfs, of letters, digits, '_', '.' and '-'",
            "Choose another mount point.",
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
            yield draft.error(
                "ceph-config",
                path,
                "ceph has no such section.",
                section,
                "global, client, mon, mgr, osd or mds, or one daemon of these such as osd.3",
                "Correct the section.",
            )
        for option, value in options.items():
            if not re.fullmatch(r"[A-Za-z0-9_]+([ -][A-Za-z0-9_]+)*", option) or not str(value).isprintable():
                yield draft.error(
                    "ceph-config",
                    (*path, option),
                    "This is no option of ceph.",
                    f"{option} = {value}",
                    "a name of letters, digits and '_', and a value on one line",
                    "Write it as in `ceph config show`.",
                )


RULES = [replicas, shares, pools, keys, mount, settings]
