"""Who gets which certificate, from the site file.

A node has one key for each of its parts in the cluster (etcd, control plane, node), not for each certificate: whoever
has one of a part's files has the others too, and 256 nodes need 256 keys instead of 1500.
"""

from __future__ import annotations

from collections.abc import Iterator

from avadm.pki.model import Authority, Leaf
from avadm.site import object_pools
from avadm.site.model import Node, Site
from avadm.site.places import log_stores

ADMIN = "admin"
PROMETHEUS = "prometheus"
GRAFANA = "grafana"
SERVICE_ACCOUNTS = "service-accounts"
"""Owner of the key that signs the tokens of service accounts; it has no certificate."""
CLUSTER_DOMAIN = "cluster.local"
ETCD_ROOT = "root"
"""User of etcd's administrator and of the API servers: etcd knows this name."""
ETCD_CALICO = "calico"
_LOCAL = ("localhost",), ("127.0.0.1",)


def leaves(site: Site) -> list[Leaf]:
    """Return every certificate of the site; those of gateways, stores of logs and monitoring alone where it has no etcd."""
    gateways = [_gateway(node, site) for node in object_pools.gateways(site)]
    logs = [_log_store(node, site) for node in log_stores(site)]
    return [*gateways, *_kubernetes(site), *logs, *_monitoring(site)]


def _kubernetes(site: Site) -> list[Leaf]:
    if not site.with_role("etcd"):
        return []
    found = [leaf for node in site.with_role("etcd") for leaf in _etcd(node, site)]
    if site.with_role("master"):
        found += [leaf for node in site.with_role("master") for leaf in _master(node, site)]
        found += [leaf for node in kube_nodes(site) for leaf in _node(node, site)]
        found += [leaf for node in site.nodes for leaf in _addons(node, site)]
        found += _volumes(site)
        found.append(Leaf("admin", Authority.KUBERNETES, ADMIN, "kubernetes-admin", "system:masters"))
        found.append(Leaf("prometheus", Authority.KUBERNETES, PROMETHEUS, "prometheus"))
        found += accounts(site)
    found.append(Leaf("prometheus-etcd", Authority.ETCD, PROMETHEUS, "prometheus"))
    return found


def owners(site: Site) -> list[str]:
    """Return whose keys the site needs beside the authorities', each once."""
    found = list(dict.fromkeys(leaf.owner for leaf in leaves(site)))
    return [*found, SERVICE_ACCOUNTS] if site.with_role("master") else found


def authorities(site: Site) -> list[Authority]:
    """Return the authorities that the site's certificates need."""
    wanted = {leaf.authority for leaf in leaves(site)}
    return [one for one in Authority if one in wanted]


def kube_nodes(site: Site) -> list[Node]:
    """Return the nodes that run kubelet, in the site file's order."""
    return [n for n in site.nodes if {"master", "worker"} & set(n.roles)]


def provisioners(site: Site) -> list[Node]:
    """Return the nodes that make volumes for pods: the first three that run pods and mount the file system."""
    if not site.components.ceph.filesystem:
        return []
    return [n for n in site.nodes if {"client", "worker"} <= set(n.roles)][:3]


def balances(site: Site) -> bool:
    """Tell whether avadm gives Services of the type LoadBalancer their addresses."""
    return site.network.load_balancer is not None and site.network.load_balancer.by == "avadm"


def volume_makers(site: Site) -> list[Node]:
    """Return all nodes that make volumes: the provisioners, and each node that has local volumes."""
    own = {n.name for n in provisioners(site)}
    return [n for n in site.nodes if n.name in own or n.local_volumes_gib]


def _volumes(site: Site) -> Iterator[Leaf]:
    """Two users, since they may different things: volumes of the whole site, and those of one node."""
    own = {n.name for n in provisioners(site)}
    for node in volume_makers(site):
        owner = f"volumes-{node.name}"
        for kind, group, has in (
            ("volumes", "avadm:volumes", bool(node.local_volumes_gib)),
            ("provisioner", "avadm:provisioners", node.name in own),
        ):
            if has:
                name, user = f"{kind}-{node.name}", f"avadm:{kind}:{node.name}"
                yield Leaf(name, Authority.KUBERNETES, owner, user, group)


def registry_name(site: Site) -> str:
    """Return the name under which everybody knows the site's image registry."""
    return f"registry.{site.network.domain}"


