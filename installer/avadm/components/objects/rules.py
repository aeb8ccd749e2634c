"""Rules over the object store: somebody serves it, its address is its own, users and buckets fit together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from avadm.components.objects.component import VIRTUAL
from avadm.components.objects.object_pools import SHARES
from avadm.components.objects.options import ObjectStore
from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.rules import virtual
from avadm.site.source import KeyPath

STORE: KeyPath = ("components", "object_store")
OWN = "avadm-"
"""Users and buckets with this beginning are avadm's own."""
_NAME = re.compile(r"(?=.{1,190}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+")


def served(draft: Draft) -> Iterator[Finding]:
    """Gateways are there where they are to serve, beside the monitors, and nowhere else."""
    if not draft.whole("roles") or not draft.ok(*STORE, "provider"):
        return
    store, nodes = draft.site.components.object_store, draft.site.with_role("rgw")
    own = store is not None and store.provider == "ceph-rgw"
    if nodes and not own:
        yield draft.finding(
            "role-unused-rgw",
            ("nodes",),
            ", ".join(n.name for n in nodes),
            "components.object_store with provider ceph-rgw, or no rgw",
        )
    if not own:
        return
    for role, why in (("rgw", "serves it"), ("mon", "keeps the cluster that its objects are in")):
        if not draft.has(role):
            yield draft.finding(
                "role-missing-objects", STORE, f"no {role}", f"at least 1 {role}", role=role, why=why
            )
    if len(nodes) == 1:
        yield draft.finding("no-standby-objects", STORE, f"1 rgw: {nodes[0].name}", "at least 2 rgw, and vip")


def address(draft: Draft) -> Iterator[Finding]:
    """Several gateways have a virtual address, which is no one else's, on nodes that hold no other."""
    store = _own(draft)
    if store is None or not draft.whole("roles"):
        return
    yield from virtual.wanted(draft, VIRTUAL, "gateways")
    if store.vip is None:
        return
    for i, node in draft.nodes("roles"):
        clash = sorted({"master", "ingress"} & set(node.roles))
        if "rgw" in node.roles and clash:
            yield draft.finding(
                "roles-apart-objects",
                ("nodes", i, "roles"),
                ", ".join(node.roles),
                f"rgw or {clash[0]}",
                host=node.name,
                name=node.name,
                value=clash[0],
            )


def names(draft: Draft) -> Iterator[Finding]:
    """The store's name is a DNS name; users and buckets are there once, and no user is avadm's."""
    store = _store(draft)
    if store is None:
        return
    if store.name is not None and not _NAME.fullmatch(store.name):
        yield draft.finding(
            "domain-syntax",
            (*STORE, "name"),
            store.name,
            "labels of lower-case letters, digits and inner hyphens, e.g. objects.ai.example.com",
        )
    users: list[tuple[KeyPath, object, str | None]] = [
        ((*STORE, "users", i, "name"), user.name, None) for i, user in enumerate(store.users)
    ]
    yield from draft.twice("object-user-twice", users)
    buckets: list[tuple[KeyPath, object, str | None]] = [
        ((*STORE, "buckets", i, "name"), bucket.name, None) for i, bucket in enumerate(store.buckets)
    ]
    yield from draft.twice("bucket-twice", buckets)
    for path, name, _ in (*users, *buckets):
        if str(name).startswith(OWN):
            yield draft.finding("object-name-reserved", path, name, f"no name that begins with {OWN}")


def owners(draft: Draft) -> Iterator[Finding]:
    """Each bucket belongs to a user of the site; those of an external store belong to its one key."""
    store = _store(draft)
    if store is None:
        return
    known = [user.name for user in store.users]
    for i, bucket in enumerate(store.buckets):
        path: KeyPath = (*STORE, "buckets", i)
        if store.provider == "external":
            if bucket.owner is not None:
                yield draft.finding("bucket-owner", (*path, "owner"), bucket.owner, "no owner")
        elif bucket.owner not in known:
            yield draft.finding(
                "bucket-owner-none",
                path,
                bucket.owner or "no owner",
                f"one of users: {', '.join(known) or 'there are none'}",
                name=bucket.name,
            )


def external(draft: Draft) -> Iterator[Finding]:
    """An external store is named with its URL, and has none of what belongs to own gateways."""
    store = _store(draft)
    if store is None:
        return
    path: KeyPath = (*STORE, "external")
    if store.provider == "ceph-rgw":
        if store.external is not None:
            yield draft.finding(
                "objects-provider-external", path, "provider: ceph-rgw", "provider: external, or no external"
            )
        return
    if store.external is None:
        yield draft.finding(
            "objects-provider", STORE, "provider: external", "external: {endpoint: https://HOST}"
        )
        return
    for key, value in (("users", store.users), ("vip", store.vip), ("name", store.name)):
        if value:
            yield draft.finding(
                "objects-provider-own", (*STORE, key), key, f"no {key} with provider external", key=key
            )
    opens = {store.external.access_key, store.external.secret_key}
    for key, code in (("etcd_copies", "etcd-copies-key"), ("database_backups", "database-backups-key")):
        theirs = getattr(store.external, key)
        if theirs and {theirs.access_key, theirs.secret_key} & opens:
            yield draft.finding(
                code,
                (*path, key),
                f"{theirs.access_key}, {theirs.secret_key}",
                "variables of their own, with a key that opens this bucket alone",
            )
    if not _https(store.external.endpoint):
        yield draft.finding(
            "url-syntax", (*path, "endpoint"), store.external.endpoint, "https://HOST or https://HOST:PORT"
        )


def pools(draft: Draft) -> Iterator[Finding]:
    """No pool for block images has the name of a pool of the object store."""
    if _own(draft) is None or not draft.ok("components", "ceph"):
        return
    for i, pool in enumerate(draft.site.components.ceph.rbd_pools):
        if pool.name in SHARES:
            yield draft.finding(
                "duplicate-pool-objects",
                ("components", "ceph", "rbd_pools", i),
                pool.name,
                "a name that does not begin with default.rgw",
            )


def _https(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is no number
    except ValueError:
        return False
    plain = not (parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password)
    return parts.scheme == "https" and bool(parts.hostname) and plain and not re.search(r"\s", url)


def _store(draft: Draft) -> ObjectStore | None:
    return draft.site.components.object_store if draft.ok(*STORE) else None


def _own(draft: Draft) -> ObjectStore | None:
    store = _store(draft)
    return store if store is not None and store.provider == "ceph-rgw" else None


RULES = [served, address, names, owners, external, pools]
