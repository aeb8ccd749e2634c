"""Variables of the object store: ceph_rgw, objects_vip, objects_client, and what monitoring knows of it."""

from __future__ import annotations

import json
import re
import secrets
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from avadm.catalogue import finding
from avadm.components.ceph.identities import Entity
from avadm.components.ceph.variables import MIB, pool_vars
from avadm.components.database_backup import bucket_policy as database_store
from avadm.components.etcd import bucket_policy as etcd_store
from avadm.components.masters.variables import keep_private
from avadm.components.monitoring.variables import group
from avadm.components.objects.object_pools import (
    entity,
    etcd_copies,
    external_backups,
    external_copies,
    gateways,
    name,
    own_backups,
    own_copies,
    shares,
)
from avadm.components.objects.options import ObjectStore
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_pem
from avadm.pki.model import Authority, key_variable
from avadm.pki.store import KeyStore
from avadm.site.model import Site

SETTINGS = {
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
    "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
}
"""Environment of clients: gateways of these releases accept no checksum after a body of unknown length.

docs/how-to/object-store-and-cache.md
"""
REGION = "default"
"""Region of a radosgw without multisite: the name of its zone group."""


def key_names(user: str) -> tuple[str, str]:
    """Return the vault variables of a user's access key and secret key."""
    plain = re.sub(r"[^a-z0-9]+", "_", user)
    return f"vault_s3_access_{plain}", f"vault_s3_secret_{plain}"


def access_key() -> str:
    """Return a new access key, of S3's usual form: 20 capitals and digits."""
    return "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(20))


def secret_key() -> str:
    """Return a new secret key: 40 letters and digits, some 238 bits."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(40))


def endpoint(site: Site) -> str:
    """Return the URL at which clients find the object store; "" where the site has none."""
    store = site.components.object_store
    if store is None:
        return ""
    if store.provider == "external":
        return store.external.endpoint.rstrip("/") if store.external else ""
    return f"https://{name(site)}:{store.port}"


def keys_of(site: Site, user: str) -> tuple[str, str]:
    """Return the vault variables of a user's keys, the site's one pair for an external store."""
    store = site.components.object_store
    if store and store.provider == "external" and store.external:
        return store.external.access_key, store.external.secret_key
    return key_names(user)


def users(site: Site, store: ObjectStore) -> list[dict[str, Any]]:
    """Return the site's users, and those for etcd's snapshots and PostgreSQL's backups, as avadm_ceph_s3 takes them.

    The acceptance suite makes and removes its own.
    """
    wanted = [
        {
            "name": user.name,
            **etcd_store.keys(key_names(user.name)),
            "max_bytes": user.quota_mib * MIB if user.quota_mib else -1,
            "max_objects": user.quota_objects or -1,
        }
        for user in store.users
    ]
    free = {"max_bytes": -1, "max_objects": -1}
    ours = etcd_store.users(site) | database_store.users(site)
    return wanted + [{"name": user, **etcd_store.keys(names), **free} for user, names in ours.items()]


def buckets(site: Site, store: ObjectStore) -> list[dict[str, Any]]:
    """Return the buckets as avadm_s3_bucket takes them."""
    found = [
        {
            "name": bucket.name,
            "versioning": bucket.versioning,
            **etcd_store.keys(keys_of(site, bucket.owner or "")),
        }
        for bucket in store.buckets
    ]
    found += [etcd_store.bucket(site)] if own_copies(site) else []
    return found + ([database_store.bucket(site)] if own_backups(site) else [])


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the object store's roles; nothing where the site has none."""
    site, profile, store = given.site, given.profile, given.store
    knobs = site.components.object_store
    if knobs is None:
        return
    nodes, external = gateways(site), knobs.external if knobs.provider == "external" else None
    out.all |= {
        "objects_client_packages": profile.packages.get("objects_client", []),
        "objects_client_environment": dict(SETTINGS),
        "objects_client_ca_certificate": store.trusted(Authority.OBJECTS) if nodes else "",
        "ceph_rgw_buckets": buckets(site, knobs),
        "ceph_rgw_endpoint": endpoint(site),
        "ceph_rgw_region": external.region if external else REGION,
        "ceph_rgw_own": bool(nodes),
    }
    if etcd_copies(site):
        out.all["etcd_store_ca_certificate"] = store.trusted(Authority.OBJECTS) if nodes else ""
        at = {"endpoint": endpoint(site), "region": out.all["ceph_rgw_region"]}
        for member in site.with_role("etcd"):
            out.host(member.name)["etcd_store"] = at | etcd_store.of_member(site, member)
    if not nodes:
        return
    address = str(knobs.vip or nodes[0].address)
    pools = pool_vars(site)
    ceph = site.components.ceph
    ours = etcd_store.users(site) | database_store.users(site)
    for names in [*(key_names(user.name) for user in knobs.users), *ours.values()]:
        out.secrets |= dict(zip(names, (access_key, secret_key), strict=True))
    out.all |= {
        "ceph_rgw_packages": profile.packages.get("ceph_rgw", []),
        "ceph_rgw_pools": [pools[pool] for pool in shares(site)],
        "ceph_rgw_rule": {
            "name": f"replicated_{ceph.failure_domain}",
            "failure_domain": ceph.failure_domain,
        },
        "ceph_rgw_users": users(site, knobs),
        "ceph_rgw_connect": address,
        "ceph_rgw_port": knobs.port,
        "ceph_rgw_ca_certificate": store.trusted(Authority.OBJECTS),
    }
    # Known by name on every node, whether there is a name service or not.
    out.all["base_hosts"] += f"\n{address} {name(site)}"
    if knobs.vip:
        out.all |= {
            "objects_vip_packages": profile.packages.get("objects_vip", []),
            "objects_vip_address": str(knobs.vip),
            "objects_vip_port": knobs.port,
            "objects_vip_servers": {n.name: str(n.address) for n in nodes},
            # Of this network the address is the site's alone, and so is its last number.
            "objects_vip_router_id": int(knobs.vip) % 256 or 255,
        }
    for node in nodes:
        out.host(node.name).update(
            ceph_rgw_address=str(node.address),
            ceph_rgw_peers=[str(n.address) for n in nodes if n is not node],
            ceph_rgw_key=Entity(entity(node), {}).key,
            ceph_rgw_certificate=store.leaf(f"rgw-{node.name}"),
            ceph_rgw_certificate_key=key_pem(key_variable(f"rgw-{node.name}")),
        )
        if knobs.vip:
            out.host(node.name)["objects_vip_own_address"] = str(node.address)
    _monitoring(site, knobs, store, out)


