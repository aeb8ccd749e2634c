"""Variables of what runs beside Kubernetes for everybody: names, the way in from outside, the states of its objects."""

from __future__ import annotations

from ipaddress import summarize_address_range
from typing import Any

from avadm.components.ava import component as ava
from avadm.components.ava.options import ImageSpace
from avadm.components.masters.variables import api_url
from avadm.components.nodes.variables import DNS_OFFSET
from avadm.components.registry.component import USERS
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_pem
from avadm.pki.model import Authority, key_variable
from avadm.pki.store import KeyStore
from avadm.site import placement as places
from avadm.site.model import Node, Site
from avadm.site.profile import Profile

REGISTRY_PORT = 5000
TOKENS = "/api/v1/registry/token"
"""Where the platform's API gives out tokens for it."""
IMAGES = {"pause": "avadm/pause:1", "base-image": "avadm/base:12"}
"""Artifact to the name, with tag, of its image in the registry."""


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of kube_addons, coredns, ingress and kube_state_metrics; nothing without masters."""
    site, profile, store = given.site, given.profile, given.store
    if not site.with_role("master"):
        return
    api, authority = api_url(site), store.trusted(Authority.KUBERNETES)
    out.all |= {
        "kube_addons_dns_service": str(site.network.services[DNS_OFFSET]),
        "kube_addons_dns_servers": [str(n.address) for n in site.with_role("dns")],
        "kube_addons_pods": [str(network) for network in site.network.pod_networks],
        "coredns_program": "{{ artifacts.coredns.files.coredns }}",
        "coredns_server": api,
        "coredns_cluster_domain": places.CLUSTER_DOMAIN,
        "coredns_reverse": [str(network) for network in (site.network.services, *site.network.pod_networks)],
        "coredns_site_domain": site.network.domain,
        "coredns_site_hosts": "\n".join(["{{ base_hosts }}", *_virtual_hosts(site)]),
        "coredns_site_wildcards": _wildcards(site),
        "coredns_site_servers": [str(a) for a in site.components.kubernetes.dns_site],
        "coredns_upstream": list(site.components.kubernetes.dns_upstream),
        "coredns_ca_certificate": authority,
        "ingress_packages": profile.packages.get("ingress", []),
        "ingress_program": "{{ artifacts.traefik.files.traefik }}",
        "ingress_vip": str(site.network.ingress_vip or ""),
        "ingress_router_id": int(site.network.ingress_vip) % 256 or 255 if site.network.ingress_vip else 1,
        "ingress_server": api,
        "ingress_ca_certificate": authority,
        "kube_state_metrics_program": "{{ artifacts['kube-state-metrics'].files['kube-state-metrics'] }}",
    }
    _registry(site, profile, store, out)
    _load_balancer(site, store, out)
    for node in site.with_role("dns"):
        out.host(node.name).update(
            coredns_address=str(node.address),
            coredns_certificate=store.leaf(f"coredns-{node.name}"),
            coredns_key=key_pem(key_variable(f"dns-{node.name}")),
        )
    for node in site.with_role("ingress"):
        out.host(node.name).update(_ingress(node, site, store))
    for node in site.with_role("master"):
        out.host(node.name).update(
            kube_state_metrics_address=str(node.address),
            # Each tells the states that its own server knows: they are the same, and one master may be down.
            kube_state_metrics_server=f"https://{node.address}:{api.rpartition(':')[2]}",
            kube_state_metrics_certificate=store.leaf(f"kube-state-metrics-{node.name}"),
            kube_state_metrics_key=key_pem(key_variable(f"states-{node.name}")),
        )


def _load_balancer(site: Site, store: KeyStore, out: Variables) -> None:
    """Write the variables of load_balancer, and those of ingress about its addresses; nothing where it is not ours."""
    pool = site.network.load_balancer
    if pool is None or not places.balances(site):
        return
    taken = out.all["ingress_router_id"]
    number = int(pool.first) % 256 or 255
    out.all |= {
        "ingress_service_addresses": [str(a) for a in pool.addresses()],
        # Two groups of one node have different numbers.
        "ingress_service_router_id": number if number != taken else number % 255 + 1,
        "load_balancer_first": str(pool.first),
        "load_balancer_last": str(pool.last),
        "load_balancer_networks": [str(n) for n in summarize_address_range(pool.first, pool.last)],
        "load_balancer_server": api_url(site),
        "load_balancer_ca_certificate": store.trusted(Authority.KUBERNETES),
    }
    for turn, node in enumerate(site.with_role("ingress")):
        out.host(node.name).update(
            load_balancer_turn=turn,
            load_balancer_certificate=store.leaf(f"load-balancer-{node.name}"),
            load_balancer_key=key_pem(key_variable(f"ingress-{node.name}")),
        )


def _virtual_hosts(site: Site) -> list[str]:
    """Return lines ADDRESS NAME of the virtual addresses, by the names in their certificates."""
    known = {"kubernetes": site.network.api_vip, "ingress": site.network.ingress_vip}
    if site.components.ava:
        known[site.components.ava.host] = site.network.ingress_vip
        if site.network.load_balancer is not None:
            known["ssh"] = site.network.load_balancer.last
    return [f"{address} {name}.{site.network.domain}" for name, address in known.items() if address]


def _wildcards(site: Site) -> list[dict[str, str]]:
    """Return the names below which every name has one address: those of workbenches and services."""
    virtual = site.network.ingress_vip
    names = ("wb", "services") if site.components.ava and virtual else ()
    return [{"name": name, "address": str(virtual)} for name in names]


def _registry(site: Site, profile: Profile, store: KeyStore, out: Variables) -> None:
    """Write the variables of the registry, and its clients' certificates for docker."""
    servers = site.with_role("registry")
    if not servers:
        return
    name = f"{places.registry_name(site)}:{REGISTRY_PORT}"
    authority = store.trusted(Authority.KUBERNETES)
    out.all |= {
        "registry_packages": profile.packages.get("registry", []),
        "registry_port": REGISTRY_PORT,
        "registry_ca_certificate": authority,
        "registry_readers_ca_certificate": store.trusted(Authority.IMAGES),
        "registry_writers_ca_certificate": store.trusted(Authority.IMAGE_WRITERS),
        "registry_images": {
            image: f"{{{{ artifacts['{artifact}'].files['image.tar'] }}}}"
            for artifact, image in IMAGES.items()
        },
        "docker_registry_authorities": {name: authority},
    }
    if site.components.ava is not None:
        out.all["registry_tokens_ca_certificate"] = store.trusted(Authority.IMAGE_TOKENS)
        out.all["registry_tokens"] = {
            "realm": f"https://{ava.host(site)}{TOKENS}",
            "service": f"{places.registry_name(site)}:{USERS}",
            "issuer": ava.ISSUER,
        }
        out.all["registry_space_client"] = ava.REGISTRY_USER
        out.all["registry_space_limits"] = _limits(site.components.ava.image_space)
    filesystem = site.components.ceph.filesystem
    if site.components.kubernetes.registry_storage == "cephfs" and filesystem:
        mount = filesystem.mount.rstrip("/")
        out.all |= {"registry_mount": mount, "registry_storage": f"{mount}/registry"}
        # What another node's registry is being sent would be taken for what no one needs.
        out.all["registry_gc"] = len(servers) == 1
    # Known by name on every node, whether there is a name service or not.
    out.all["base_hosts"] += f"\n{servers[0].address} {places.registry_name(site)}"
    for node in servers:
        out.host(node.name).update(
            registry_address=str(node.address),
            registry_certificate=store.leaf(f"registry-{node.name}"),
            registry_key=key_pem(key_variable(f"registry-{node.name}")),
            registry_writer_certificate=store.leaf(f"registry-writer-{node.name}"),
            registry_writer_key=key_pem(key_variable(f"registry-writer-{node.name}")),
        )
    for node in site.nodes:
        if {"master", "worker", "registry"} & set(node.roles):
            out.host(node.name)["docker_registry_client"] = {
                "certificate": store.leaf(f"registry-client-{node.name}"),
                "key": key_pem(key_variable(f"node-{node.name}")),
            }


def _limits(space: ImageSpace) -> dict[str, int | None]:
    """Return what owners of images may have, bytes: ``users`` and ``groups`` of each, and single ones by ``users/NAME``."""
    report = {"users": space.user_gib, "groups": space.group_gib, **space.others}
    return {owner: None if gib is None else gib * 2**30 for owner, gib in report.items()}


def _ingress(node: Node, site: Site, store: KeyStore) -> dict[str, Any]:
    return {
        "ingress_address": str(node.address),
        "ingress_peers": [str(n.address) for n in site.with_role("ingress") if n is not node],
        "ingress_client_certificate": store.leaf(f"ingress-{node.name}"),
        "ingress_certificate": store.leaf(f"ingress-server-{node.name}"),
        "ingress_key": key_pem(key_variable(f"ingress-{node.name}")),
    }
