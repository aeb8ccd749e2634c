"""The state of a site's phases, from its state file and the current inputs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from avadm.components.catalog import PHASES
from avadm.components.model import Phase
from avadm.inventory.desired import Desired
from avadm.inventory.digest import same
from avadm.state.lock.controller import holder
from avadm.state.records import SiteRecords
from avadm.state.site_state import PhaseState, SiteState


def status(desired: Desired, records: SiteRecords, last_run: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what `avadm status --json` prints.

    A phase is ``running`` while the site's lock is held and a host of it runs, ``failed`` if any host failed
    or could not be reached, ``stale`` if it is done but with other inputs than those of now, ``done``, or
    ``pending``.
    """
    site = desired.site_file.site
    running = holder(records.folder)
    phases = [
        _phase(desired, records.state, p, p.hosts(site), running is not None) for p in PHASES if p.hosts(site)
    ]
    lacking = list(desired.site_file.draft)
    return {
        "site": site.name,
        "phases": phases,
        "running": running,
        "last_run": last_run,
        "without_devices": lacking,
    }


def _phase(
    desired: Desired, recorded: SiteState, phase: Phase, hosts: tuple[str, ...], locked: bool
) -> dict[str, Any]:
    entries = {h: recorded.entry(phase.name, h) for h in hosts}
    states = Counter(e.state for e in entries.values())
    if not locked:  # a killed run left it: begun, and its end was not seen
        states[PhaseState.FAILED] += states.pop(PhaseState.RUNNING, 0)
    bad = [h for h, e in entries.items() if e.state in (PhaseState.FAILED, PhaseState.UNREACHABLE)]
    bad += [] if locked else [h for h, e in entries.items() if e.state is PhaseState.RUNNING]
    stale = [
        h
        for h, e in entries.items()
        if e.state is PhaseState.DONE and not same(e.digest, desired.digests.host(phase, h))
    ]
    if states[PhaseState.RUNNING]:
        state = "running"
    elif bad:
        state = "failed"
    elif states[PhaseState.DONE] < len(hosts):
        state = "pending"
    else:
        state = "stale" if stale else "done"
    return {
        "name": phase.name,
        "title": phase.title,
        "state": state,
        "hosts": {"total": len(hosts), "done": states[PhaseState.DONE], "failed": len(bad)},
        "failed_hosts": sorted(bad),
        "stale_hosts": sorted(stale),
        "finished": max((e.finished for e in entries.values() if e.finished), default=None),
    }


def advice(data: dict[str, Any], avadm: str = "avadm") -> str:
    """Return what to do next, as one sentence; ``avadm`` is the command with its options."""
    if data["running"]:
        who = data["running"]
        return (
            f"`avadm {who.get('verb', '?')}` is running (process {who.get('pid')}, since {who.get('since')})."
        )
    if lacking := data["without_devices"]:
        return (
            f"No device of {', '.join(lacking)} is approved: `{avadm} bootstrap`, `{avadm} disk list`, then "
            f"`{avadm} disk approve NODE DISK` for each."
        )
    by_state: dict[str, list[str]] = {}
    for phase in data["phases"]:
        by_state.setdefault(phase["state"], []).append(phase["name"])
    if failed := by_state.get("failed"):
        return f"See `avadm runs show latest`, then `{avadm} apply {' '.join(failed)}`."
    if len(by_state.get("pending", [])) == len(data["phases"]):
        return f"Nothing is installed yet: `{avadm} plan` shows what would be done, `{avadm} apply` does it."
    if todo := by_state.get("pending", []) + by_state.get("stale", []):
        return f"`{avadm} apply {' '.join(todo)}` brings it up to date."
    return f"All is installed; `{avadm} accept run` measures it."
