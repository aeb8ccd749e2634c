"""What a run changes on a site besides its own files, and how it is put back, after a killed run too.

Scrubs are held off with the OSD flags noscrub and nodeep-scrub. Which of them were set by us is written to ceph's
config-key store *before* they are set, so that the next run (or ``accept run`` after a crash) takes them away again;
flags that the site's people had set stay. What runs on a client notes its pid in the run's folder there, so that what a
killed run left running is ended before its files are swept.
"""

from __future__ import annotations

import json
import shlex
import statistics

from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.protocol.fleet import Result
from avadm_validation.suites.storage.extract.cluster import SCRUB_FLAGS

KEY = "avadm/accept/flags"
PREFIX = "avadm-accept-"
NOT_THERE = 2  # exit status of `ceph config-key get` for a key that no one has set (ENOENT)

# End what noted its pid and still has our name in its command line (a pid may be another's by now), with its process
# group; then take mounts and mapped images below the run's folder away, and the folder. Prints what stays. No pattern of
# file names may reach kill (-s, since dash takes no -- after -TERM): each pid is looked at digit by digit, and neither
# init's group nor our own is ever meant.
STOP = """
pids() {
  for f in /tmp/%(name)s*/pid.*; do
    p=${f##*.}
    case "$p" in ''|*[!0-9]*|0|1|$$) continue ;; esac
    if grep -aqs %(prefix)s "/proc/$p/cmdline"; then echo "$p"; fi
  done
}
end() {
  for p in $(pids); do
    g=$(cut -d' ' -f5 "/proc/$p/stat")
    case "$g" in ''|*[!0-9]*|0|1|$own) kill -s "$1" "$p" ;; *) kill -s "$1" -- "-$g" ;; esac
  done 2>/dev/null
}
own=$(cut -d' ' -f5 /proc/$$/stat)
end TERM
n=0
while [ -n "$(pids)" ] && [ $n -lt 50 ]; do sleep 0.2; n=$((n+1)); if [ $n = 40 ]; then end KILL; fi; done
for p in $(pids); do echo "process $p"; done
for m in $(cut -d' ' -f2 /proc/mounts | grep ^/tmp/%(name)s | sort -r); do umount "$m" || echo "mount $m"; done 2>/dev/null
for d in /sys/bus/rbd/devices/*; do
  case "$(cat "$d/name" 2>/dev/null)" in %(name)s*) rbd unmap "/dev/rbd${d##*/}" || echo "device /dev/rbd${d##*/}" ;; esac
done
rm -rf --one-file-system /tmp/%(name)s*
ls -d /tmp/%(name)s* 2>/dev/null
true
"""


