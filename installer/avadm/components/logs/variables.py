"""Variables of the roles that keep, ship and watch logs (I8); nothing where the site has no components.logs."""

from __future__ import annotations

import secrets
from typing import Any

from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_pem
from avadm.pki.model import Authority, key_variable
from avadm.secret_patterns import LINE_PATTERNS, PATTERNS
from avadm.site.model import Site
from avadm.site.placement import log_stores

USER = "avadm"
SECRETS = (*PATTERNS, *LINE_PATTERNS)
"""What is masked in every line."""
PASSWORD = "vault_logs_reader_password"  # noqa: S105  the variable's name
"""Password of USER, under which people, AVA's API and the log watch read. Nodes once had `vault_logs_password`."""
SHIPPER = "shipper"
SHIPPER_PASSWORD = "vault_logs_shipper_password"  # noqa: S105  the variable's name
"""Account under which nodes write, and which reads nothing: each node has it."""
PASSWORD_BYTES = 24
"""Random bytes of the generated password."""
RULES = ("logs", "log_troubles")
"""Rule files that Prometheus reads only where logs are kept."""
CEPH = {"component": "ceph", "folder": "/var/log/ceph", "names": "*.log"}
"""Ceph writes files and not to the journal."""
CEPH_ROLES = frozenset({"mon", "mgr", "osd", "mds", "client"})


def stores(site: Site) -> list[dict[str, str]]:
    """Return the stores: name, and the URL under which nodes and people reach each."""
    logs = site.components.logs
    if logs is None:
        return []
    return [{"name": n.name, "url": f"https://{n.address}:{logs.port}"} for n in log_stores(site)]


def render(given: RenderContext, out: Variables) -> None:
    """Add the variables of log_store, log_shipper and log_watch."""
    site, profile, certificates = given.site, given.profile, given.store
    logs = site.components.logs
    if logs is None:
        return
    authority = certificates.trusted(Authority.LOGS)
    patterns: list[str] = [p.pcre() for p in SECRETS]
    found = stores(site)
    for name in (PASSWORD, SHIPPER_PASSWORD):
        out.secrets[name] = lambda: secrets.token_urlsafe(PASSWORD_BYTES)
    out.all |= {
        "log_shipper_packages": list(profile.packages.get("log_shipper", [])),
        "log_shipper_config_version": str(profile.features.get("syslog_ng_config", "3.35")),
        "log_shipper_limits": list(profile.features.get("log_shipper_limits", [])),
        "log_shipper_stores": found,
        "log_shipper_user": SHIPPER,
        "log_shipper_password": "{{ " + SHIPPER_PASSWORD + " }}",
        "log_shipper_ca_certificate": authority,
        "log_shipper_secrets": patterns,
        "log_shipper_buffer_mib": logs.buffer_mib,
    }
    for each in site.nodes:
        files = [CEPH] if CEPH_ROLES & set(each.roles) else []
        out.host(each.name)["log_shipper_files"] = [*files, *(f.model_dump() for f in logs.files)]
    for node, store in zip(log_stores(site), found, strict=True):
        own: dict[str, Any] = {
            "log_store_address": str(node.address),
            "log_store_port": logs.port,
            "log_store_retention_days": logs.retention_days,
            "log_store_disk_gib": logs.disk_gib,
            "log_store_user_name": USER,
            "log_store_password": "{{ " + PASSWORD + " }}",
            "log_store_shipper_name": SHIPPER,
            "log_store_shipper_password": "{{ " + SHIPPER_PASSWORD + " }}",
            "log_store_ca_certificate": authority,
            "log_store_certificate": certificates.leaf(f"log-store-{node.name}"),
            "log_store_key": key_pem(key_variable(f"log-store-{node.name}")),
            "log_watch_url": store["url"],
            "log_watch_user_name": USER,
            "log_watch_password": "{{ " + PASSWORD + " }}",
            "log_watch_ca_certificate": authority,
            "log_watch_learning_hours": logs.learning_hours,
            "log_watch_pattern_days": logs.pattern_days,
        }
        out.host(node.name).update(own)
    out.all["prometheus_more_rules"] = [*out.all.get("prometheus_more_rules", []), *RULES]
    out.all["grafana_more_dashboards"] = [*out.all.get("grafana_more_dashboards", []), "logs"]