def accounts(site: Site) -> list[Leaf]:
    """Return the certificates of the site's accounts."""
    return [
        Leaf(f"account-{a.name}", Authority.KUBERNETES, f"account-{a.name}", a.name, f"avadm:{a.role}")
        for a in site.components.kubernetes.accounts
    ]


def alertmanagers(site: Site) -> list[Node]:
    """Return the nodes of Alertmanager's mesh; none with the site's own monitoring."""
    return [] if site.components.monitoring.existing else site.with_role("alertmanager")


def metered(site: Site) -> bool:
    """Tell whether avadm's own Prometheus reads the nodes' metrics."""
    return not site.components.monitoring.existing and bool(site.with_role("prometheus"))


def _monitoring(site: Site) -> Iterator[Leaf]:
    members = alertmanagers(site)
    for node in members:
        # Each speaks to the others, and serves them and Prometheus.
        name = f"alertmanager-{node.name}"
        names, addresses = (*_names(node, site), *_LOCAL[0]), (str(node.address), *_LOCAL[1])
        yield Leaf(name, Authority.MONITORING, name, name, names=names, addresses=addresses, server=True)
    if members:
        yield Leaf("prometheus-alerts", Authority.MONITORING, PROMETHEUS, "prometheus")
    if not metered(site):
        return
    for node in site.nodes:
        # For its exporter, and for Prometheus where there is one: it serves, and opens no other's port.
        name = f"metrics-{node.name}"
        names, addresses = (*_names(node, site), *_LOCAL[0]), (str(node.address), *_LOCAL[1])
        yield Leaf(
            name, Authority.METRICS, name, name, names=names, addresses=addresses, server=True, client=False
        )
    yield Leaf("prometheus-metrics", Authority.METRICS, PROMETHEUS, "prometheus")
    if site.with_role("grafana"):
        yield Leaf("grafana-metrics", Authority.METRICS, GRAFANA, "grafana")


def _log_store(node: Node, site: Site) -> Leaf:
    return Leaf(
        f"log-store-{node.name}",
        Authority.LOGS,
        f"log-store-{node.name}",
        f"log-store-{node.name}",
        names=(*_names(node, site), *_LOCAL[0]),
        addresses=(str(node.address), *_LOCAL[1]),
        server=True,
        client=False,
    )


def _names(node: Node, site: Site) -> tuple[str, ...]:
    return node.name, f"{node.name}.{site.network.domain}"


def _gateway(node: Node, site: Site) -> Leaf:
    """Return the certificate of a node's S3 gateway: all of them serve the one name, and buckets as its subdomains."""
    store, name = site.components.object_store, object_pools.name(site)
    virtual = [str(store.vip)] if store and store.vip else []
    return Leaf(
        f"rgw-{node.name}",
        Authority.OBJECTS,
        f"rgw-{node.name}",
        name,
        names=(name, f"*.{name}", *_names(node, site)),
        addresses=(*virtual, str(node.address), *_LOCAL[1]),
        server=True,
        client=False,
    )


def _etcd(node: Node, site: Site) -> Iterator[Leaf]:
    names = (*_names(node, site), *_LOCAL[0])
    addresses = (str(node.address), *_LOCAL[1])
    owner = f"etcd-{node.name}"
    # A server's certificate is a client's too: etcd's own gateway calls its own port with it. Members have an authority of
    # their own: every node's Calico has a client's certificate, and is no member.
    for use, authority in (("server", Authority.ETCD), ("peer", Authority.ETCD_PEERS)):
        yield Leaf(
            f"etcd-{use}-{node.name}",
            authority,
            owner,
            node.name,
            names=names,
            addresses=addresses,
            server=True,
        )
    yield Leaf(f"etcd-client-{node.name}", Authority.ETCD, owner, ETCD_ROOT)


