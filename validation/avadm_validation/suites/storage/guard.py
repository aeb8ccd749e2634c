"""What a run changes on a site besides its own files, and how it is put back, after a killed run too.

Scrubs are held off with the OSD flags noscrub and nodeep-scrub. Which of them were set by us is written to ceph's
config-key store *before* they are set, so that the next run (or ``accept run`` after a crash) takes them away again;
flags that the site's people had set stay.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import statistics

from avadm_validation.suites.storage.context import Context, MeasureError

KEY = "avadm/accept/flags"
FLAGS = ("noscrub", "nodeep-scrub")
PREFIX = "avadm-accept-"


class Guard:
    """Enter before measuring, leave afterwards, always."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def enter(self, tools: dict[str, bytes]) -> None:
        """Restore what a killed run left, then put the tools on the clients.

        Raises:
            MeasureError: a client or the mon node cannot be used at all.
        """
        self.ctx.step("prepare clients")
        self._restore()
        self._sweep(PREFIX)
        t, folder = self.ctx.target, shlex.quote(self.ctx.tools)
        self.ctx.everywhere(
            dict.fromkeys(t.clients, f"mkdir -m 700 -p {folder} && echo made"), "tools", timeout=60
        )
        for client in t.clients:
            for name, content in tools.items():
                self.ctx.must(self.ctx.rec.fleet.put(client, content, f"{self.ctx.tools}/{name}", mode=0o755))

    def clock_offset(self) -> float:
        """Return the clients' clocks minus ours, seconds (median; half of the round trip is taken off)."""
        results = self.ctx.rec.map(dict.fromkeys(self.ctx.target.clients, "date +%s.%N"), "clock", timeout=30)
        offsets = [float(r.stdout) - r.started - r.seconds / 2 for r in results.values() if r.rc == 0]
        return statistics.median(offsets) if offsets else 0.0

    def quiet(self) -> None:
        """Hold scrubs off; remember which flags are ours before setting them."""
        doc = json.loads(self.ctx.ceph("ceph osd dump --format json", "osd-dump").stdout)
        ours = [f for f in FLAGS if f not in str(doc.get("flags", "")).split(",")]
        if ours:
            value = shlex.quote(json.dumps({"run": self.ctx.run, "flags": ours}))
            commands = " && ".join(f"ceph osd set {f}" for f in ours)
            self.ctx.ceph(f"ceph config-key set {KEY} {value} && {commands}", "hold-scrubs")

    def leave(self) -> None:
        """Take everything away that the run made; never raises, so that one failure does not hide the next."""
        self.ctx.step("put everything back")
        with contextlib.suppress(MeasureError, ValueError):
            self._restore()
        self._sweep(self.ctx.name)
        folder = shlex.quote(self.ctx.tools)
        self.ctx.rec.map(
            dict.fromkeys(self.ctx.target.clients, f"rm -rf {folder}"), "remove-tools", timeout=60
        )

    def _restore(self) -> None:
        """Unset the flags that a run of ours noted, and its note."""
        found = self.ctx.rec.run(
            self.ctx.target.mon, f"ceph config-key get {KEY} 2>/dev/null || true", "noted"
        )
        if not found.stdout.strip():
            return
        flags = [f for f in json.loads(found.stdout)["flags"] if f in FLAGS]
        commands = " && ".join([*(f"ceph osd unset {f}" for f in flags), f"ceph config-key rm {KEY}"])
        self.ctx.ceph(commands, "restore-flags")

    def _sweep(self, prefix: str) -> None:
        """Remove folders and images whose names begin with the prefix: ours alone have it."""
        t = self.ctx.target
        if t.mount:
            # Only in a mounted file system: the same path on the node's own disk is not ours.
            line = f"mountpoint -q {shlex.quote(t.mount)} && rm -rf {shlex.quote(t.mount)}/{prefix}* ; true"
            self.ctx.rec.run(t.clients[0], line, "sweep-files", timeout=7200)
        if t.pool:
            base = f"rbd --id {shlex.quote(t.rbd_user)} -p {shlex.quote(t.pool)}"
            line = (
                f"for i in $({base} ls 2>/dev/null | grep ^{prefix}); do {base} snap unprotect $i@read; {base} snap purge $i; "
                f"{base} rm --no-progress $i; done 2>&1; true"
            )
            self.ctx.rec.run(t.clients[0], line, "sweep-images", timeout=7200)
