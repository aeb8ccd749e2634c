"""Variables of the role database_backup; nothing where backups of PostgreSQL have no place."""

from __future__ import annotations

import secrets

from avadm.components.database.component import PATRONI
from avadm.components.database.variables import release
from avadm.components.database_backup import bucket_policy as database_store
from avadm.components.database_backup.component import nodes
from avadm.components.objects import variables as objects
from avadm.components.objects.object_pools import own_backups
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.model import Authority

CIPHER = "vault_database_backup_cipher"
"""What the repository is encrypted with: without it no backup can be read. `avadm` never makes a second one."""
CIPHER_BYTES = 48
RULES = "database_backup"
"""Prometheus' file of rules."""


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the nodes whose PostgreSQL is backed up."""
    site, found, knobs = given.site, nodes(given.site), given.site.components.database
    if knobs is None or knobs.backup is None or not found:
        return
    own = own_backups(site)
    out.secrets[CIPHER] = lambda: secrets.token_urlsafe(CIPHER_BYTES)
    out.all |= {
        "database_backup_packages": list(given.profile.packages.get("database_backup", [])),
        "database_backup_release": release(given.profile),
        "database_backup_scope": site.name,
        "database_backup_port": knobs.port,
        "database_backup_api_port": PATRONI,
        "database_backup_cipher": f"{{{{ {CIPHER} }}}}",
        "database_backup_ca_certificate": given.store.trusted(Authority.OBJECTS) if own else "",
        "database_backup_hour": knobs.backup.hour,
        "database_backup_kept_full": knobs.backup.weeks_kept,
        "database_backup_queue_mib": knobs.backup.waiting_gib * 1024,
        "database_backup_bundle": bool(given.profile.features.get("pgbackrest_bundle", False)),
    }
    if not site.components.monitoring.existing:
        out.all["prometheus_more_rules"] = [*out.all.get("prometheus_more_rules", []), RULES]
    at = {"endpoint": objects.endpoint(site), "region": out.all.get("ceph_rgw_region", "")}
    for node in found:
        place = {"directory": knobs.backup.directory} if knobs.backup.directory else at
        member = {} if knobs.backup.directory else database_store.of_member(site, node)
        out.host(node.name).update(
            database_backup_name=node.name,
            database_backup_address=str(node.address),
            database_backup_repository=place | member,
        )
