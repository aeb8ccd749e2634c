"""Bringing PostgreSQL back to a time: what forbids it, the steps in their order, what is reported and recorded.

Nothing that is there is removed: each member's former data are renamed. The restored data are made beside the living ones and
replayed up to the time first, so that a time that cannot be reached, a broken backup or a full disk leave everything as it was.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.operations.database_nodes import WORK_S, DatabaseNodes
from avadm.state import summary
from avadm.state.lock.owner import user
from avadm.state.run_folder import RunFolder, write_atomic

LATEST = "latest"
Tell = Callable[[str], None]


def target(text: str, now: datetime) -> str:
    """Return a time as PostgreSQL and pgbackrest read it; "" for the newest there is.

    Args:
        text: ISO 8601 with its zone, or ``latest``.
        now: the present; a later time is refused.

    Raises:
        AvadmError: it is no time, has no zone, or lies in the future.
    """
    if text == LATEST:
        return ""
    wanted = "a time with its zone, such as 2026-11-24T12:30:00Z, or latest"
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise AvadmError(_time("restore-time", text, wanted)) from None
    if when.tzinfo is None:
        raise AvadmError(_time("restore-time-zone", text, wanted))
    when = when.astimezone(UTC)
    if when > now:
        raise AvadmError(_time("restore-time-future", text, "a time that is past"))
    return f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03d}+00"


def _time(code: str, found: str, wanted: str) -> Finding:
    return finding(code, "--to", found, wanted)


def refuse_living(nodes: DatabaseNodes, roles: dict[str, str], word: str | None) -> None:
    """Raise AvadmError where a database lives and its replacement was not asked for by the site's name.

    Args:
        nodes: the nodes.
        roles: node to its role.
        word: what the user typed; the site's name lets a living database be replaced.
    """
    living = [f"{name} is the {role}" for name, role in roles.items() if role]
    leads = str(nodes.ask(next(iter(roles)), "restore", "leader")["leader"])
    if leads and not living:
        living.append(f"etcd says that {leads} leads")
    if not living or word == nodes.site.name:
        return
    raise AvadmError.of(
        "database-lives",
        where="--over-living",
        found="; ".join(living) + (f"; {word!r} was typed" if word else ""),
        wanted=f"no member that runs, or --over-living {nodes.site.name}",
        name=nodes.site.name,
    )


def restore(nodes: DatabaseNodes, to: str, word: str | None, tell: Tell) -> RunFolder:
    """Restore PostgreSQL on all its nodes; return the run folder, whose `restore.json` says what was done.

    Args:
        nodes: the nodes; all of them have to answer, since one that is cut off may be at work.
        to: as `target` returns it.
        word: what the user typed for a living database.
        tell: called with each step.

    Raises:
        AvadmError: it was refused, or a step failed; what lived before is started again where its data are still in place.
    """
    roles = nodes.roles()
    refuse_living(nodes, roles, word)
    lived = [n for n, role in roles.items() if role]
    first = next((n for n, role in roles.items() if role == "primary"), next(iter(roles)))
    others = [n for n in roles if n != first]
    folder = RunFolder.create("database-restore")
    begun = datetime.now(UTC)
    record: dict[str, Any] = {
        "site": nodes.site.name,
        "who": user(),
        "from": socket.gethostname(),
        "when": f"{begun:%Y-%m-%dT%H:%M:%SZ}",
        "to": to or LATEST,
        "lived": lived,
        "kept": {},
        "result": "begun",
    }
    try:
        folder.write_json("restore.json", record)
        tell(f"restoring beside the present data on {first}, to {to or 'the end of the archive'}")
        record |= {
            "node": first,
            **nodes.ask(first, "restore", "prepare", *([to] if to else []), timeout=WORK_S),
        }
        stopped_at = datetime.now(UTC)
        _replace(nodes, first, others, lived, record, tell)
        record["result"] = "good"
        record["stood_still_s"] = round((datetime.now(UTC) - stopped_at).total_seconds(), 1)
        for name in others:
            tell(f"{name} copies the data")
        if others:
            copied = nodes.each({n: ["restore", "copy"] for n in others}, timeout=WORK_S)
            record["kept"] |= {n: answer["aside"] for n, answer in copied.items() if answer["aside"]}
        # The history is another one from here on: a backup is due, and the timer's next look would begin it.
        nodes.fleet.run(first, "systemctl start --no-block avadm-database-look.service")
    except AvadmError as error:
        record["result"] = "failed" if record["result"] == "begun" else "good; a standby is missing"
        record["error"] = "; ".join(f.found for f in error.findings)
        raise
    finally:
        record["seconds"] = round((datetime.now(UTC) - begun).total_seconds(), 1)
        folder.write_json("restore.json", record)
        result = "good" if record["result"] == "good" else "failed"
        summary.write(
            folder,
            {
                "site": nodes.site.name,
                "result": result,
                "seconds": record["seconds"],
                "changed": len(roles),
            },
        )
        line = f"{record['when']} {record['who']}@{record['from']} database restore to {record['to']}: {record['result']}\n"
        write_atomic(folder.log, line)
    return folder


def _replace(
    nodes: DatabaseNodes, first: str, others: list[str], lived: list[str], record: dict[str, Any], tell: Tell
) -> None:
    """Stop all members, put what was restored in place on the first, and start it as the primary."""
    replaced = False
    try:
        tell("stopping the members")
        # A standby first: the primary would make it one more time.
        for name in (*others, first):
            nodes.ask(name, "restore", "stop")
        tell(f"putting the restored data in place on {first}")
        done = nodes.ask(first, "restore", "finish", timeout=WORK_S)
        replaced = True
        record["timeline"] = done["timeline"]
        if done["aside"]:
            record["kept"][first] = done["aside"]
        nodes.ask(first, "restore", "forget")
        tell(f"starting {first} as the primary")
        nodes.ask(first, "restore", "first", timeout=WORK_S)
    except (AvadmError, KeyboardInterrupt):
        if not replaced and lived:
            tell("starting the members again as they were")
            nodes.fleet.map(dict.fromkeys(lived, "systemctl start --no-block patroni"))
        raise
