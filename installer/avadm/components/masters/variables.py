"""Variables of the control plane's roles: kube_common, kube_apiserver, kube_vip, kube_controllers."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from avadm.components.ava import component as ava
from avadm.components.etcd.variables import client_urls
from avadm.components.objects.object_pools import name as object_name
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_data, key_pem, pem_of
from avadm.pki.model import ADMIN, SERVICE_ACCOUNTS, Authority, key_variable
from avadm.pki.store import KeyStore
from avadm.private_files import write_private
from avadm.site.model import Node, Site
from avadm.site.placement import registry_name

API_PORT = 6443
MARK = "# Written by avadm: "
ENCRYPTION_KEY = "vault_kube_encryption_key"


def api_url(site: Site) -> str:
    """Return where nodes and people reach the API: its virtual address, else the first master."""
    return f"https://{site.network.api_vip or site.with_role('master')[0].address}:{API_PORT}"


def encryption_key() -> str:
    """Return a new key for AES-256, base64."""
    return base64.b64encode(os.urandom(32)).decode()


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the masters; nothing where the site has none."""
    site, profile, store = given.site, given.profile, given.store
    masters = site.with_role("master")
    if not masters:
        return
    out.secrets[ENCRYPTION_KEY] = encryption_key
    authority = store.trusted(Authority.KUBERNETES)
    services = str(site.network.services)
    out.all |= {
        "kube_common_hyperkube": "{{ artifacts.kubernetes.files.hyperkube }}",
        "kube_common_ca_certificate": authority,
        "kube_apiserver_services": services,
        # AVA asks the cache's masters through it (ava/files/cache_stats.py); no account of the site may get services/proxy.
        # Not whether the workers see the cache: another worker would restart the API servers.
        "kube_apiserver_external_endpoints": bool(site.components.ava and ava.mounts_cache(site)),
        "kube_apiserver_encryption_key": f"{{{{ {ENCRYPTION_KEY} }}}}",
        "kube_apiserver_etcd_ca_certificate": store.trusted(Authority.ETCD),
        "kube_apiserver_front_proxy_ca_certificate": store.trusted(Authority.FRONT_PROXY),
        "kube_apiserver_service_accounts_public_key": store.service_accounts,
        "kube_controllers_packages": profile.packages.get("kube_controllers", []),
        "kube_controllers_pods": str(site.network.pod_range),
        "kube_controllers_services": services,
        "kube_controllers_service_accounts_key": key_pem(key_variable(SERVICE_ACCOUNTS)),
    }
    if site.network.api_vip:
        out.all |= {
            "kube_vip_packages": profile.packages.get("kube_vip", []),
            "kube_vip_address": str(site.network.api_vip),
            "kube_vip_servers": {n.name: str(n.address) for n in masters},
            # Of this network the address is the site's alone, and so is its last number.
            "kube_vip_router_id": int(site.network.api_vip) % 256 or 255,
            "kube_vip_ca_certificate": authority,
        }
    out.all |= {
        "kube_admission_program": "{{ artifacts.admission.files['avadm-admission'] }}",
        "kube_admission_pods": [str(network) for network in site.network.pod_networks],
        "kube_admission_ca_certificate": authority,
        "kube_admission_hosts": _reserved(site),
        "kube_admission_platform": {"user": ava.OPERATOR, "domain": ava.services(site)}
        if site.components.ava
        else {},
    }
    for node in masters:
        out.host(node.name).update(_master(node, site, store))
        out.host(node.name).update(
            # It listens at its node's address alone: at 127.0.0.1 there is haproxy, or nothing.
            kube_admission_server=f"https://{node.address}:{API_PORT}",
            kube_admission_certificate=store.leaf(f"admission-{node.name}"),
            kube_admission_key=key_pem(key_variable(f"admission-{node.name}")),
        )
        out.host(node.name)["kube_apiserver_etcd_servers"] = _etcd_servers(node, site)


def _reserved(site: Site) -> list[str]:
    """Return the names of the site that no tenant's Ingress may have: of what the ingress serves, and of its nodes."""
    domain = site.network.domain
    own = [ava.host(site), ava.workbenches(site), ava.services(site)]
    names = [registry_name(site), object_name(site), f"ssh.{domain}"]
    return sorted({*filter(None, own), *names, *(f"{n.name}.{domain}" for n in site.with_role("ingress"))})


