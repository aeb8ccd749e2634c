"""Variables of the role kube_volumes: volumes for pods on cephfs."""

from __future__ import annotations

from avadm.pki import plan
from avadm.pki.certs import key_pem
from avadm.pki.model import Authority, key_variable
from avadm.pki.store import Store
from avadm.site.model import Site
from avadm.site.render import Vars
from avadm.site.render.ceph import Entity, fs_entity, make_key
from avadm.site.render.masters import api_url


def render(site: Site, store: Store, out: Vars) -> None:
    """Write the variables of kube_volumes; nothing without masters or a file system."""
    fs = site.components.ceph.filesystem
    if not (site.with_role("master") and site.with_role("mon") and fs):
        return
    entity = Entity(f"{fs_entity(fs.name)}-volumes", {})
    out.secrets[entity.secret] = make_key
    out.all |= {
        "kube_volumes_mount": fs.mount,
        "kube_volumes_entity": entity.name,
        "kube_volumes_entity_key": entity.key,
        "kube_volumes_server": api_url(site),
        "kube_volumes_ca_certificate": store.trusted(Authority.KUBERNETES),
    }
    for turn, node in enumerate(plan.provisioners(site)):
        out.host(node.name).update(
            kube_volumes_turn=turn,
            kube_volumes_certificate=store.leaf(f"volumes-{node.name}"),
            kube_volumes_key=key_pem(key_variable(f"volumes-{node.name}")),
        )