def _monitoring(site: Site, knobs: ObjectStore, store: KeyStore, out: Variables) -> None:
    """Have every gateway, and the address that clients use, probed over TLS; add its alerts and dashboard."""
    # Most of both is of ceph's managers and of users, and there without probes too.
    out.all["grafana_more_dashboards"] = [*out.all.get("grafana_more_dashboards", []), "objects"]
    out.all["prometheus_more_rules"] = [*out.all.get("prometheus_more_rules", []), "objects"]
    targets = out.all.get("prometheus_targets", {})
    if "probe" not in targets:
        return
    probes = [
        group(
            f"https://{node.address}:{knobs.port}/",
            node,
            f"{node.name}/objects",
            probe="objects",
            __param_module="objects",
        )
        for node in gateways(site)
    ]
    if knobs.vip:
        labels = {"instance": "objects/vip", "probe": "objects-vip", "__param_module": "objects"}
        probes.append({"targets": [f"https://{knobs.vip}:{knobs.port}/"], "labels": labels})
    out.all["prometheus_targets"] = targets | {"probe": [*targets["probe"], *probes]}
    out.all["blackbox_exporter_objects_name"] = name(site)
    out.all["blackbox_exporter_objects_ca_certificate"] = store.trusted(Authority.OBJECTS)


def missing(site: Site, held: Mapping[str, str]) -> list[Finding]:
    """Return an error for each key of an external store that the vault does not hold."""
    store = site.components.object_store
    if store is None or store.provider != "external" or store.external is None:
        return []
    at = "components.object_store.external"
    wanted: list[tuple[str, str, object]] = [("", "of the external object store", store.external)]
    if copies := external_copies(site):
        wanted.append((".etcd_copies", "for copies of etcd's snapshots", copies))
    if backups := external_backups(site):
        wanted.append((".database_backups", "for backups of PostgreSQL", backups))
    return [
        finding(
            "objects-key-missing",
            where=f"{at}{part}.{key}",
            found=f"no {variable}",
            wanted=f"a variable {variable} in the vault",
            what=what,
            whose=whose,
        )
        for part, whose, holder in wanted
        for key, what in (("access_key", "access key"), ("secret_key", "secret key"))
        if not held.get(variable := getattr(holder, key))
    ]


def require(site: Site, held: Mapping[str, str]) -> None:
    """Raise AvadmError where the keys of an external store are not in the vault."""
    if found := missing(site, held):
        raise AvadmError(found)


def keep_files(site: Site, store: KeyStore, held: Mapping[str, str]) -> None:
    """Keep `SITE.objects.json` beside the site file, 0600: where the object store is, and each user's keys."""
    knobs = site.components.object_store
    if knobs is None:
        return
    named = [u.name for u in knobs.users] if gateways(site) else [""]
    found = {
        user: dict(zip(("access_key", "secret_key"), keys_of(site, user), strict=True)) for user in named
    }
    data = {
        "endpoint": endpoint(site),
        "region": knobs.external.region if knobs.provider == "external" and knobs.external else REGION,
        "ca_certificate": store.trusted(Authority.OBJECTS) if gateways(site) else "",
        # Settings that AWS' current libraries need (docs/how-to/object-store-and-cache.md).
        "environment": dict(SETTINGS),
        "users": {user or "external": {k: held[v] for k, v in keys.items()} for user, keys in found.items()},
    }
    keep_private(store.path.with_suffix("").with_suffix(".objects.json"), json.dumps(data, indent=1) + "\n")


def held_authority(site_path: Path) -> str:
    """Return the certificate of the store's authority from `SITE.objects.json`, PEM; "" where there is none yet."""
    try:
        return str(
            json.loads(site_path.with_suffix(".objects.json").read_text(encoding="utf-8"))["ca_certificate"]
        )
    except (OSError, ValueError, KeyError):
        return ""