def _etcd_servers(node: Node, site: Site) -> list[str]:
    """Return which members of etcd a master's API server asks: the one on its own node, else all.

    The client of 1.9 stays with one member and has no keepalive (storagebackend/factory/etcd3.go): where that member's node loses
    power, requests hang until TCP gives up, while `/healthz` is good. With its own member alone it falls out of haproxy instead.
    """
    members = site.with_role("etcd")
    return client_urls([node] if node in members else members)


def kubeconfig(
    store: KeyStore, server: str, key: str, leaf: str = "admin", namespace: str = "default"
) -> str:
    """Return a kubeconfig, with all that it needs in it: the administrator's, or that of another certificate.

    Args:
        store: the certificates.
        server: URL of the API.
        key: the private key, base64 of PEM, or an Ansible expression for it.
        leaf: the certificate's name in the store.
        namespace: where commands work that name none.
    """
    account = leaf.removeprefix("account-")
    # In quotes: a name may look like a number.
    user = "kubernetes-admin" if leaf == "admin" else f'"{account}"'
    where = "" if namespace == "default" else f', namespace: "{namespace}"'
    return (
        f"{MARK}the {'administrator' if leaf == 'admin' else f'account {account}'} of the site's Kubernetes.\n"
        "apiVersion: v1\nkind: Config\nclusters:\n  - name: kubernetes\n    cluster:\n"
        f"      server: {server}\n"
        f"      certificate-authority-data: {b64(store.trusted(Authority.KUBERNETES))}\n"
        f"users:\n  - name: {user}\n    user:\n"
        f"      client-certificate-data: {b64(store.leaf(leaf))}\n"
        f"      client-key-data: {key}\n"
        f"contexts:\n  - name: default\n    context: {{cluster: kubernetes, user: {user}{where}}}\n"
        "current-context: default\n"
    )


def keep_files(site: Site, store: KeyStore, keys: Mapping[str, str]) -> None:
    """Write the administrator's kubeconfig beside the site file, `SITE.kubeconfig`, for its owner alone."""
    if site.with_role("master"):
        key = b64(pem_of(keys[key_variable(ADMIN)]))
        keep_private(kubeconfig_path(store), kubeconfig(store, api_url(site), key))


def kubeconfig_path(store: KeyStore, whose: str = "") -> Path:
    """Return where a kubeconfig lies: the administrator's, or that of another certificate."""
    return store.path.with_suffix("").with_suffix(f"{whose and '.'}{whose}.kubeconfig")


def keep_private(path: Path, text: str) -> None:
    """Write a file for its owner alone; one that is right already is left untouched."""
    if not path.exists() or path.read_text() != text or path.stat().st_mode & 0o077:
        write_private(path, text.encode())


def b64(text: str) -> str:
    """Return a text in base64."""
    return base64.b64encode(text.encode()).decode()


def _master(node: Node, site: Site, store: KeyStore) -> dict[str, Any]:
    own = f"https://{node.address}:{API_PORT}"
    key = key_pem(key_variable(f"master-{node.name}"))
    return {
        "kube_apiserver_address": str(node.address),
        "kube_apiserver_peers": [str(n.address) for n in site.with_role("master") if n is not node],
        "kube_apiserver_certificate": store.leaf(f"apiserver-{node.name}"),
        "kube_apiserver_etcd_certificate": store.leaf(f"apiserver-etcd-{node.name}"),
        "kube_apiserver_kubelet_certificate": store.leaf(f"apiserver-kubelet-{node.name}"),
        "kube_apiserver_front_proxy_certificate": store.leaf(f"front-proxy-{node.name}"),
        "kube_apiserver_key": key,
        # Root of a master asks its own server, whichever node has the virtual address.
        "kube_apiserver_admin_kubeconfig": kubeconfig(store, own, key_data(key_variable(ADMIN))),
        "kube_controllers_server": own,
        "kube_controllers_manager_certificate": store.leaf(f"controller-manager-{node.name}"),
        "kube_controllers_scheduler_certificate": store.leaf(f"scheduler-{node.name}"),
        "kube_controllers_key": key,
        "kube_controllers_address": str(node.address),
        "kube_controllers_metrics_certificate": store.leaf(f"kube-metrics-{node.name}"),
        "kube_controllers_metrics_key": key_pem(key_variable(f"health-{node.name}")),
        **(
            {
                "kube_vip_own_address": str(node.address),
                "kube_vip_health_certificate": store.leaf(f"health-{node.name}"),
                "kube_vip_health_key": key_pem(key_variable(f"health-{node.name}")),
            }
            if site.network.api_vip
            else {}
        ),
    }
