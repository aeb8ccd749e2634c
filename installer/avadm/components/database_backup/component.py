"""Backups of PostgreSQL with its archive of WAL: on the nodes of the database, in an object store or a shared folder."""

from __future__ import annotations

from collections.abc import Sequence

from avadm.components.model import Component, Daemon, Packages, Phase, Probe, Program, Stage
from avadm.components.objects.object_pools import database_backups
from avadm.site.model import Node, Site

BACKED_UP = "backed-up"
"""Duty: the node runs PostgreSQL, and there is a place for its backups."""


def nodes(site: Site) -> Sequence[Node]:
    """Return the nodes of the database, where its backups have a place."""
    return site.with_role("database") if database_backups(site) else []


COMPONENT = Component(
    phase=Phase(
        "backups",
        "backups of PostgreSQL",
        "playbooks/backups.yml",
        ("database", "objects"),
        ("database",),
        ("database_backup",),
        component="database",
        chooses=nodes,
        artifacts=("avadm-node-database",),
    ),
    duties={BACKED_UP: nodes},
    packages={BACKED_UP: Packages(base=("database_backup",))},
    programs=(Program("pgbackrest", (BACKED_UP,), ("pgbackrest", "version")),),
    questions=(Probe("database_backup", (BACKED_UP,)),),
    daemons=(
        Daemon(
            stage=Stage.JOBS,
            units=("avadm-database-look.timer", "avadm-database-verify.timer"),
            duties=(BACKED_UP,),
            ends=("avadm-database-*.service",),
        ),
    ),
)
