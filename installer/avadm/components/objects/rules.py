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
        yield draft.error(
            "role-unused",
            ("nodes",),
            "There are nodes with the role rgw, but no object store for them.",
            ", ".join(n.name for n in nodes),
            "components.object_store with provider ceph-rgw, or no rgw",
            "Add `components: {object_store: {}}`, or remove the role rgw.",
        )
    if not own:
        return
    for role, why in (("rgw", "serves it"), ("mon", "keeps the cluster that its objects are in")):
        if not draft.has(role):
            yield draft.error(
                "role-missing",
                STORE,
                f"There is an object store, but no node has the role {role}, which {why}.",
                f"no {role}",
                f"at least 1 {role}",
                f"Give nodes the role {role}, or use `provider: external`.",
            )
    if len(nodes) == 1:
        yield draft.warning(
            "no-standby",
            STORE,
            "The loss of the one gateway stops the object store.",
            f"1 rgw: {nodes[0].name}",
            "at least 2 rgw, and vip",
            "Give the role rgw to one more node.",
        )


def address(draft: Draft) -> Iterator[Finding]:
    """Several gateways have a virtual address, which is nobody else's, on nodes that hold no other."""
    store = _own(draft)
    if store is None or not draft.whole("roles"):
        return
    yield from virtual.wanted(draft, VIRTUAL, "gateways")
    if store.vip is None:
        return
    for i, node in draft.nodes("roles"):
        clash = sorted({"master", "ingress"} & set(node.roles))
        if "rgw" in node.roles and clash:
            yield draft.error(
                "roles-apart",
                ("nodes", i, "roles"),
                f"{node.name} would keep two virtual addresses, the object store's and that of {clash[0]}.",
                ", ".join(node.roles),
                f"rgw or {clash[0]}",
                "Give the role rgw to storage nodes.",
                node.name,
            )


def names(draft: Draft) -> Iterator[Finding]:
    """The store's name is a DNS name; users and buckets are there once, and no user is avadm's."""
    store = _store(draft)
    if store is None:
        return
    if store.name is not None and not _NAME.fullmatch(store.name):
        yield draft.error(
            "domain-syntax",
            (*STORE, "name"),
            "This is no DNS name of a service.",
            store.name,
            "labels of lower-case letters, digits and inner hyphens, e.g. objects.ai.example.com",
            "Correct the name.",
        )
    users: list[tuple[KeyPath, object, str | None]] = [
        ((*STORE, "users", i, "name"), user.name, None) for i, user in enumerate(store.users)
    ]
    yield from draft.twice("object-user-twice", "The user", users)
    buckets: list[tuple[KeyPath, object, str | None]] = [
        ((*STORE, "buckets", i, "name"), bucket.name, None) for i, bucket in enumerate(store.buckets)
    ]
    yield from draft.twice("bucket-twice", "The bucket", buckets)
    for path, name, _ in (*users, *buckets):
        if str(name).startswith(OWN):
            yield draft.error(
                "object-name-reserved",
                path,
                "Users and buckets of avadm's own have names with this beginning.",
                name,
                f"no name that begins with {OWN}",
                "Choose another name.",
            )


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
                yield draft.error(
                    "bucket-owner",
                    (*path, "owner"),
                    "Buckets of an external store belong to the key that `external` names.",
                    bucket.owner,
                    "no owner",
                    "Remove owner.",
                )
        elif bucket.owner not in known:
            yield draft.error(
                "bucket-owner",
                path,
                f"The bucket {bucket.name} belongs to nobody.",
                bucket.owner or "no owner",
                f"one of users: {', '.join(known) or 'there are none'}",
                "Name a user of components.object_store.users as its owner.",
            )


def external(draft: Draft) -> Iterator[Finding]:
    """An external store is named with its URL, and has none of what belongs to own gateways."""
    store = _store(draft)
    if store is None:
        return
    path: KeyPath = (*STORE, "external")
    if store.provider == "ceph-rgw":
        if store.external is not None:
            yield draft.error(
                "objects-provider",
                path,
                "An external store is described, but the site's own gateways are to serve.",
                "provider: ceph-rgw",
                "provider: external, or no external",
                "Set the provider, or remove external.",
            )
        return
    if store.external is None:
        yield draft.error(
            "objects-provider",
            STORE,
            "The external store is not described.",
            "provider: external",
            "external: {endpoint: https://HOST}",
            "Add components.object_store.external.",
        )
        return
    for key, value in (("users", store.users), ("vip", store.vip), ("name", store.name)):
        if value:
            yield draft.error(
                "objects-provider",
                (*STORE, key),
                "This belongs to the site's own gateways; others run this store.",
                key,
                f"no {key} with provider external",
                f"Remove {key}.",
            )
    opens = {store.external.access_key, store.external.secret_key}
    for key, what, where in (
        ("etcd_copies", "Copies of etcd's snapshots", "etcd's nodes"),
        ("database_backups", "Backups of PostgreSQL", "the database's nodes"),
    ):
        theirs = getattr(store.external, key)
        if theirs and {theirs.access_key, theirs.secret_key} & opens:
            yield draft.error(
                f"{key.replace('_', '-')}-key",
                (*path, key),
                f"{what} would be made with the key that opens all buckets: it would lie on {where}.",
                f"{theirs.access_key}, {theirs.secret_key}",
                "variables of their own, with a key that opens this bucket alone",
                "Have a key made for that bucket, and put it into the vault.",
            )
    if not _https(store.external.endpoint):
        yield draft.error(
            "url-syntax",
            (*path, "endpoint"),
            "This is no URL of an S3 store.",
            store.external.endpoint,
            "https://HOST or https://HOST:PORT",
            "Write scheme, host and port alone; keys go into the vault.",
        )


def pools(draft: Draft) -> Iterator[Finding]:
    """No pool for block images has the name of a pool of the object store."""
    if _own(draft) is None or not draft.ok("components", "ceph"):
        return
    for i, pool in enumerate(draft.site.components.ceph.rbd_pools):
        if pool.name in SHARES:
            yield draft.error(
                "duplicate-pool",
                ("components", "ceph", "rbd_pools", i),
                "The object store has a pool of this name.",
                pool.name,
                "a name that does not begin with default.rgw",
                "Rename the pool.",
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
