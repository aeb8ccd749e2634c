"""PostgreSQL: who is the primary, whether a standby has all of it, how far behind, and when that last changed."""

from panels import AMBER, RED, Query, dashboard, graph, stat

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
        note="Since the data base was made.",
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
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard(
        "avadm-database", "Database", "PostgreSQL of the platform, as Patroni tells of it.", PANELS
    )
