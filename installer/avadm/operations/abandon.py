"""Giving up an operation that is half done and whose way forward is closed: what it had set is undone, its record is dropped.

It repairs nothing and says so: what was done stays done. It is refused where another verb goes back, and where the site must not
be left as it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.half_done import half_done
from avadm.cluster.settings import Settings
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.operations import cache_masters
from avadm.operations.model import Operation, Step, Tell, nothing
from avadm.state.operations import OPERATION, OperationRecord
from avadm.state.run_folder import list_runs

VERB = "operation abandon"
ACCEPTABLE = frozenset({"abandon-half-way"})
OTHER_WAY = {
    "maintenance": "avadm maintenance end",
    "node drain": "avadm node uncordon",
    "power": "avadm power up",
}
"""How verbs begin that have a way back of their own, and that way."""


def command(words: str) -> str:
    """Return the command that abandons."""
    return shlex.join(["avadm", *VERB.split(), *([words] if words else [])])


def chosen(begun: Sequence[OperationRecord], words: str) -> list[OperationRecord]:
    """Return the half-done operations that words mean: a whole command, or how it begins, with ``avadm`` or without."""
    wanted = words.removeprefix("avadm ").strip()
    if exact := [one for one in begun if one.command.removeprefix("avadm ") == wanted]:
        return exact
    return [
        one
        for one in begun
        if f"{one.command.removeprefix('avadm ')} ".startswith(f"{wanted} " if wanted else "")
    ]


def build(cluster: Cluster, words: str, accepted: Collection[str] = ()) -> Operation:
    """Plan it.

    Args:
        cluster: the site.
        words: the command of the operation, or how it begins; "" for the only one.
        accepted: ids of refusals that the user accepts.
    """
    begun, line = cluster.state.begun(), command(words)
    found = chosen(begun, words)
    if len(found) != 1:
        known = "; ".join(one.command for one in begun) or "none is half done"
        code = "abandon-unknown" if not found else "abandon-several"
        bad = finding(code, where="COMMAND", found=words or "no command", wanted=known)
        return Operation(VERB, line, (), refusals=[bad], acceptable=ACCEPTABLE)
    record = found[0]
    undone = planned(cluster.site.name, record)
    left = [one for one in cluster.state.settings() if one.owner == OPERATION + record.command]
    names = ", ".join(f"{one.kind} {one.target}" for one in left) or "nothing is set"
    steps = [
        Step(f"leave as it is what was done: {'; '.join(record.steps) or 'no step has ended'}", nothing),
        Step(
            f"leave undone, in part where a step was at work: {'; '.join(undone) or 'unknown here'}", nothing
        ),
        Step(f"undo its temporary settings: {names}", lambda tell: _release(cluster, record, tell)),
        Step(
            "forget it: other commands are not refused any more",
            lambda tell: _forget(cluster, record),
            done=lambda: record.command not in {one.command for one in cluster.state.begun()},
        ),
    ]
    return Operation(VERB, line, steps, refusals=refusals(cluster, record), acceptable=ACCEPTABLE)


def planned(site: str, record: OperationRecord) -> list[str]:
    """Return the steps that are not done, by the plan of its last run from this controller; none where it kept none."""
    for folder in reversed(list_runs()):
        if folder.verb != record.verb.replace(" ", "-") or folder.site not in (None, site):
            continue
        plan = folder.read_mapping("plan.json")
        if plan.get("command") == record.command:
            return [str(one["name"]) for one in plan.get("steps", ()) if one["name"] not in record.steps]
    return []


def refusals(cluster: Cluster, record: OperationRecord) -> list[Finding]:
    """Return what speaks against leaving an operation half-way."""
    where = record.command
    for verb, way in OTHER_WAY.items():
        if f"{record.verb} ".startswith(f"{verb} "):
            return [finding("abandon-other-way", where=where, found=record.verb, wanted=way, way=way)]
    found: list[Finding] = half_done(cluster.state, (), record.command)
    if record.verb == "upgrade" and "ceph" in record.components:
        found += _ceph(cluster, record)
    if record.verb == cache_masters.VERB and (why := _cache(cluster)):
        wanted = "a leading master that answers"
        found.append(finding("abandon-cache", where=where, found=why, wanted=wanted, command=record.command))
    if record.steps or record.verb != "node add":
        done = "; ".join(record.steps) or "a step may have been at work"
        found.append(finding("abandon-half-way", where=where, found=done, verb=record.verb))
    return found


def _ceph(cluster: Cluster, record: OperationRecord) -> list[Finding]:
    """Return that daemons of ceph run several versions, or that this cannot be known."""
    try:
        versions = cluster.ceph("versions")
    except AvadmError as error:
        return [_mixed(record, str(error))]
    overall = versions.get("overall") if isinstance(versions, dict) else None
    if not isinstance(overall, dict) or len(overall) != 1:
        text = ", ".join(sorted(map(str, overall or ()))) or "no version is reported"
        return [_mixed(record, text)]
    return []


def _mixed(record: OperationRecord, found: str) -> Finding:
    wanted = "one version of all daemons"
    return finding(
        "abandon-mixed-ceph", where=record.command, found=found, wanted=wanted, command=record.command
    )


def _cache(cluster: Cluster) -> str:
    """Return why the cache stands still; "" where a master answers."""
    names = [n.name for n in cluster.site.with_role(cache_masters.ROLE)]
    try:
        cluster.first(
            names, f"{cache_masters.CLI} fs mount", "cache-command", "fs mount", cache_masters.ASK_S
        )
    except AvadmError as error:
        return str(error)
    return ""


def _release(cluster: Cluster, record: OperationRecord, tell: Tell) -> None:
    """Undo what it had set; AvadmError (exit 1) where that fails: its record stays then."""
    mine = [one for one in cluster.state.settings() if one.owner == OPERATION + record.command]
    if left := Settings(cluster, tell).release(mine):
        raise AvadmError(left, EXIT_FOUND_BAD)


def _forget(cluster: Cluster, record: OperationRecord) -> None:
    cluster.state.drop_operation(record.command, {})
    cluster.push()
