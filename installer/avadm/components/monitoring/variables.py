"""Variables of the monitoring roles (I2): what is scraped and probed, who sends alerts to whom.

All of it is computed here, once, from the site file: the roles copy it and look at no other host.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Any

from avadm.components.alluxio import placement as cache
from avadm.inventory.model import RenderContext, Variables
from avadm.site.model import Node, Site
from avadm.site.profile import Profile

# TCP port of each exporter and daemon; the job of the same name scrapes it.
PORTS = {
    "node": 9100,
    "ceph": 9283,
    "prometheus": 9090,
    "alertmanager": 9093,
    "blackbox": 9115,
    "gpu": 9400,
    "alluxio-master": cache.MASTER_WEB_PORT,
    "alluxio-worker": cache.WORKER_WEB_PORT,
}
GOSSIP_PORT = 9094
"""TCP and UDP port of Alertmanager's mesh."""
GRAFANA_PORT = 3000

# Scrape job to the site file's role whose nodes it scrapes; None: every node.
# Standby managers answer with an empty page, so that all of them can be scraped and none has to be chosen.
JOBS: dict[str, str | None] = {
    "node": None,
    "ceph": "mgr",
    "prometheus": "prometheus",
    "alertmanager": "alertmanager",
    "gpu": "gpu",
    "alluxio-master": "alluxio_master",
    "alluxio-worker": "alluxio_worker",
}

# Blackbox probes: name, blackbox module, site role (None: every node), and what is probed. Of the two of Prometheus and of
# Alertmanager one is used: the second where it asks for certificates.
PROBES: tuple[tuple[str, str, str | None, str], ...] = (
    ("ssh", "ssh_banner", None, "{address}:{ssh_port}"),
    ("icmp", "icmp", None, "{address}"),
    ("mon-v1", "tcp_connect", "mon", "{address}:6789"),
    ("mon-v2", "tcp_connect", "mon", "{address}:3300"),
    ("prometheus", "http_2xx", "prometheus", f"http://{{address}}:{PORTS['prometheus']}/-/ready"),
    ("prometheus", "metrics", "prometheus", f"https://{{address}}:{PORTS['prometheus']}/-/ready"),
    ("alertmanager", "http_2xx", "alertmanager", f"http://{{address}}:{PORTS['alertmanager']}/-/ready"),
    ("alertmanager", "alertmanager", "alertmanager", f"https://{{address}}:{PORTS['alertmanager']}/-/ready"),
)
PASSWORD_BYTES = 24
"""Random bytes of a generated password."""
MSGR2_SINCE = 14
"""The ceph release whose monitors first listen on 3300 (docs.ceph.com, Messenger v2)."""

PACKAGED = ("prometheus", "alertmanager", "node_exporter", "blackbox_exporter", "grafana")

TargetGroup = dict[str, Any]


def render(given: RenderContext, out: Variables) -> None:
    """Add the variables of prometheus, alertmanager, node_exporter, blackbox_exporter and grafana.

    ``features.blackbox_icmp: false`` of the profile leaves out the ICMP probes; ``features.monitoring_layout`` may hold further
    role variables (paths, service names).
    """
    site, profile = given.site, given.profile
    knobs = site.components.monitoring
    servers = [] if knobs.existing else site.with_role("prometheus")
    routers = [] if knobs.existing else site.with_role("alertmanager")
    out.all.update(
        {
            "prometheus_existing": list(knobs.existing),
            "prometheus_external_labels": {"site": site.name},
            "prometheus_scrape_interval_s": knobs.scrape_interval_s,
            "prometheus_retention_days": knobs.retention_days,
            "prometheus_disk_gib": knobs.disk_gib or 0,
            # Components of phases before this one may have added theirs.
            "prometheus_targets": out.all.get("prometheus_targets", {}) | targets(site, profile),
            "prometheus_alertmanagers": [_socket(n, PORTS["alertmanager"]) for n in routers],
            "prometheus_blackbox": f"127.0.0.1:{PORTS['blackbox']}" if servers else "",
            "prometheus_ceph_instance": f"ceph-{site.name}",
            "alertmanager_webhook_url": knobs.webhook_url or "",
            "alertmanager_cluster_port": GOSSIP_PORT,
            "node_exporter_port": PORTS["node"],
            "grafana_port": GRAFANA_PORT,
            "grafana_domain": site.network.domain,
            "grafana_datasources": datasources(site, profile),
        }
    )
    for role in PACKAGED:
        out.all[f"{role}_packages"] = list(profile.packages.get(role, []))
    out.all["prometheus_pod_bounds"] = profile.features.get("prometheus_pod_bounds", True)
    out.all.update(profile.features.get("monitoring_layout", {}))
    for node in site.with_role("prometheus"):
        # Half of the least that such a machine has: what tenants' pods answer must not take the node from its other parts.
        least = profile.hardware.get("prometheus")
        if least and least.memory_gib:
            out.host(node.name)["prometheus_memory_limit"] = f"{int(least.memory_gib) // 2}G"
    for node in site.nodes:
        out.host(node.name).update(
            {
                "node_exporter_address": str(node.address),
                "node_exporter_labels": {"site": site.name, **labels(node)},
            }
        )
    for node in servers:
        out.host(node.name).update(
            {
                "prometheus_address": str(node.address),
                "prometheus_replica": node.name,
                "prometheus_external_url": f"http://{node.name}.{site.network.domain}:{PORTS['prometheus']}/",
            }
        )
    for node in routers:
        out.host(node.name).update(
            {
                "alertmanager_address": str(node.address),
                "alertmanager_peers": [_socket(n, GOSSIP_PORT) for n in routers if n is not node],
                "alertmanager_external_url": f"http://{node.name}.{site.network.domain}:{PORTS['alertmanager']}/",
            }
        )
    for node in site.with_role("grafana"):
        out.host(node.name)["grafana_address"] = str(node.address)
        out.secrets["vault_grafana_admin_password"] = lambda: secrets.token_urlsafe(PASSWORD_BYTES)


