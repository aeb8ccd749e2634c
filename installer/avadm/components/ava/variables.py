"""Variables of the role ava; nothing where the site has no platform."""

from __future__ import annotations

import base64
import secrets
from ipaddress import IPv4Network
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from avadm.components.addons.variables import REGISTRY_PORT
from avadm.components.alluxio.placement import MASTER_WEB_PORT
from avadm.components.ava.component import (
    DATABASE,
    INTERNAL,
    JUMP,
    NAMESPACE,
    PARTS,
    SERVED,
    cache,
    doors,
    host,
    images,
    mount,
    services,
    workbenches,
)
from avadm.components.catalog import held
from avadm.components.database import variables as database
from avadm.components.database.component import AUTHORITY, nodes
from avadm.components.logs import variables as logs
from avadm.components.nodes.variables import tunnels
from avadm.components.volumes import variables as volumes
from avadm.components.volumes.variables import classes
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.model import Authority
from avadm.site import placement as places
from avadm.site.model import Site

SEALING_KEY = "vault_ava_sealing_key"
"""Seals what users give and no one gets back (deploy keys); with another one that is lost."""
GATE_SECRET, JUMP_SECRET, JUMP_HOST_KEY = (
    "vault_ava_gate_secret",
    "vault_ava_jump_secret",
    "vault_ava_jump_host_key",
)
SECRET_BYTES = 32
RULES = "ava"
"""Prometheus' file of rules, and Grafana's dashboard."""
CALLERS = "/api/v1/services/caller"
"""Where the API answers who may call a service."""
INIT = "/usr/lib/ava/init"
"""Path on workers of the init process that the operator mounts into users' containers."""

LINK_LOCAL = IPv4Network("169.254.0.0/16")
"""Where clouds serve what is for a machine alone."""


def sealing_key() -> str:
    """Return a new key: 32 random bytes in base64, as Fernet wants it."""
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode("ascii")


def host_key() -> str:
    """Return a new private host key of the ssh gateway in OpenSSH's format; with another one users are warned by their ssh."""
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode("ascii")


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the platform's pods, and of the nodes on which they run."""
    site, store, knobs = given.site, given.store, given.site.components.ava
    kept = site.components.database
    if knobs is None or kept is None:
        return
    out.secrets[SEALING_KEY] = sealing_key
    out.secrets[GATE_SECRET] = out.secrets[JUMP_SECRET] = lambda: secrets.token_urlsafe(SECRET_BYTES)
    out.secrets[JUMP_HOST_KEY] = host_key
    out.all |= {
        "ava_namespace": NAMESPACE,
        "ava_parts": list(PARTS),
        "ava_replicas": knobs.replicas,
        "ava_host": host(site),
        "ava_registry": f"{places.registry_name(site)}:{REGISTRY_PORT}",
        "ava_registry_writer": f"127.0.0.1:{REGISTRY_PORT + 2}",
        "ava_archive": "{{ artifacts['ava-image'].files['image.tar'] }}",
        "ava_version": "{{ artifacts['ava-image'].version }}",
        "ava_init": "{{ artifacts['ava-init'].files.init }}",
        "ava_init_path": INIT,
        "ava_images": {name: f"{{{{ artifacts['{name}'] }}}}" for name in images(site)},
        "ava_git_openings": _code(site),
        "ava_git_host_keys": "".join(f"{one.host_keys.rstrip()}\n" for one in knobs.git if one.host_keys),
        "ava_git_ca_certificates": "".join(f"{one.ca.rstrip()}\n" for one in knobs.git if one.ca),
        "ava_served_port": SERVED,
        "ava_internal_port": INTERNAL,
        "ava_registration": knobs.registration,
        "ava_database": {
            "host": str(kept.vip or nodes(site)[0].address) if nodes(site) else "",
            "port": kept.port,
            "name": DATABASE,
            "user": DATABASE,
        },
        "ava_database_password": f"{{{{ {database.password(DATABASE)} }}}}",
        "ava_database_ca_certificate": store.trusted(AUTHORITY),
        "ava_database_addresses": _addresses(site),
        "ava_sealing_key": f"{{{{ {SEALING_KEY} }}}}",
        "ava_doors": doors(site),
        "ava_workbenches_below": workbenches(site),
        "ava_services_below": services(site),
        "ava_jump_host": f"ssh.{site.network.domain}",
        "ava_jump_inner_port": JUMP,
        "ava_gate_secret": f"{{{{ {GATE_SECRET} }}}}",
        "ava_jump_secret": f"{{{{ {JUMP_SECRET} }}}}",
        "ava_jump_host_key": f"{{{{ {JUMP_HOST_KEY} }}}}",
        "ava_masters": [str(n.address) for n in site.with_role("master")],
        "ava_api_addresses": _servers(site),
        "ava_ingress_addresses": [str(n.address) for n in site.with_role("ingress")],
        "ava_dns_addresses": [str(n.address) for n in site.with_role("dns")],
        "ava_openings": _openings(site),
        "ava_tunnels": [str(found)] if (found := tunnels(site)) else [],
        "ava_log_stores": logs.stores(site),
        "ava_log_user": logs.USER,
        "ava_log_secrets": [p.compiled().pattern for p in logs.SECRETS] if site.components.logs else [],
    }
    if site.components.logs:
        out.all |= {
            "ava_log_password": f"{{{{ {logs.PASSWORD} }}}}",
            "ava_log_ca_certificate": store.trusted(Authority.LOGS),
            "ava_log_port": site.components.logs.port,
        }
    out.all |= {"ava_mount": mount(site), "ava_cache_mount": cache(site)}
    out.all |= {"ava_cache_masters": _masters(site) if cache(site) else [], "ava_cache_port": MASTER_WEB_PORT}
    out.all |= {"ava_snapshots": "rbd" in classes(site), "ava_nfs_servers": list(knobs.nfs_servers)}
    cached = site.components.alluxio.mounts if site.components.alluxio and cache(site) else []
    out.all["ava_hdfs_stores"] = [mount.path.strip("/") for mount in cached if mount.hdfs]
    out.all["ava_disks"] = "local" in volumes.classes(site)
    space = {
        "home": knobs.space.home_gib,
        "data_set": knobs.space.data_set_gib,
        "owner": knobs.space.owner_gib,
    }
    out.all["ava_space"] = {name: gib * 2**30 for name, gib in space.items() if gib}
    if idle := knobs.workbenches.idle_hours:
        out.all["ava_idle"] = {"hours": idle, "warn_hours": knobs.workbenches.warn_hours}
    # Each workbench has a name, and so an origin, of its own; the gate knows which.
    rule = f"HostRegexp(`{{bench:[a-z0-9]+}}.{workbenches(site)}`)"
    service = f"{NAMESPACE}_gate_80@kubernetes"
    out.all["ingress_routes"] = [{"name": "workbenches", "rule": rule, "service": service}]
    # Before each request to a service that is not public the API is asked who may call it.
    out.all["ingress_callers"] = {"service": f"{NAMESPACE}_api_80@kubernetes", "path": CALLERS}
    if site.network.load_balancer is not None:
        out.all["ava_jump_address"] = str(site.network.load_balancer.last)
    if not site.components.monitoring.existing:
        _add(out.all, "prometheus_more_rules", RULES)
    _add(out.all, "grafana_more_dashboards", RULES)
    if site.with_role("gpu"):
        _add(out.all, "grafana_more_dashboards", "gpu-users")


