"""PostgreSQL: who is the primary, whether a standby has all of it, how far behind, and when that last changed."""

from avadm.components.grafana.panels import AMBER, RED, Query, dashboard, graph, stat

JOB = '{job="database"}'
# Patroni 2 and 3 call it master, 3 and 4 primary.
PRIMARY = f"(patroni_primary{JOB} or patroni_master{JOB})"

PANELS = [
    stat("Primaries", f"sum({PRIMARY})", width=4, steps=[(2, RED)]),
    stat("Synchronous standbys", f"sum(patroni_sync_standby{JOB})", width=4),
    stat("Members that run", f"sum(patroni_postgres_running{JOB})", width=4),
    stat(
        "Behind the primary",
        f"max(max(patroni_xlog_location{JOB}) - on() group_right() (patroni_xlog_replayed_location{JOB} > 0))",
        unit="bytes",
        width=4,
        steps=[(16777216, AMBER), (268435456, RED)],
        note="What the furthest standby has not replayed.",
    ),
    stat(
        "Changes of the primary",
        f"max(patroni_postgres_timeline{JOB}) - 1",
        width=4,
        note="Since the database was made.",
    ),
    stat(
        "Since etcd was heard",
        f"time() - min(patroni_dcs_last_seen{JOB})",
        unit="s",
        width=4,
        steps=[(30, AMBER), (60, RED)],
    ),
    graph("Primary", Query(f"{PRIMARY}", "{{node}}"), width=12),
    graph("Runs", Query(f"patroni_postgres_running{JOB}", "{{node}}"), width=12),
    graph(
        "Written a second",
        Query(f"rate(patroni_xlog_location{JOB}[5m]) > 0", "{{node}}"),
        unit="Bps",
        width=12,
    ),
    graph(
        "Behind the primary",
        Query(
            f"max(patroni_xlog_location{JOB}) - on() group_right() (patroni_xlog_replayed_location{JOB} > 0)",
            "{{node}}",
        ),
        unit="bytes",
        width=12,
    ),
    graph(
        "Without etcd, paused, waits for a restart",
        Query(f"patroni_failsafe_mode_is_active{JOB}", "{{node}} without etcd"),
        Query(f"patroni_is_paused{JOB}", "{{node}} paused"),
        Query(f"patroni_pending_restart{JOB}", "{{node}} waits for a restart"),
        width=24,
    ),
    stat(
        "Age of the newest backup",
        "time() - max(avadm_database_backup_timestamp_seconds)",
        unit="s",
        width=4,
        steps=[(93600, AMBER), (108000, RED)],
        note="Made each night where the site has a place for backups.",
    ),
    stat(
        "Since one was proven",
        "time() - max(avadm_database_verified_timestamp_seconds)",
        unit="s",
        width=4,
        steps=[(691200, AMBER), (777600, RED)],
        note="Restored by a standby each week, and looked at.",
    ),
    stat("Backups", "max(avadm_database_backups)", width=4),
    stat("Held by the newest", "max(avadm_database_backup_bytes)", unit="bytes", width=4),
    stat(
        "WAL that waits for the archive",
        "max(avadm_database_archive_waiting_bytes)",
        unit="bytes",
        width=4,
        steps=[(1073741824, AMBER), (4294967296, RED)],
    ),
    stat(
        "Since WAL was archived",
        "time() - max(avadm_database_archive_timestamp_seconds)",
        unit="s",
        width=4,
        steps=[(600, AMBER), (1800, RED)],
        note="What is not archived yet is lost with all members at once.",
    ),
    graph(
        "Archive and backups that fail",
        Query("max(avadm_database_archive_failing)", "the archive takes no WAL"),
        Query("max(avadm_database_archive_dropped)", "WAL was given up"),
        Query("max(avadm_database_backup_failed)", "the last backup failed"),
        Query("avadm_database_verify_failed", "{{node}}: what was restored is not good"),
        width=12,
    ),
    graph(
        "How a verification went",
        Query("avadm_database_verify_seconds", "{{node}}: took"),
        Query("avadm_database_verify_lag_seconds", "{{node}}: age of the newest row"),
        unit="s",
        width=12,
    ),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard(
        "avadm-database", "Database", "PostgreSQL of the platform, as Patroni tells of it.", PANELS
    )
