"""Variables of the role kube_volumes: volumes for pods on cephfs, block images and local disks."""

from __future__ import annotations

from avadm.components.ava.component import NAMESPACE
from avadm.components.ceph.identities import Entity, fs_entity, rbd_entity
from avadm.components.ceph.variables import make_key
from avadm.components.masters.variables import api_url
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_pem
from avadm.pki.model import Authority, key_variable
from avadm.site import placement as places
from avadm.site.model import Site
from avadm.site.profile import Profile

ROOT = "/volumes"
"""Folder of all volumes in the file system."""
TELLERS = 3
"""How many nodes tell people that a claim of a local volume cannot be met."""


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of kube_volumes; nothing without masters or a file system."""
    site, profile, store = given.site, given.profile, given.store
    fs = site.components.ceph.filesystem
    if not (site.with_role("master") and site.with_role("mon") and fs):
        return
    entity = Entity(f"{fs_entity(fs.name)}-volumes", {})
    out.secrets[entity.secret] = make_key
    own = [n for n in site.nodes if n.local_volumes_gib]
    out.all |= {
        "kube_volumes_default": site.components.kubernetes.default_class,
        "kube_volumes_mount": fs.mount,
        "kube_volumes_root": ROOT,
        # What a provisioner's certificate may make volumes of, of all the paths of a node.
        "kube_admission_folders": "{{ kube_volumes_mount | regex_replace('/+$', '') }}{{ kube_volumes_root }}",
        "kube_volumes_entity": entity.name,
        "kube_volumes_entity_key": entity.key,
        "kube_volumes_server": api_url(site),
        "kube_volumes_ca_certificate": store.trusted(Authority.KUBERNETES),
        "kube_volumes_rbd": rbd(site, profile),
        "kube_volumes_nfs": list(site.components.ava.nfs_servers) if site.components.ava else [],
        "kube_volumes_local": bool(own),
    }
    for turn, node in enumerate(places.provisioners(site)):
        out.host(node.name)["kube_volumes_turn"] = turn
        out.host(node.name)["kube_volumes_provisioner_certificate"] = store.leaf(f"provisioner-{node.name}")
    for number, node in enumerate(own):
        out.host(node.name).update(
            kube_volumes_local_gib=node.local_volumes_gib,
            kube_volumes_local_tells=number < TELLERS,
            kube_volumes_certificate=store.leaf(f"volumes-{node.name}"),
        )
    for node in places.volume_makers(site):
        out.host(node.name)["kube_volumes_key"] = key_pem(key_variable(f"volumes-{node.name}"))


def classes(site: Site) -> list[str]:
    """Return the storage classes that the site has, the shared one first."""
    if not (site.with_role("master") and site.with_role("mon") and site.components.ceph.filesystem):
        return []
    there = {
        "cephfs": True,
        "rbd": bool(site.components.ceph.rbd_pools),
        "local": any(n.local_volumes_gib for n in site.nodes),
    }
    return [name for name, has in there.items() if has]


def rbd(site: Site, profile: Profile) -> dict[str, str]:
    """Return where block volumes are and how nodes map them; nothing where the site has no pool for them."""
    pools = [p.name for p in site.components.ceph.rbd_pools]
    if not pools:
        return {}
    pool = site.components.kubernetes.rbd_pool or pools[0]
    found = {"pool": pool, "entity": rbd_entity(pool), "mapper": profile.features["rbd_map"]}
    # Claims of the platform's own namespace alone may name snapshots of images that are not volumes.
    return found | ({"snapshots": NAMESPACE} if site.components.ava else {})
