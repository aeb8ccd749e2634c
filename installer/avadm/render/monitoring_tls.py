"""Who may speak to Alertmanager: certificates of the authority `monitoring`, of its own mesh and of Prometheus alone.

Whoever reaches it without them could silence every alert, or make some up. Where the profile's Alertmanager knows no TLS
(``features.alertmanager_tls: false``) it stays open to whoever reaches its ports.
"""

from __future__ import annotations

from avadm.pki import plan
from avadm.pki.certs import key_pem
from avadm.pki.model import Authority, key_variable
from avadm.pki.store import Store
from avadm.render import Vars
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


def guarded(site: Site, profile: Profile) -> bool:
    """Return whether this site's Alertmanagers ask for certificates."""
    return bool(profile.features.get("alertmanager_tls", False)) and bool(plan.alertmanagers(site))


def render(site: Site, profile: Profile, store: Store, out: Vars) -> None:
    """Add certificates to the variables of alertmanager, prometheus and blackbox_exporter; after those of Kubernetes' jobs."""
    if not guarded(site, profile):
        return
    authority = store.trusted(Authority.MONITORING)
    clients, jobs = out.all.get("prometheus_clients", {}), out.all.get("prometheus_jobs", {})
    out.all |= {
        "prometheus_clients": clients
        | {
            CLIENT: {
                "ca_certificate": authority,
                "certificate": store.leaf("prometheus-alerts"),
                "key": key_pem(key_variable(plan.PROMETHEUS)),
            }
        },
        "prometheus_jobs": jobs | {CLIENT: {"client": CLIENT, "path": "/metrics", "interval_s": 0}},
        "prometheus_alertmanagers_client": CLIENT,
        "blackbox_exporter_alertmanager_tls": f"/etc/prometheus/tls/{CLIENT}",
    }
    for node in plan.alertmanagers(site):
        own = out.host(node.name)
        own["alertmanager_external_url"] = own["alertmanager_external_url"].replace("http://", "https://", 1)
        own["alertmanager_tls"] = {
            "ca_certificate": authority,
            "certificate": store.leaf(f"alertmanager-{node.name}"),
            "key": key_pem(key_variable(f"alertmanager-{node.name}")),
        }
