"""What PostgreSQL's nodes reply to the doctor: on a healthy site, and where something is wrong."""

from tests.unit.doctor.troubles import bad, each, put, warn

NODES = ("comp1", "comp2")


def members(said="", **roles):
    """Return what a node's Patroni says; members may be given as ``comp1=("leader", "running")``."""
    usual = {"comp1": ("leader", "running"), "comp2": ("sync_standby", "streaming")}
    return {
        "said": said,
        "members": {} if said else {name: list(one) for name, one in (roles or usual).items()},
    }


def reported(**roles):
    """Return a change to what both members report of all."""
    return each(NODES, "database", members(**roles))


MUTE = members("https://10.0.0.31:8008/cluster: curl: (7) Connection refused")
HEALTHY = {"database": {"database": members()}}
CASES = (
    bad("database-member", "comp1", "Connection refused", put("comp1 database", MUTE)),
    bad("database-member", "comp2", "is start failed", reported(comp2=("replica", "start failed"))),
    bad("database-member", "comp2", "knows only comp1", reported(comp1=("leader", "running"))),
    bad("database-primary", "cluster", "no member", reported(comp1=("replica", "running"))),
    bad("database-primary", "cluster", "no member", each(NODES, "database", MUTE)),
    warn(
        "database-standby",
        "cluster",
        "no standby",
        reported(comp1=("leader", "running"), comp2=("replica", "running")),
    ),
)
