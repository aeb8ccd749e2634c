"""What acceptance measures at a site: its storage, its Kubernetes and its parts, from the site file."""

from __future__ import annotations

from avadm.artifacts.manifest import named
from avadm.components.addons.variables import IMAGES, REGISTRY_PORT
from avadm.components.ceph.identities import rbd_entity
from avadm.components.logs.variables import USER, stores
from avadm.components.nodes.variables import limits
from avadm.components.objects.object_pools import AUTHORITY, gateways
from avadm.components.objects.variables import REGION, endpoint, held_authority, keys_of, require
from avadm.components.volumes.variables import classes
from avadm.pki.model import key_variable
from avadm.site import placement as places
from avadm.site.load import SiteFile
from avadm.site.vault import Vault
from avadm_acceptance.cache_target import cache_target
from avadm_acceptance.platform_target import platform_target
from avadm_validation.measuring.targets import KubeTarget, LogTarget, ObjectTarget, Target

QUOTA_BYTES = 16 << 20
"""Quota of a user that the acceptance suite makes, and tries to exceed."""
MIN_SIZE_NOTE = (
    "The pools keep {replicas} copies and continue with {least}: with one copy left, acknowledged writes are lost if that "
    "copy is lost before the other is back. Three copies with two needed remove this risk."
)


def target_of(site_file: SiteFile) -> Target:
    """Return what acceptance measures at a site; parts that the site does not have are None, empty or ""."""
    site, ceph = site_file.site, site_file.site.components.ceph
    clients, mons = site.with_role("client"), site.with_role("mon")
    pool = ceph.rbd_pools[0].name if ceph.rbd_pools else None
    notes = []
    if mons and ceph.min_replicas < 2:
        notes.append(MIN_SIZE_NOTE.format(replicas=ceph.replicas, least=ceph.min_replicas))
    kube = _kubernetes(site_file)
    return Target(
        site=site.name,
        profile=site.profile,
        kind="lab" if site_file.profile.features.get("acceptance") == "lab" else "site",
        clients=tuple(n.name for n in clients),
        mon=mons[0].name if mons else "",
        nodes=tuple(n.name for n in site.nodes),
        mds=tuple(n.name for n in site.with_role("mds")),
        mount=ceph.filesystem.mount if ceph.filesystem and site.with_role("mds") else None,
        pool=pool,
        rbd_user=rbd_entity(pool).removeprefix("client.") if pool else "",
        python=site_file.profile.python,
        ceph_python=site_file.profile.ceph_python or site_file.profile.python,
        max_skew_ms=site.time.max_skew_ms,
        notes=tuple(notes),
        kube=kube,
        objects=_objects(site_file) if clients else None,
        cache=cache_target(site_file),
        logs=LogTarget({s["name"]: s["url"] for s in stores(site)}, USER) if stores(site) else None,
        platform=platform_target(site, kube),
    )


def _objects(site_file: SiteFile) -> ObjectTarget | None:
    """Return what is measured of a site's object store; None where it has none, or where it is not installed yet."""
    site, store = site_file.site, site_file.site.components.object_store
    if store is None:
        return None
    held = Vault.open(site_file.path).read()
    require(site, held)
    own = {n.name: f"https://{n.address}:{store.port}" for n in gateways(site)}

    if own and not all(held.get(key_variable(f"rgw-{node}")) for node in own):
        return None
    access, secret = keys_of(site, "")
    return ObjectTarget(
        endpoint=endpoint(site),
        region=store.external.region if store.external and not own else REGION,
        keys=("", "") if own else (held.get(access, ""), held.get(secret, "")),
        ca=AUTHORITY if own else "",
        gateways=own,
        quota_bytes=QUOTA_BYTES if own else 0,
        ca_pem=held_authority(site_file.path) if own else "",
    )


def _kubernetes(site_file: SiteFile) -> KubeTarget | None:
    """Return what is measured of a site's Kubernetes; None without masters."""
    site = site_file.site
    masters = site.with_role("master")
    if not masters:
        return None
    inside = [n for n in site.nodes if {"master", "worker"} & set(n.roles)]
    outside = [n.name for n in site.nodes if n not in inside and "ingress" not in n.roles]
    (artifact,) = named(("kubernetes",), site_file.profile.versions)
    vip = site.network.ingress_vip if site.with_role("ingress") else None
    knobs, kinds = site.components.kubernetes, tuple(classes(site))
    registry = f"{places.registry_name(site)}:{REGISTRY_PORT}/" if site.with_role("registry") else ""
    return KubeTarget(
        master=masters[0].name,
        nodes=tuple(n.name for n in inside),
        version=f"v{artifact.version}",
        image=registry + IMAGES["base-image"],
        domain=site.network.domain,
        addresses={n.name: str(n.address) for n in site.nodes},
        ingress=str(vip or ""),
        balancer=(str(pool.first), str(pool.last)) if (pool := site.network.load_balancer) else (),
        outside=outside[0] if outside else "",
        gpu_nodes=tuple(n.name for n in site.with_role("gpu")),
        masters=tuple(n.name for n in masters),
        etcd=tuple(n.name for n in site.with_role("etcd")),
        cluster_domain=places.CLUSTER_DOMAIN,
        classes=kinds,
        default_class=knobs.default_class if knobs.default_class in kinds else "",
        mounters=tuple(n.name for n in site.nodes if {"client", "worker"} <= set(n.roles)),
        kubelet=limits(knobs),
    )
