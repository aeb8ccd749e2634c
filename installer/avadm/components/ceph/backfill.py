"""Limits of backfill and recovery by the hour: what nodes are given, and what the key may do that sets them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from avadm.site.components import Ceph
from avadm.site.profile import Profile
from avadm_node.agents import backfill as agent
from avadm_node.agents.backfill import ENTITY, LIMITS, OPTIONS, RECORD

__all__ = [
    "ENTITY",
    "LIMITS",
    "OPTIONS",
    "backfill_caps",
    "backfill_vars",
    "has_mclock",
    "inside",
    "option_name",
    "release",
    "same",
    "wanted",
]
MCLOCK_RELEASE = 17
"""Major release from which OSDs schedule by mClock unless osd_op_queue names another scheduler."""
# Of the program that nodes run, whose Python 2.7 has no annotations.
inside: Callable[[str, int], bool] = agent.inside
same: Callable[[str | None, str | None], bool] = agent.same
wanted: Callable[[dict[str, Any], int], dict[str, str | None]] = agent.wanted


def release(profile: Profile) -> int:
    """Return the major release of the profile's ceph, e.g. 16."""
    return int(profile.versions["ceph"].split(".")[0])


def has_mclock(ceph: Ceph, profile: Profile) -> bool:
    """Return whether OSDs schedule by mClock, which ignores limits of recovery: by default from 17 on."""
    queues = (
        value
        for section, options in ceph.config.items()
        if section in ("global", "osd")
        for key, value in options.items()
        if option_name(key) == "osd_op_queue"
    )
    return release(profile) >= MCLOCK_RELEASE and all(value == "mclock_scheduler" for value in queues)


def backfill_vars(ceph: Ceph, profile: Profile) -> dict[str, Any]:
    """Return the limits of backfill by the hour as avadm-ceph-backfill reads them; empty where the site has none."""
    if (given := ceph.backfill) is None:
        return {}
    return {
        "limits": given.limits.model_dump(exclude_none=True),
        "hours": given.hours or "",
        "limits_in_hours": (given.limits_in_hours or given.limits).model_dump(exclude_none=True),
        "mclock": has_mclock(ceph, profile),
    }


def backfill_caps() -> dict[str, str]:
    """Return what the key that sets the limits may do: these options of all OSDs, and the record of what it has set.

    In single quotes: a keyring has the whole in double ones, and escapes none.
    """
    commands = [f"allow command '{verb}' with key={RECORD}" for verb in ("config-key get", "config-key set")]
    commands.append("allow command 'config get' with who=osd")
    commands += [
        f"allow command '{verb}' with who=osd name={option}"
        for option in OPTIONS
        for verb in ("config set", "config rm")
    ]
    return {"mon": ", ".join(commands)}


def option_name(key: str) -> str:
    """Return an option's name as ceph prints it, of one written with spaces or hyphens."""
    return re.sub(r"[ -]+", "_", key.strip())
