"""Variables of the ceph roles: all that follows from the site file is computed here, on the controller."""

from __future__ import annotations

import base64
import os
import struct
import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from avadm.components.ava.component import FOLDERS
from avadm.components.ceph.backfill import ENTITY, backfill_caps, backfill_vars, option_name, release
from avadm.components.ceph.identities import Entity, fs_entity, rbd_entity
from avadm.components.ceph.placement_groups import pg_counts
from avadm.components.objects import object_pools
from avadm.errors import AvadmError
from avadm.inventory.model import RenderContext, Variables
from avadm.site.components import Ceph
from avadm.site.model import Node, Site
from avadm.site.profile import Profile

MIB = 1 << 20
METADATA_SHARE = 0.1
# Modules of the managers beyond those that are always on.
MGR_MODULES = ("balancer", "prometheus")
"""Part of a file system's share that its metadata pool gets: little data, many small operations."""
RBD_FEATURES = {
    # What librbd of 13.2 and later knows.
    "librbd": ("layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"),
    # The kernel knows object-map and fast-diff from 5.3 on, deep-flatten from 5.1 on; a site may run 4.18.
    "krbd": ("layering", "exclusive-lock"),
}
Section = dict[str, str | int | float | bool]


def make_key() -> str:
    """Return a new cephx key: type 1 (AES), creation time, length 16, 16 random bytes; little-endian, base64.

    Source: ceph's CryptoKey::encode (src/auth/Crypto.cc).
    """
    return base64.b64encode(struct.pack("<HIIH", 1, int(time.time()), 0, 16) + os.urandom(16)).decode()


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the ceph roles; nothing where the site has no monitor."""
    site, profile = given.site, given.profile
    mons = site.with_role("mon")
    if not mons:
        return
    ceph = site.components.ceph
    entities = {entity.name: entity for entity in distinct(cephx(site))}
    out.secrets["vault_ceph_fsid"] = lambda: str(uuid.uuid4())
    out.secrets |= {entity.secret: make_key for entity in entities.values()}
    for role in ("ceph_common", "ceph_mon", "ceph_mgr", "ceph_osd", "ceph_mds", "ceph_client"):
        out.all[f"{role}_packages"] = profile.packages.get(role, [])
    pools = pool_vars(site)
    rule = {"name": f"replicated_{ceph.failure_domain}", "failure_domain": ceph.failure_domain}
    out.all |= {
        "ceph_common_fsid": "{{ vault_ceph_fsid }}",
        "ceph_common_config": config(site, profile),
        "ceph_common_osds": osd_count(site),
        "ceph_mon_addresses": monmap_arguments(mons, release(profile)),
        "ceph_mon_key": entities["mon."].key,
        "ceph_mon_admin_key": entities["client.admin"].key,
        # All but the monitors' own key, which lives in their stores.
        "ceph_mon_entities": [e.as_vars() for e in entities.values() if e.name != "mon."],
        "ceph_mgr_modules": list(MGR_MODULES),
        "ceph_osd_backend": profile.features["ceph_osd_backend"],
        "ceph_osd_bootstrap_key": entities["client.bootstrap-osd"].key,
        "ceph_rbd_rule": rule,
        "ceph_rbd_pools": [pools[p.name] for p in ceph.rbd_pools],
        "ceph_rbd_keyrings": [
            {"path": f"/etc/ceph/ceph.{e}.keyring", "entity": e, "key": entities[e].key}
            for e in (rbd_entity(p.name) for p in ceph.rbd_pools)
        ],
    }
    if limits := backfill_vars(ceph, profile):
        out.all["ceph_mon_backfill"] = limits
        out.all["ceph_mon_backfill_key"] = entities[ENTITY].key
    if fs := ceph.filesystem:
        mds = len(site.with_role("mds"))
        out.all |= {
            "ceph_fs_name": fs.name,
            "ceph_fs_rule": rule,
            "ceph_fs_metadata_pool": f"{fs.name}_metadata",
            "ceph_fs_data_pool": f"{fs.name}_data",
            "ceph_fs_pools": [pools[f"{fs.name}_metadata"], pools[f"{fs.name}_data"]],
            "ceph_fs_max_mds": fs.active_mds,
            # Warn when a stand-by is lost, not only when the last one is.
            "ceph_fs_standbys": max(0, mds - fs.active_mds),
            "ceph_client_kind": profile.features["cephfs_client"],
            "ceph_client_entity": fs_entity(fs.name),
            "ceph_client_key": entities[fs_entity(fs.name)].key,
            "ceph_client_fs": fs.name,
            "ceph_client_mount": fs.mount,
            "ceph_client_monitors": [str(mon.address) for mon in mons],
        }
    for node in site.nodes:
        host_vars(node, entities, out.host(node.name))


def host_vars(node: Node, entities: dict[str, Entity], own: dict[str, Any]) -> None:
    """Write one node's own variables."""
    for role in ("mgr", "mds"):
        if (entity := entities.get(f"{role}.{node.name}")) is not None:
            own[f"ceph_{role}_key"] = entity.key
    if "osd" in node.roles:
        own["ceph_common_crush_location"] = f"root=default rack={node.rack} host={node.name}"
        own["ceph_osd_devices"] = [
            device.model_dump(include={"by_id", "serial", "wwn", "device_class"}, exclude_none=True)
            for device in node.devices
            if device.use == "osd"
        ]


