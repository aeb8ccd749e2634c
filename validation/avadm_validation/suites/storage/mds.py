"""Asking the active MDS by its admin socket: what a release as old as 13.2 has."""

from __future__ import annotations

import shlex

from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.measuring.extract import document
from avadm_validation.protocol.fleet import Result


def active(ctx: Context) -> tuple[str, str]:
    """Return (node, daemon name) of rank 0's MDS."""
    doc = document(ctx.ceph("ceph fs dump --format json 2>/dev/null", "fs-dump").stdout)
    for fs in doc.get("filesystems", []):
        for info in fs["mdsmap"]["info"].values():
            if info["rank"] == 0 and info["state"].startswith("up:active"):
                name = info["name"]
                # Daemons are named after their nodes; anything else is looked for by its socket.
                return (name if name in ctx.target.mds else _by_socket(ctx, name)), name
    raise MeasureError("no active MDS of rank 0 was found (ceph fs dump)")


def _by_socket(ctx: Context, name: str) -> str:
    commands = {n: f"test -S /var/run/ceph/ceph-mds.{shlex.quote(name)}.asok" for n in ctx.target.mds}
    for node, result in ctx.rec.map(commands, "mds-socket").items():
        if result.rc == 0:
            return node
    raise MeasureError(f"the admin socket of mds.{name} is on none of {', '.join(ctx.target.mds)}")


def daemon(ctx: Context, node: str, name: str, command: str, label: str) -> Result:
    """Run an admin socket command of an MDS; MeasureError where it fails."""
    return ctx.must(ctx.rec.run(node, f"ceph daemon mds.{shlex.quote(name)} {command}", label, timeout=120))