def _add(target: dict[str, Any], name: str, item: str) -> None:
    target[name] = [*target.get(name, []), item]


def _addresses(site: Site) -> list[str]:
    """Return where PostgreSQL is asked: the virtual address, which one of the nodes holds."""
    found = site.components.database
    own = [str(n.address) for n in nodes(site)]
    return [*([str(found.vip)] if found and found.vip else []), *own]


def _openings(site: Site) -> list[dict[str, Any]]:
    """Return what users' pods may reach: the object store, at its address and behind it at each gateway."""
    store = site.components.object_store
    if store is None:
        return []
    addresses = [*([store.vip] if store.vip else []), *(n.address for n in site.with_role("rgw"))]
    return [{"cidr": f"{address}/32", "ports": [store.port]} for address in addresses]


def _code(site: Site) -> list[dict[str, Any]]:
    """Return what pods may reach whose code is cloned: of each network all but what is the site's own.

    Of a wider network nodes, addresses that nodes hold together, pods, services and link-local addresses are left out; a server
    that is one of the site's nodes is named by its one address.
    """
    knobs = site.components.ava
    own = [IPv4Network(a) for a in (*(n.address for n in site.nodes), *(a for _, a in held(site)))]
    own += [*site.network.pod_networks, site.network.services, LINK_LOCAL]
    own += [site.network.tunnels] if site.network.tunnels else []
    return [
        {
            "cidr": str(network),
            "but": sorted({str(o) for o in own if o != network and o.subnet_of(network)}),
            "ports": list(server.ports),
        }
        for server in (knobs.git if knobs else [])
        for network in server.networks
    ]


def _masters(site: Site) -> list[str]:
    """Return the addresses of the cache's masters, which tell how much of data sets it holds."""
    return [str(n.address) for n in site.with_role("alluxio_master")]


def _servers(site: Site) -> list[str]:
    """Return the addresses at which Kubernetes' API is asked: the Service's, behind it each master's."""
    own = [str(n.address) for n in site.with_role("master")]
    return [*([str(site.network.api_vip)] if site.network.api_vip else []), *own]