def _master(node: Node, site: Site) -> Iterator[Leaf]:
    owner = f"master-{node.name}"
    kubernetes = Authority.KUBERNETES
    virtual = [str(site.network.api_vip)] if site.network.api_vip else []
    yield Leaf(
        f"apiserver-{node.name}",
        kubernetes,
        owner,
        "kube-apiserver",
        names=(
            *("kubernetes", "kubernetes.default", "kubernetes.default.svc"),
            f"kubernetes.default.svc.{CLUSTER_DOMAIN}",
            f"kubernetes.{site.network.domain}",
            *_names(node, site),
            *_LOCAL[0],
        ),
        # The service `kubernetes` has the first address of the services' network.
        addresses=(*virtual, str(site.network.services[1]), str(node.address), *_LOCAL[1]),
        server=True,
        client=False,
    )
    yield Leaf(f"apiserver-etcd-{node.name}", Authority.ETCD, owner, ETCD_ROOT)
    # The group is needed: 1.9 has no binding for an API server that speaks to kubelets.
    yield Leaf(f"apiserver-kubelet-{node.name}", kubernetes, owner, "kube-apiserver", "system:masters")
    yield Leaf(f"front-proxy-{node.name}", Authority.FRONT_PROXY, owner, "front-proxy-client")
    for name in ("controller-manager", "scheduler"):
        yield Leaf(f"{name}-{node.name}", kubernetes, owner, f"system:kube-{name}")
    yield Leaf(f"health-{node.name}", kubernetes, f"health-{node.name}", "avadm:health")
    # Asked by the API server of its own node alone, which it asks in turn what a volume is that is to be removed.
    yield Leaf(
        f"admission-{node.name}",
        kubernetes,
        f"admission-{node.name}",
        "avadm:admission",
        names=_LOCAL[0],
        addresses=_LOCAL[1],
        server=True,
    )
    yield Leaf(f"calico-controllers-{node.name}", kubernetes, owner, "calico-kube-controllers")
    # haproxy's, as the one before last: it shows the metrics of what listens on 127.0.0.1 alone.
    yield Leaf(
        f"kube-metrics-{node.name}",
        kubernetes,
        f"health-{node.name}",
        "kube-metrics",
        names=_names(node, site),
        addresses=(str(node.address),),
        server=True,
        client=False,
    )


def _addons(node: Node, site: Site) -> Iterator[Leaf]:
    kubernetes = Authority.KUBERNETES
    if "dns" in node.roles:
        yield Leaf(f"coredns-{node.name}", kubernetes, f"dns-{node.name}", "coredns")
    if "prometheus" in node.roles and not site.components.monitoring.existing:
        yield Leaf(f"pod-targets-{node.name}", kubernetes, f"pod-targets-{node.name}", "pod-targets")
    if "master" in node.roles:
        yield Leaf(f"kube-state-metrics-{node.name}", kubernetes, f"states-{node.name}", "kube-state-metrics")
    if "registry" in node.roles:
        yield Leaf(
            f"registry-{node.name}",
            kubernetes,
            f"registry-{node.name}",
            "registry",
            names=(registry_name(site), *_names(node, site)),
            addresses=(str(node.address), *_LOCAL[1]),
            server=True,
            client=False,
        )
        # Who writes is told by the authority alone: the registry looks at no name in a certificate.
        writer = f"registry-writer-{node.name}"
        yield Leaf(writer, Authority.IMAGE_WRITERS, writer, f"deployer:{node.name}")
    if {"master", "worker", "registry"} & set(node.roles):
        user = f"registry:{node.name}"
        yield Leaf(f"registry-client-{node.name}", Authority.IMAGES, f"node-{node.name}", user)
    if "ingress" in node.roles:
        owner, virtual = f"ingress-{node.name}", site.network.ingress_vip
        yield Leaf(f"ingress-{node.name}", kubernetes, owner, "ingress")
        if balances(site):
            yield Leaf(f"load-balancer-{node.name}", kubernetes, owner, "load-balancer")
        yield Leaf(
            f"ingress-server-{node.name}",
            kubernetes,
            owner,
            f"ingress.{site.network.domain}",
            names=(f"ingress.{site.network.domain}", f"*.{site.network.domain}"),
            addresses=(str(node.address), *([str(virtual)] if virtual else [])),
            server=True,
            client=False,
        )


def _node(node: Node, site: Site) -> Iterator[Leaf]:
    owner = f"node-{node.name}"
    user = f"system:node:{node.name}"
    yield Leaf(f"kubelet-client-{node.name}", Authority.KUBERNETES, owner, user, "system:nodes")
    yield Leaf(
        f"kubelet-server-{node.name}",
        Authority.KUBERNETES,
        owner,
        user,
        names=_names(node, site),
        addresses=(str(node.address),),
        server=True,
        client=False,
    )
    yield Leaf(f"kube-proxy-{node.name}", Authority.KUBERNETES, owner, "system:kube-proxy")
    yield Leaf(f"calico-{node.name}", Authority.KUBERNETES, owner, "calico")
    yield Leaf(f"calico-etcd-{node.name}", Authority.ETCD, owner, ETCD_CALICO)
