"""The suite's own users of a store of ceph's: made when it begins, removed with all that they have when it ends.

Their keys are made by ceph, for this run alone: they are kept nowhere, and reach clients by standard input.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.measuring.targets import ObjectTarget
from avadm_validation.protocol.fleet import Result

PREFIX = "avadm-accept"
"""How the suite's users begin; whatever begins so is removed."""
PLAIN, LIMITED = PREFIX, f"{PREFIX}-quota"
READY = "object-users"
"""Under which the target with its keys is left for the run's other checks."""


def target(ctx: Context) -> ObjectTarget:
    """Return the object store with the keys of this run's users; MeasureError where there is none."""
    found = ctx.shared.get(READY) or ctx.target.objects
    if found is None:
        raise MeasureError("the site has no object store")
    return found


def make(ctx: Context, timeout: float) -> None:
    """Make the users again, after what a killed run left is removed; nothing where others run the store.

    Raises:
        MeasureError: radosgw-admin cannot do it.
    """
    store = ctx.target.objects
    if store is None or not store.gateways:
        return
    if left := remove(ctx, timeout):
        raise MeasureError(f"what an earlier run left could not be removed: {'; '.join(left)}")
    keys = [_create(ctx, user) for user in (PLAIN, LIMITED)]
    for act in (f"set --max-size={store.quota_bytes}", "enable"):
        ctx.must(_admin(ctx, f"quota {act} --quota-scope=user --uid={LIMITED}"))
    ctx.shared[READY] = replace(store, keys=keys[0], limited=keys[1])


def remove(ctx: Context, timeout: float) -> list[str]:
    """Remove the suite's users with their buckets; return what stayed, in sentences. Nothing is raised."""
    store = ctx.target.objects
    if store is None or not store.gateways:
        return []
    ctx.shared.pop(READY, None)
    listed = _admin(ctx, "metadata list user")
    try:
        there = [str(u) for u in json.loads(listed.stdout)]
    except ValueError:
        why = listed.error or listed.stderr.strip() or "no list of users"
        return [f"{ctx.target.mon}: users of the object store may have stayed: {why}"]
    stayed = []
    for user in sorted(u for u in there if u == PREFIX or u.startswith(f"{PREFIX}-")):
        done = _admin(ctx, f"user rm --uid={shlex.quote(user)} --purge-data", timeout)
        if done.rc or done.error:
            stayed.append(f"user {user} of the object store has stayed: {done.error or done.stderr.strip()}")
    return stayed


def _create(ctx: Context, user: str) -> tuple[str, str]:
    made = ctx.must(
        _admin(ctx, f"user create --uid={user} --display-name='avadm acceptance, removed at its end'")
    )
    pairs: Sequence[dict[str, Any]] = json.loads(made.stdout)["keys"]
    return str(pairs[0]["access_key"]), str(pairs[0]["secret_key"])


def _admin(ctx: Context, command: str, timeout: float = 120.0) -> Result:
    """Run radosgw-admin; what it prints is not kept: it has keys."""
    return ctx.rec.fleet.run(ctx.target.mon, f"radosgw-admin {command}", timeout=timeout)