class Guard:
    """Enter before measuring, leave afterwards, always."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def enter(self, tools: dict[str, bytes]) -> list[str]:
        """Put back what a killed run left, then put the tools on the clients; return what could not be put back.

        Raises:
            MeasureError: a client or the mon node cannot be used at all.
        """
        self.ctx.step("prepare clients")
        self._restore()
        left = [*self._stop(PREFIX), *self._sweep(PREFIX)]
        t = self.ctx.target
        self.ctx.has_tools(*t.clients)
        self.ctx.everywhere(
            dict.fromkeys(t.clients, f"{{ {self.ctx.private}; }} && echo made"), "tools", timeout=60
        )
        for client in t.clients:
            for name, content in tools.items():
                self.ctx.must(self.ctx.rec.fleet.put(client, content, f"{self.ctx.tools}/{name}", mode=0o755))
        return left

    def clock_offset(self) -> float:
        """Return the clients' clocks minus ours, seconds (median; half of the round trip is taken off)."""
        results = self.ctx.rec.map(dict.fromkeys(self.ctx.target.clients, "date +%s.%N"), "clock", timeout=30)
        offsets = [float(r.stdout) - r.started - r.seconds / 2 for r in results.values() if r.rc == 0]
        return statistics.median(offsets) if offsets else 0.0

    def quiet(self) -> None:
        """Hold scrubs off; remember which flags are ours before setting them."""
        doc = json.loads(self.ctx.ceph("ceph osd dump --format json", "osd-dump").stdout)
        ours = [f for f in SCRUB_FLAGS if f not in str(doc.get("flags", "")).split(",")]
        if ours:
            value = shlex.quote(json.dumps({"run": self.ctx.run, "flags": ours}))
            commands = " && ".join(f"ceph osd set {f}" for f in ours)
            self.ctx.ceph(f"ceph config-key set {KEY} {value} && {commands}", "hold-scrubs")

    def leave(self) -> list[str]:
        """Take everything away that the run made; return what stayed, in sentences.

        Nothing is raised, so that one failure does not hide the next, and no one needs to be listening.
        """
        self.ctx.tell("put everything back")
        left = []
        try:
            self._restore()
        except MeasureError as e:
            left.append(
                f"The flags {' and '.join(SCRUB_FLAGS)} may still be set ({e}); the next `avadm accept run` takes them "
                f"off, or `ceph osd unset FLAG` for those that `ceph config-key get {KEY}` names."
            )
        return [*left, *self._stop(self.ctx.name), *self._sweep(self.ctx.name)]

    def _restore(self) -> None:
        """Unset the flags that a run of ours noted, and its note; MeasureError where that is not possible."""
        found = self.ctx.rec.run(self.ctx.target.mon, f"ceph config-key get {KEY}", "noted")
        if found.rc == NOT_THERE and not found.error:
            return
        if not self.ctx.must(found).stdout.strip():
            return
        try:
            flags = [f for f in json.loads(found.stdout)["flags"] if f in SCRUB_FLAGS]
        except (ValueError, KeyError, TypeError) as e:
            raise MeasureError(f"{KEY} holds what no run of ours writes: {found.stdout.strip()!r}") from e
        commands = " && ".join([*(f"ceph osd unset {f}" for f in flags), f"ceph config-key rm {KEY}"])
        self.ctx.ceph(commands, "restore-flags")

    def _stop(self, prefix: str) -> list[str]:
        """End what still runs on the clients and remove the run's folders there; return what stayed."""
        line = STOP % {"name": prefix, "prefix": PREFIX}
        results = self.ctx.rec.map(dict.fromkeys(self.ctx.target.clients, line), "stop", timeout=120)
        return [p for node in results for p in self._stayed(results[node])]

    def _sweep(self, prefix: str) -> list[str]:
        """Remove folders and images whose names begin with the prefix: ours alone have it; return what stayed."""
        t, left = self.ctx.target, []
        if t.mount:
            # Only in a mounted file system: the same path on the node's own disk is not ours.
            mount = shlex.quote(t.mount)
            line = f"mountpoint -q {mount} && rm -rf {mount}/{prefix}* && ls -d {mount}/{prefix}* 2>/dev/null; true"
            left += self._stayed(self.ctx.rec.run(t.clients[0], line, "sweep-files", timeout=7200))
        if t.pool:
            base = f"rbd --id {shlex.quote(t.rbd_user)} -p {shlex.quote(t.pool)}"
            # An image whose client was killed is watched for 30 s more.
            line = (
                f"images() {{ {base} ls 2>/dev/null | grep ^{prefix}; }}; n=0; "
                'while [ -n "$(images)" ] && [ $n -lt 4 ]; do [ $n = 0 ] || sleep 12; n=$((n+1)); '
                f"for i in $(images); do {base} snap unprotect $i@read; {base} snap purge $i; "
                f"{base} rm --no-progress $i; done >&2; done; images | sed 's/^/image /'; true"
            )
            left += self._stayed(self.ctx.rec.run(t.clients[0], line, "sweep-images", timeout=7200))
        return left

    def _stayed(self, result: Result) -> list[str]:
        """Return what a command of ours says is still there, in sentences."""
        if result.rc or result.error:
            return [f"{result.node}: could not be cleaned up: {result.error or result.stderr.strip()}"]
        return [f"{result.node}: {line} could not be taken away" for line in result.stdout.splitlines()]
