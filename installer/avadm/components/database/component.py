"""PostgreSQL for the platform: one primary, the others follow it; Patroni chooses, etcd keeps the choice."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.certificate_names import LOCAL, names
from avadm.components.model import (
    At,
    Bootstrap,
    Component,
    Daemon,
    Packages,
    Peer,
    Phase,
    Port,
    Probe,
    Program,
    Stage,
    Upgradable,
    Virtual,
)
from avadm.pki.model import PROMETHEUS, Authority, Leaf
from avadm.site.model import Node, Site

_PID = "/var/lib/postgresql/*/avadm/postmaster.pid"
AUTHORITY = Authority("database")
WATCHER = "prometheus-database"
_ASK = (
    "curl --silent --noproxy '*' --max-time 10 --cacert /etc/patroni/ca.crt https://127.0.0.1:8008/patroni"
    ' | sed -n \'s/.*"version": *"\\([0-9.]*\\)".*/\\1/p\''
)
"""The version of the Patroni that answers, not of the one on disk."""
VIRTUAL = Virtual("database", ("components", "database", "vip"))
PATRONI = 8008
"""TCP port at which Patroni tells its node's state."""


OWN = ("superuser", "replication", "rewind", "api", "etcd")
"""Passwords that only programs of the database's own nodes know; no database has such a name."""


def nodes(site: Site) -> list[Node]:
    """Return the nodes that run PostgreSQL."""
    return site.with_role("database") if site.components.database else []


def _port(site: Site) -> int | None:
    return site.components.database.port if site.components.database else None


def _leaf(node: Node, site: Site) -> Leaf:
    held = VIRTUAL.address(site)
    return Leaf(
        f"database-{node.name}",
        AUTHORITY,
        f"database-{node.name}",
        node.name,
        names=(*names(node, site), *LOCAL[0]),
        addresses=(*([str(held)] if held else []), str(node.address), *LOCAL[1]),
        server=True,
        client=False,
    )


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the servers' certificates, and what Patroni shows to etcd, where a password says who it is."""
    if nodes(site):
        yield Leaf(WATCHER, AUTHORITY, PROMETHEUS, "prometheus")
    for node in nodes(site):
        yield _leaf(node, site)
        yield Leaf(f"database-etcd-{node.name}", Authority.ETCD, f"database-{node.name}", "", group="patroni")


COMPONENT = Component(
    phase=Phase(
        "database",
        "PostgreSQL for the platform",
        "playbooks/database.yml",
        ("etcd",),
        ("database",),
        ("database",),
        ("vip",),
        component="database",
    ),
    # PostgreSQL's package makes and starts a cluster of its own unless configured otherwise before.
    packages={"database": Packages(late=("database",))},
    ports=(
        Port(
            number=_port,
            key=("components", "database", "port"),
            usual=5432,
            program="postgres",
            what="PostgreSQL",
            duty="database",
            at=At.BOTH,
            peers=(Peer.PODS, "worker", "database"),
            tls=True,
            who="users and passwords",
            always=True,
        ),
        Port(
            number=PATRONI,
            program="patroni",
            what="Patroni",
            duty="database",
            at=At.BOTH,
            peers=("database", "prometheus"),
            tls=True,
            who="anybody for reading, a user and password for the rest",
            always=True,
        ),
    ),
    programs=(
        Program("postgresql", ("database",), ("bash", "-c", f"/proc/$(head -n 1 {_PID})/exe --version")),
        Program("patroni", ("database",), ("bash", "-c", _ASK)),
    ),
    leaves=leaves,
    certificates=("/etc/patroni/*.crt", "/etc/patroni/tls/*.crt"),
    questions=(Probe("database", ("database",)),),
    virtual=VIRTUAL,
    bootstrap=Bootstrap("database", "database", "database", alone=True),
    # Minor releases have one format of data. Patroni's notes know no way back from 4.0, whose members write another role to etcd.
    upgrades=(
        Upgradable(
            name="postgresql",
            role="database",
            duty="database",
            with_programs=("patroni",),
            packages={"postgresql": ("postgresql-[0-9]*",), "patroni": ("patroni",)},
            crosses=("patroni",),
            rollback=True,
            final=("patroni",),
            interrupts=("PostgreSQL: its only member is restarted", 60.0),
            together=("PostgreSQL: connections end, and writes wait while a standby takes over", 30.0),
        ),
    ),
    daemons=(Daemon(stage=Stage.DATABASE, units=("patroni.service",), duties=("database",)),),
)