def labels(node: Node) -> dict[str, str]:
    """Return the labels that every series and alert about a node carries.

    ``roles`` has a comma at both ends, so that ``roles=~".*,osd,.*"`` finds one role and nothing like it.
    """
    return {"node": node.name, "rack": node.rack, "roles": f",{','.join(node.roles)}," if node.roles else ","}


def targets(site: Site, profile: Profile) -> dict[str, list[TargetGroup]]:
    """Return each scrape job's targets as Prometheus' file_sd wants them; jobs without targets are absent.

    Job ``probe`` holds the blackbox probes: its targets are what is probed, ``__param_module`` says how.
    With a Prometheus of the site's own, only what it can scrape itself is given: nodes and ceph.
    """
    existing = bool(site.components.monitoring.existing)
    jobs: dict[str, list[TargetGroup]] = {}
    for job, role in JOBS.items():
        if existing and job in ("prometheus", "alertmanager"):
            continue
        port = PORTS[job]
        jobs[job] = [group(_socket(n, port), n, f"{n.name}:{port}") for n in _nodes(site, role)]
    if not existing and site.with_role("prometheus"):
        jobs["probe"] = list(_probes(site, profile))
    return {job: groups for job, groups in jobs.items() if groups}


def datasources(site: Site, profile: Profile) -> list[dict[str, str]]:
    """Return grafana's Prometheus servers, name and URL: the replicas, or the site's own."""
    existing = site.components.monitoring.existing
    if existing:
        return [{"name": f"prometheus-{i}", "url": url} for i, url in enumerate(existing, start=1)]
    port = PORTS["prometheus"]
    scheme = "https" if profile.features.get("metrics_tls", False) else "http"
    return [{"name": n.name, "url": f"{scheme}://{_socket(n, port)}"} for n in site.with_role("prometheus")]


def _probes(site: Site, profile: Profile) -> Iterable[TargetGroup]:
    left_out = set()
    if not profile.features.get("blackbox_icmp", True):
        left_out.add("icmp")
    if _major(profile.versions.get("ceph", "")) < MSGR2_SINCE:
        left_out.add("mon-v2")
    guarded = {
        "alertmanager": profile.features.get("alertmanager_tls", False),
        "prometheus": profile.features.get("metrics_tls", False),
    }
    for name, module, role, target in PROBES:
        if name in left_out or (name in guarded and (module == "http_2xx") == bool(guarded[name])):
            continue
        for node in _nodes(site, role):
            address = target.format(address=node.address, ssh_port=site.ssh.port)
            yield group(address, node, f"{node.name}/{name}", probe=name, __param_module=module)


def _nodes(site: Site, role: str | None) -> Sequence[Node]:
    return site.nodes if role is None else site.with_role(role)


def group(target: str, node: Node, instance: str, **more: str) -> TargetGroup:
    """Return one target; ``instance`` names the node, which stays when its address changes."""
    return {"targets": [target], "labels": {"instance": instance, **labels(node), **more}}


def _socket(node: Node, port: int) -> str:
    return f"{node.address}:{port}"


def _major(version: str) -> int:
    """Return the first number of a version prefix; a profile that names none is taken as new."""
    head = version.split(".")[0]
    return int(head) if head.isdigit() else MSGR2_SINCE