def cephx(site: Site) -> Iterator[Entity]:
    """Yield every cephx identity of the site, each with the least it needs."""
    ceph = site.components.ceph
    yield Entity("mon.", {"mon": "allow *"})
    yield Entity("client.admin", dict.fromkeys(("mon", "mgr", "osd", "mds"), "allow *"))
    yield Entity("client.bootstrap-osd", {"mon": "allow profile bootstrap-osd"})
    for node in site.with_role("mgr"):
        yield Entity(f"mgr.{node.name}", {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"})
    if fs := ceph.filesystem:
        # By pool name, not by tag: the daemons need their pools before `fs new` tags them.
        osd = ", ".join(f"allow rwx pool={fs.name}_{kind}" for kind in ("metadata", "data"))
        for node in site.with_role("mds"):
            yield Entity(f"mds.{node.name}", {"mon": "allow profile mds", "mds": "allow *", "osd": osd})
        # Limits (p) of the platform's folders alone, whose outermost ones no pod sees: of a volume's folder a pod could
        # change the limit, where it may write.
        limits = [f"allow rwp path=/{top}" for top in FOLDERS] if site.components.ava else []
        mds = ", ".join(["allow rw", *limits])
        yield Entity(
            fs_entity(fs.name), {"mon": "allow r", "mds": mds, "osd": f"allow rw tag cephfs data={fs.name}"}
        )
    for pool in ceph.rbd_pools:
        caps = {"mon": "profile rbd", "osd": f"profile rbd pool={pool.name}"}
        yield Entity(rbd_entity(pool.name), caps)
    if ceph.backfill:
        yield Entity(ENTITY, backfill_caps())
    for node in object_pools.gateways(site):
        yield Entity(object_pools.entity(node), object_pools.caps())


def distinct(entities: Iterable[Entity]) -> list[Entity]:
    """Return the entities.

    Raises:
        AvadmError: two of them would share a vault variable, and so a key.
    """
    seen: dict[str, Entity] = {}
    for entity in entities:
        other = seen.setdefault(entity.secret, entity)
        if other is not entity:
            raise AvadmError.of(
                "ceph-key-clash-names",
                where="components.ceph",
                found=entity.secret,
                wanted="names that differ in a letter or digit",
                name=other.name,
                name2=entity.name,
            )
    return list(seen.values())


def osd_count(site: Site) -> int:
    """Return how many OSDs the site's approved devices make."""
    return sum(d.use == "osd" for node in site.with_role("osd") for d in node.devices)


def monmap_arguments(mons: list[Node], major: int) -> list[str]:
    """Return monmaptool's arguments that name every monitor; with msgr v2 where the release knows it (14)."""
    arguments: list[str] = []
    for mon in mons:
        if major >= 14:
            arguments += ["--addv", mon.name, f"[v2:{mon.address}:3300,v1:{mon.address}:6789]"]
        else:
            arguments += ["--add", mon.name, f"{mon.address}:6789"]
    return arguments


def pool_vars(site: Site) -> dict[str, dict[str, Any]]:
    """Return every pool as avadm_ceph_pool takes it, by name."""
    ceph = site.components.ceph
    shares, application = {}, {}
    if fs := ceph.filesystem:
        shares[f"{fs.name}_metadata"] = fs.share * METADATA_SHARE
        shares[f"{fs.name}_data"] = fs.share * (1 - METADATA_SHARE)
        application = dict.fromkeys(shares, "cephfs")
    for pool in ceph.rbd_pools:
        shares[pool.name], application[pool.name] = pool.share, "rbd"
    for name, share in object_pools.shares(site).items():
        shares[name], application[name] = share, "rgw"
    counts = pg_counts(shares, osd_count(site), ceph.replicas)
    common = {"size": ceph.replicas, "min_size": ceph.min_replicas}
    return {n: {"name": n, "pg_num": counts[n], "application": application[n], **common} for n in shares}


def config(site: Site, profile: Profile) -> dict[str, Section]:
    """Return ceph.conf as sections; the user's own `config` is laid over ours, key by key."""
    ceph = site.components.ceph
    mons = site.with_role("mon")
    sections = base_config(site, ceph, mons)
    if site.network.storage and all(n.storage_address for n in site.with_role("osd")):
        sections["global"]["cluster_network"] = str(site.network.storage)
    rbd = RBD_FEATURES[profile.features["rbd_client"]]
    sections["client"] = {"rbd_default_features": ",".join(rbd)}
    if release(profile) >= 14:
        # The site file decides, so that a pool's groups are the same on every run. 13 has no autoscaler.
        sections["global"]["osd_pool_default_pg_autoscale_mode"] = "off"
        # CVE-2021-20288; from 14.2.20 on the cluster warns until old clients are shut out.
        sections["mon"]["auth_allow_insecure_global_id_reclaim"] = False
    sections |= object_pools.sections(site)
    for name, options in ceph.config.items():
        section = sections.setdefault(name, {})
        section |= {option_name(key): value for key, value in options.items()}
    return sections


def base_config(site: Site, ceph: Ceph, mons: list[Node]) -> dict[str, Section]:
    """Return what every release from 13.2 to 18.2 knows."""
    return {
        "global": {
            "fsid": "{{ ceph_common_fsid }}",
            "mon_initial_members": ",".join(mon.name for mon in mons),
            # Plain addresses: 13 reads them as v1, later releases as v2 and v1 on their usual ports.
            "mon_host": ",".join(str(mon.address) for mon in mons),
            "public_network": str(site.network.management),
            "auth_cluster_required": "cephx",
            "auth_service_required": "cephx",
            "auth_client_required": "cephx",
            "osd_pool_default_size": ceph.replicas,
            "osd_pool_default_min_size": ceph.min_replicas,
        },
        "mon": {
            "mon_clock_drift_allowed": site.time.max_skew_ms / 1000,
            "mon_allow_pool_delete": False,
            # From the start: enabling a module later restarts every manager, which costs half a minute.
            "mgr_initial_modules": " ".join(MGR_MODULES),
        },
        "osd": {"osd_memory_target": ceph.osd_memory_mib * MIB},
        "mds": {"mds_cache_memory_limit": ceph.mds_cache_mib * MIB},
    }
