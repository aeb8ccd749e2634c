"""Who may speak to the monitoring: to Alertmanager, to Prometheus and to the nodes' exporters.

Alertmanager takes certificates of the authority `monitoring`, of its own mesh and of Prometheus alone: any client that reached it
without could silence every alert, or make some up. Prometheus and node exporters take those of the authority `metrics`: of
Prometheus and of grafana. Where the profile's programs know no TLS (``features.alertmanager_tls: false``,
``features.metrics_tls: false``) they stay open to any client that reaches their ports.
"""

from __future__ import annotations

from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_pem
from avadm.pki.model import GRAFANA, PROMETHEUS, Authority, key_variable
from avadm.pki.store import KeyStore
from avadm.site import placement as places
from avadm.site.model import Site
from avadm.site.profile import Profile

CLIENT = "alertmanager"
"""Name of Prometheus' client: of its files below /etc/prometheus/tls, and of the scrape job that it serves."""
SERVER_FILES = {
    "ca": "/etc/prometheus/tls/alertmanager-server.ca",
    "certificate": "/etc/prometheus/tls/alertmanager-server.crt",
    "key": "/etc/prometheus/tls/alertmanager-server.key",
}
"""Where a member of the mesh has its own (the default of the role's alertmanager_tls_dir); root can ask with them."""


METRICS = "metrics"
"""Name of Prometheus' client for exporters and for its replicas."""
READER_FILES = {
    "ca": f"/etc/prometheus/tls/{METRICS}.ca",
    "certificate": f"/etc/prometheus/tls/{METRICS}.crt",
    "key": f"/etc/prometheus/tls/{METRICS}.key",
}
"""Where a node with Prometheus has what it shows to read metrics; root can ask with it too."""


def guarded(site: Site, profile: Profile) -> bool:
    """Return whether this site's Alertmanagers ask for certificates."""
    return bool(profile.features.get("alertmanager_tls", False)) and bool(places.alertmanagers(site))


def read_guarded(site: Site, profile: Profile) -> bool:
    """Return whether this site's Prometheus and node exporters ask for certificates."""
    return bool(profile.features.get("metrics_tls", False)) and places.metered(site)


def asked_with(site: Site, profile: Profile) -> dict[str, dict[str, str]]:
    """Return the services that root of their nodes asks with files of the node, and those files."""
    found = {"alertmanager": SERVER_FILES} if guarded(site, profile) else {}
    return found | ({"prometheus": READER_FILES} if read_guarded(site, profile) else {})


def render(given: RenderContext, out: Variables) -> None:
    """Add certificates to the roles of monitoring; after the variables of Kubernetes' jobs."""
    site, profile, store = given.site, given.profile, given.store
    if guarded(site, profile):
        _alertmanager(site, store, out)
    if read_guarded(site, profile):
        _metrics(site, store, out)


def _metrics(site: Site, store: KeyStore, out: Variables) -> None:
    authority = store.trusted(Authority.METRICS)
    client = {
        "ca_certificate": authority,
        "certificate": store.leaf("prometheus-metrics"),
        "key": key_pem(key_variable(PROMETHEUS)),
    }
    job = {"client": METRICS, "path": "/metrics", "interval_s": 0}
    out.all["prometheus_clients"] = out.all.get("prometheus_clients", {}) | {METRICS: client}
    out.all["prometheus_jobs"] = out.all.get("prometheus_jobs", {}) | {"node": job, "prometheus": job}
    out.all["blackbox_exporter_metrics_tls"] = f"/etc/prometheus/tls/{METRICS}"
    for node in site.nodes:
        own = {
            "ca_certificate": authority,
            "certificate": store.leaf(f"metrics-{node.name}"),
            "key": key_pem(key_variable(f"metrics-{node.name}")),
        }
        out.host(node.name)["node_exporter_tls"] = own
        if "prometheus" in node.roles:
            url = out.host(node.name)["prometheus_external_url"].replace("http://", "https://", 1)
            out.host(node.name).update(prometheus_tls=own, prometheus_external_url=url)
    for node in site.with_role("grafana"):
        out.host(node.name)["grafana_datasource_tls"] = {
            "ca_certificate": authority,
            "certificate": store.leaf("grafana-metrics"),
            "key": key_pem(key_variable(GRAFANA)),
        }


def _alertmanager(site: Site, store: KeyStore, out: Variables) -> None:
    authority = store.trusted(Authority.MONITORING)
    clients, jobs = out.all.get("prometheus_clients", {}), out.all.get("prometheus_jobs", {})
    out.all |= {
        "prometheus_clients": clients
        | {
            CLIENT: {
                "ca_certificate": authority,
                "certificate": store.leaf("prometheus-alerts"),
                "key": key_pem(key_variable(PROMETHEUS)),
            }
        },
        "prometheus_jobs": jobs | {CLIENT: {"client": CLIENT, "path": "/metrics", "interval_s": 0}},
        "prometheus_alertmanagers_client": CLIENT,
        "blackbox_exporter_alertmanager_tls": f"/etc/prometheus/tls/{CLIENT}",
    }
    for node in places.alertmanagers(site):
        own = out.host(node.name)
        own["alertmanager_external_url"] = own["alertmanager_external_url"].replace("http://", "https://", 1)
        own["alertmanager_tls"] = {
            "ca_certificate": authority,
            "certificate": store.leaf(f"alertmanager-{node.name}"),
            "key": key_pem(key_variable(f"alertmanager-{node.name}")),
        }
