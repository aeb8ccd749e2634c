"""Variables of the role database; nothing where the site has no PostgreSQL."""

from __future__ import annotations

import secrets
from typing import Any

from avadm.components.database.component import AUTHORITY, OWN, PATRONI, WATCHER, nodes
from avadm.components.etcd.variables import client_urls
from avadm.components.monitoring.variables import group
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_pem
from avadm.pki.model import PROMETHEUS, Authority, key_variable
from avadm.site.model import Node
from avadm.site.profile import Profile

PASSWORD_BYTES = 24
"""Random bytes of a generated password."""
JOB = "database"
"""Prometheus' job, and the file of its rules."""
PREFIX = "/avadm/database/"
"""What Patroni keeps in etcd begins so; its user may use nothing else there."""


def password(name: str) -> str:
    """Return the vault variable of a password."""
    return f"vault_database_{name}"


def release(profile: Profile) -> str:
    """Return the release of PostgreSQL that a profile installs, as its package's name has it."""
    packages = profile.packages.get("database", [])
    return next(
        p.removeprefix("postgresql-").partition("=")[0] for p in packages if p.startswith("postgresql-")
    )


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the nodes of PostgreSQL, and of etcd what it must know of their user."""
    site, profile, store = given.site, given.profile, given.store
    knobs, found = site.components.database, nodes(site)
    if knobs is None or not found:
        return
    for name in (*OWN, *knobs.names):
        out.secrets[password(name)] = lambda: secrets.token_urlsafe(PASSWORD_BYTES)
    out.all |= {
        "etcd_more_users": [{"name": "patroni", "prefixes": [PREFIX]}],
        "etcd_passwords": {"patroni": f"{{{{ {password('etcd')} }}}}"},
        "database_packages": list(profile.packages.get("database", [])),
        "database_release": release(profile),
        "database_scope": site.name,
        "database_prefix": PREFIX,
        "database_etcd": [url.removeprefix("https://") for url in client_urls(site.with_role("etcd"))],
        "database_etcd_ca_certificate": store.trusted(Authority.ETCD),
        "database_ca_certificate": store.trusted(AUTHORITY),
        "database_nodes": {n.name: str(n.address) for n in found},
        "database_port": knobs.port,
        "database_api_port": PATRONI,
        "database_passwords": {name: f"{{{{ {password(name)} }}}}" for name in OWN},
        "database_users": {name: f"{{{{ {password(name)} }}}}" for name in knobs.names},
    }
    if knobs.vip:
        out.all |= {
            "database_vip": str(knobs.vip),
            "database_router_id": int(knobs.vip) % 256 or 255,
        }
    if not site.components.monitoring.existing:
        _watched(given, found, out)
    for node in found:
        out.host(node.name).update(
            {
                "database_name": node.name,
                "database_address": str(node.address),
                "database_certificate": store.leaf(f"database-{node.name}"),
                "database_etcd_certificate": store.leaf(f"database-etcd-{node.name}"),
                "database_key": key_pem(key_variable(f"database-{node.name}")),
            }
        )


def _watched(given: RenderContext, nodes: list[Node], out: Variables) -> None:
    """Have Prometheus ask each Patroni, which tells of its server too."""
    added: dict[str, dict[str, Any]] = {
        "prometheus_targets": {
            JOB: [group(f"{n.address}:{PATRONI}", n, f"{n.name}:{PATRONI}") for n in nodes]
        },
        "prometheus_jobs": {JOB: {"client": JOB, "path": "/metrics", "interval_s": 0}},
        "prometheus_clients": {
            JOB: {
                "ca_certificate": given.store.trusted(AUTHORITY),
                "certificate": given.store.leaf(WATCHER),
                "key": key_pem(key_variable(PROMETHEUS)),
            }
        },
    }
    for name, more in added.items():
        out.all[name] = out.all.get(name, {}) | more
    for rules in ("prometheus_more_rules", "grafana_more_dashboards"):
        out.all[rules] = [*out.all.get(rules, []), JOB]
