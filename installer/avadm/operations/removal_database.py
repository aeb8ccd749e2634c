"""PostgreSQL's part of a node's removal: a standby in sync takes over first, and the data are put aside."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.operations.database_cluster import DatabaseCluster, DatabaseMember, in_sync, primary
from avadm.operations.model import Gate, Interruption, Progress, Step, Tell
from avadm.operations.removal_model import Leaving, Part, stop, withdraw

UNITS = ("avadm-database-look.timer", "patroni")
SETTLE_S = 300.0
"""Seconds without progress until one member is the primary and another one in sync."""
# With its data in place it would follow its own former timeline when it is added again.
ASIDE = (
    "rm -f /var/lib/avadm/founded/database.json /run/avadm/database-copy /etc/patroni/config.yml "
    "/etc/patroni/tls/server.key /etc/pgbackrest/pgbackrest.conf; "
    "for d in /var/lib/postgresql/[0-9]*/avadm; do "
    'if [ -d "$d" ]; then mv "$d" "$d.removed-$(date +%s)"; fi; done'
)


def part(leaving: Leaving) -> Part:
    """Plan it; AvadmError where no other node of PostgreSQL can be asked."""
    if "database" not in leaving.roles or leaving.cluster.site.components.database is None:
        return Part()
    name, steps = leaving.name, []
    if not leaving.dead:
        steps.append(
            Step(
                "let a standby of PostgreSQL that is in sync take over",
                lambda tell: _switch(leaving, tell),
                done=lambda: primary(_members(leaving)) not in ("", name),
                gate=Gate("another node has the primary", lambda: _moved(leaving), SETTLE_S),
            )
        )
    steps.append(
        Step(
            f"stop PostgreSQL on {name}; its data are put aside"
            if not leaving.dead
            else "await the other members of PostgreSQL",
            lambda tell: _stop(leaving),
            leaving.touched,
            gate=Gate(
                "the members of PostgreSQL that are left run, one in sync", lambda: _well(leaving), SETTLE_S
            ),
        )
    )
    pause = Interruption("SQL through the virtual address, where this node has the primary", 10.0)
    return Part(steps, _refusals(leaving), [pause])


def _members(leaving: Leaving) -> dict[str, DatabaseMember]:
    return DatabaseCluster(leaving.cluster).members()


def _refusals(leaving: Leaving) -> list[Finding]:
    name = leaving.name
    if not leaving.others("database"):
        return [finding("last-of-role", found="no other", wanted="one in sync", host=name, role="database")]
    members = _members(leaving)
    first = primary(members)
    shown = ", ".join(f"{n}: {one.role}{'' if one.runs else ', does not run'}" for n, one in members.items())
    if first == name and leaving.dead:
        # Patroni has not found out yet, or it lives.
        return [finding("database-not-in-sync", found=shown, wanted="another primary", host=name)]
    if first in ("", name) and not [n for n in in_sync(members) if n != name]:
        return [
            finding("database-not-in-sync", found=shown or "no member", wanted="a sync standby", host=name)
        ]
    return []


def _switch(leaving: Leaving, tell: Tell) -> None:
    members = _members(leaving)
    heirs = sorted(n for n in in_sync(members) if n != leaving.name)
    if not heirs:
        raise AvadmError(_refusals(leaving) or finding("database-not-in-sync", host=leaving.name), 1)
    DatabaseCluster(leaving.cluster).switch_over(heirs[0])
    tell(f"    {heirs[0]} takes over")


def _moved(leaving: Leaving) -> Progress:
    first = primary(_members(leaving))
    good = first not in ("", leaving.name)
    return Progress() if good else Progress(f"the primary is {first or 'none'}", 1.0)


def _stop(leaving: Leaving) -> None:
    # Asked once more: it may have become the primary again meanwhile.
    first = primary(_members(leaving))
    if first in ("", leaving.name):
        found = f"the primary is {first or 'none'}"
        bad = finding("database-not-in-sync", found=found, wanted="another primary", host=leaving.name)
        raise AvadmError(bad, 1)
    leaving.cluster.state.unfound("database", leaving.name)
    if not leaving.dead:
        site = leaving.cluster.site
        front = withdraw("database") if site.components.database and site.components.database.vip else "true"
        leaving.run(f"{front}; {stop(UNITS)}; {ASIDE}")


def _well(leaving: Leaving) -> Progress:
    members = {n: one for n, one in _members(leaving).items() if n != leaving.name}
    bad = sorted(n for n, one in members.items() if not one.runs)
    if not primary(members):
        return Progress("no primary", 3.0)
    if bad:
        return Progress(f"does not run: {', '.join(bad)}", 2.0)
    if len(members) > 1 and not in_sync(members):
        return Progress("no standby is in sync", 1.0)
    return Progress()
