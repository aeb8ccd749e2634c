"""Changing which nodes are the cache's masters, one to three or back: backup of the journal, new journals, restored from it.

One master keeps its journal on its disk, three agree on theirs among themselves: neither kind can read the other. So the journal
is backed up, the masters stop, and those that come start with empty journals of the wanted kind, into which whichever leads first
reads the backup (alluxio.master.journal.init.from.backup; it is ignored once a journal holds anything). Former journals stay
beside them. The backup holds the mounts' options, keys among them: it is readable by root alone and removed in the end.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.components.alluxio import placement as cache
from avadm.disks.nodes import ask_all
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding, errors
from avadm.operations.follow import bring, follow, pending
from avadm.operations.model import Gate, Interruption, Operation, Progress, Step, Tell, attempt
from avadm.operations.site_change import change_site
from avadm.quantity import quantity
from avadm.remote import access
from avadm.site import edit
from avadm.site.load import SiteFile, load
from avadm.site.text import read_text
from avadm_node.probes.mounts import mount_uses

VERB = "cache masters"
ROLE = "alluxio_master"
ACCEPTABLE = frozenset({"cache-mount-in-use"})
UNIT = "avadm-alluxio-master"
MOUNT_UNIT = "avadm-alluxio-fuse"
CLI = "/usr/local/sbin/avadm-alluxio"
JOURNAL = "/var/lib/alluxio/journal"
MARK = "alluxio-journal"
MARK_FILE = f"/var/lib/avadm/founded/{MARK}.json"
FOLDER = "/var/lib/alluxio/masters"
"""Of this operation, on masters: the backup, the mounts before, and what is put back where it fails."""
BACKUP = f"{FOLDER}/journal.gz"
MOUNTS = f"{FOLDER}/mounts"
DROP_IN = f"/etc/systemd/system/{UNIT}.service.d/restore.conf"
RESTORE = f"[Service]\nEnvironment=JAVA_TOOL_OPTIONS=-Dalluxio.master.journal.init.from.backup={BACKUP}\n"
ASK_S = 90.0
BACKUP_S = 900
"""Seconds that a backup has; masters answer no changes meanwhile."""
MOST_MIB = 256
"""Largest backup that is copied through the controller, MiB."""
PAUSE_S = 900.0
Follow = Callable[[SiteFile, Tell], None]
Bring = Callable[[SiteFile, Sequence[str], Sequence[str], Tell], None]

_ASIDE = f"""set -eu; umask 077; mkdir -p {FOLDER}
if [ -d {JOURNAL} ] && [ ! -e {FOLDER}/aside ]; then echo {JOURNAL}.removed-$(date +%s) > {FOLDER}/aside; fi
if [ -d {JOURNAL} ]; then mv {JOURNAL} "$(cat {FOLDER}/aside)"; fi
if [ -e {MARK_FILE} ]; then mv {MARK_FILE} {FOLDER}/mark.json; fi"""
_BACK = f"""set -eu; systemctl stop {UNIT} 2>/dev/null || true
if [ ! -d {JOURNAL} ] && [ -e {FOLDER}/aside ]; then mv "$(cat {FOLDER}/aside)" {JOURNAL}; fi
if [ -e {FOLDER}/mark.json ]; then mv {FOLDER}/mark.json {MARK_FILE}; fi
rm -f {FOLDER}/aside {DROP_IN}; systemctl daemon-reload; systemctl enable --now {UNIT}"""


def command(names: Sequence[str]) -> str:
    """Return the command that continues."""
    return shlex.join(["avadm", *VERB.split(), *names])


def mounts_of(text: str) -> dict[str, str]:
    """Return folder to under store of what ``fs mount`` prints; options, which may be secret, are not read."""
    rows = (re.match(r"(\S+)\s+on\s+(/\S*)\s+\(", line) for line in text.split("\n"))
    return {row[2]: row[1] for row in rows if row}


@dataclass(frozen=True, slots=True)
class Masters:
    """The masters of a cache, as they are and as they are to be.

    Attributes:
        cluster: the site.
        old, new: names of the nodes.
        coming: the site file as it will be.
        follow: runs what the changed site file asks for.
    """

    cluster: Cluster
    old: tuple[str, ...]
    new: tuple[str, ...]
    coming: SiteFile
    follow: Follow

    @property
    def all(self) -> tuple[str, ...]:
        """Every node that is a master before or afterwards."""
        return tuple(dict.fromkeys([*self.old, *self.new]))

    def run(self, node: str, script: str, timeout: float = ASK_S) -> str:
        """Return the output of a script on a node; AvadmError (exit 1) where it failed."""
        return self.cluster.script(node, script, timeout)

    def written(self) -> bool:
        """Return whether the site file has the masters: from then on the former ones are not touched again."""
        site = load(self.coming.path).site
        return {n.name for n in site.with_role(ROLE)} == set(self.new)

    def back_up(self, tell: Tell) -> None:
        """Back the journal up, check the file, and copy it to the masters that come.

        A command that was stopped once the masters stood still finds the cache silent; then the backup of before is the last.

        Raises:
            AvadmError: there is none, or it is not whole.
        """
        try:
            before = mounts_of(
                self.cluster.first(self.old, f"{CLI} fs mount", "cache-command", "fs mount", ASK_S)
            )
        except AvadmError:
            held = {node: self._held(node) for node in self.new}
            if self._stopped() and len(set(held.values())) == 1 and held[self.new[0]]:
                tell("    the masters stand still; the backup of before is whole")
                return
            raise
        fresh = f"{FOLDER}/new"
        for node in self.all:
            # A mark and a journal that were put aside stay: a command that failed may have to put them back.
            self.run(node, f"set -eu; umask 077; rm -rf {fresh} {BACKUP} {MOUNTS}; mkdir -p {fresh}")
        words = f"fsadmin backup {fresh} --local"
        shell = f"AVADM_ALLUXIO_TIMEOUT={BACKUP_S} {CLI} {words}"
        self.cluster.first(self.old[:1], shell, "cache-command", words, BACKUP_S + 30.0)
        content = self._fetch(fresh)
        rows = "".join(f"{path} {store}\n" for path, store in sorted(before.items()))
        for node in self.new:
            for path, data in ((MOUNTS, rows.encode()), (BACKUP, content)):
                done = self.cluster.fleet.put(node, data, path, mode=0o600)
                if not done.ok:
                    raise AvadmError(
                        finding("cache-backup", found=f"{path} cannot be written", host=node), EXIT_FOUND_BAD
                    )
            if self._held(node) != sha256(content).hexdigest():
                raise AvadmError(finding("cache-backup", found="its copy differs", host=node), EXIT_FOUND_BAD)
        for node in self.old:
            self.run(node, f"rm -rf {fresh}")
        tell(
            f"    {quantity(len(before), 'mount')}, {quantity(len(content), 'byte')}, on {', '.join(self.new)}"
        )

    def _fetch(self, folder: str) -> bytes:
        """Return the backup from the master that wrote it: the leading one, or one that it has asked to."""
        find = (
            f"cd {folder} && for f in *.gz; do if [ -e $f.complete ]; then gzip -t $f && stat -c %s $f && base64 -w0 $f; "
            "fi; done"
        )
        for node in self.old:
            size, _, text = self.run(
                node, f"if cd {folder} 2>/dev/null; then du -sm . | cut -f1; fi"
            ).partition("\n")
            if size.strip().isdigit() and int(size) > MOST_MIB:
                raise AvadmError(
                    finding("cache-backup", found=f"{size} MiB", wanted=f"at most {MOST_MIB} MiB", host=node),
                    EXIT_FOUND_BAD,
                )
            length, _, text = self.run(node, find, float(BACKUP_S)).partition("\n")
            content = base64.b64decode(text) if length.strip().isdigit() else b""
            if content and len(content) == int(length):
                return content
        raise AvadmError(
            finding("cache-backup", found="no whole file", wanted="one on a master"), EXIT_FOUND_BAD
        )

    def _stopped(self) -> bool:
        """Return whether the former masters were stopped, and none has merely ended."""
        show = f"systemctl show --property=ActiveState {UNIT}"
        return all(self.run(node, show).strip() == "ActiveState=inactive" for node in self.old)

    def _held(self, node: str) -> str:
        """Return the digest of the backup on a node; "" where it has none."""
        done = self.cluster.fleet.run(node, f"gzip -t {BACKUP} && sha256sum {BACKUP}", timeout=ASK_S)
        return done.stdout.split(" ")[0] if done.ok else ""

    def stop(self, tell: Tell) -> None:
        """Stop the former masters and put their journals aside; those that come are to read the backup."""
        for node in self.old:
            verb = "stop" if node in self.new else "disable --now"
            self.run(node, f"systemctl {verb} {UNIT} && ! systemctl is-active --quiet {UNIT}", 180.0)
        for node in self.old:
            tell(f"    {node}: its journal is put aside")
            self.run(node, _ASIDE)
        for node in self.new:
            line = shlex.quote(RESTORE)
            self.run(
                node,
                f"set -eu; mkdir -p {DROP_IN.rpartition('/')[0]}; printf %s {line} > {DROP_IN}; systemctl daemon-reload",
            )
        for node in self.old:
            self.cluster.state.unfound(MARK, node)
        self.cluster.push()

    def start_again(self, tell: Tell) -> None:
        """Put the journals of the former masters back and start them."""
        for node in self.new:
            # It ages from now on.
            self.run(node, f"rm -f {BACKUP} {DROP_IN}; systemctl daemon-reload")
        for node in self.old:
            self.run(node, _BACK, 180.0)
        tell("    the former masters run again with their journals")

    def write(self, tell: Tell) -> None:
        """Write the site file."""
        change_site(self.coming.path, edit.giving_role(ROLE, self.new), tell)

    def apply(self, tell: Tell) -> None:
        """Start the masters by the phase `cache`, and bring the other nodes up to date."""
        self.follow(load(self.coming.path), tell)

    def look(self) -> Progress:
        """Return what the masters lack: one that leads, members of the quorum, mounts that were there before."""
        if len(self.new) > 1:
            words = "fsadmin journal quorum info -domain MASTER"
            text = self.cluster.first(self.new, f"{CLI} {words}", "cache-command", words, ASK_S)
            there = len(re.findall(r"^\s*AVAILABLE\b", text, re.M))
            leads = re.search(r"^Quorum leader\s*:\s*\S+", text, re.M)
            if there < len(self.new) or leads is None:
                return Progress(
                    f"{there} of {len(self.new)} masters in the quorum" + ("" if leads else ", none leads"),
                    9.0,
                )
        text = self.cluster.first(self.new, f"{CLI} fs mount", "cache-command", "fs mount", ASK_S)
        found = mounts_of(text)
        rows = self.run(self.new[0], f"cat {MOUNTS}").strip().split("\n")
        before = dict(line.split(" ", 1) for line in rows if line)
        lost = sorted(
            path for path, store in before.items() if found.get(path, "").rstrip("/") != store.rstrip("/")
        )
        return Progress(f"without {', '.join(lost)}", float(len(lost))) if lost else Progress()

    def remounted(self, tell: Tell) -> None:
        """Name the clients whose mount was in use, and so was not mounted again by the phase."""
        options = self.cluster.site.components.alluxio
        if options is None or not options.fuse:
            return
        point = shlex.quote(options.mount_point)
        script = (
            f'[ "$(stat -c %Y /etc/alluxio/alluxio-site.properties)" -le '
            f'"$(date -d "$(systemctl show --property=ActiveEnterTimestamp {MOUNT_UNIT} | cut -d= -f2)" +%s)" ] && '
            f"timeout 30 stat -f -c %T {point}"
        )
        names = [n.name for n in cache.clients(load(self.coming.path).site)]
        found = self.cluster.fleet.map(dict.fromkeys(names, script), timeout=ASK_S)
        for node in sorted(node for node, done in found.items() if not done.ok):
            tell(
                f"    {node}: its mount asks the former masters still: once it is not in use, "
                f"`systemctl restart {MOUNT_UNIT}`"
            )

    def clean(self, tell: Tell) -> None:
        """Remove the backup and what has it read; journals that were put aside stay."""
        for node in self.all:
            self.run(node, f"rm -rf {FOLDER}; rm -f {DROP_IN}; systemctl daemon-reload")


def build(
    cluster: Cluster,
    names: Sequence[str],
    accepted: Collection[str] = (),
    follow_up: Follow | None = None,
    bring_up: Bring | None = None,
) -> Operation:
    """Plan the change from what the cache reports.

    Args:
        cluster: the site.
        names: the nodes that are to be masters, all of them.
        accepted: ids of refusals that the user accepts.
        follow_up: runs what the changed site file asks for; `follow.follow` where None.
        bring_up: runs phases with it before; `follow.bring` where None.
    """
    site, path, line = cluster.site, cluster.site_file.path, command(names)
    begun = any(one.command == line for one in cluster.state.begun())
    refusals = _unfit(cluster, names, begun)
    if refusals:
        return Operation(VERB, line, (), refusals=refusals, acceptable=ACCEPTABLE)
    coming, wrong = edit.considered(path, edit.changed(read_text(path), edit.giving_role(ROLE, names)))
    if coming is None or errors(list(wrong)):
        return Operation(VERB, line, (), refusals=wrong, acceptable=ACCEPTABLE)
    old = tuple(n.name for n in site.with_role(ROLE))
    new = tuple(n.name for n in coming.site.with_role(ROLE))
    for node in dict.fromkeys([*old, *new]):
        done = cluster.fleet.run(node, "true", timeout=20.0)
        if done.error is not None:
            refusals.append(access.finding("cache-master-silent", node, done.error))
    in_use = attempt(refusals, lambda: users(cluster)) or {}
    refusals += [
        finding("cache-mount-in-use", host=n, found=one[0], mount=_mount(cluster))
        for n, one in sorted(in_use.items())
    ]
    if not begun and not any(one.check == "cache-master-silent" for one in refusals):
        attempt(refusals, lambda: cluster.first(old, f"{CLI} fs mount", "cache-command", "fs mount", ASK_S))

    def following(site_file: SiteFile, tell: Tell) -> None:
        follow(cluster, site_file, tell)

    work = Masters(cluster, old, new, coming, follow_up or following)
    due = pending(cluster, coming)
    # Rules without a master that leaves would shut it off while it serves, and may lead.
    later = {"cache"} if set(old) <= set(new) else {"cache", "filter"}
    ahead = [phase for phase in due.phases if phase not in later]

    def prepare(tell: Tell) -> None:
        if bring_up is not None:
            bring_up(coming, ahead, due.nodes, tell)
        else:
            bring(cluster, coming, ahead, due.nodes, tell)

    steps = (
        [
            Step(
                f"apply what does not touch the cache: {', '.join(ahead)}",
                prepare,
                due.nodes,
                done=work.written,
            )
        ]
        if ahead
        else []
    )
    steps += [
        Step("back up the journal and check the copies", work.back_up, work.all, done=work.written),
        Step(
            f"stop the masters {', '.join(old)}, put their journals aside",
            work.stop,
            work.all,
            done=work.written,
            undo=work.start_again,
        ),
        Step("write the site file", work.write, done=work.written),
        Step(
            f"start the masters {', '.join(new)} from the backup, apply: {due.text}",
            work.apply,
            due.nodes,
            gate=Gate(
                "one master leads, all are in the quorum, the mounts are those of before",
                work.look,
                remedy="The former journals are in /var/lib/alluxio on the former masters: see the runbook.",
            ),
        ),
        Step(
            "see that the cache is mounted again where it was not in use",
            work.remounted,
            tuple(n.name for n in cache.clients(coming.site)),
        ),
        Step("remove the backup", work.clean, work.all),
    ]
    pause = Interruption(
        "the cache does not answer from the stop of its masters to their start; cephfs and S3 do", PAUSE_S
    )
    return Operation(
        VERB,
        line,
        steps,
        frozenset({"cache"}),
        [pause],
        refusals=[*refusals, *wrong],
        acceptable=ACCEPTABLE,
    )


def users(cluster: Cluster) -> dict[str, list[str]]:
    """Return client to who uses its mount of the cache; clients without users are left out.

    Raises:
        AvadmError: a client does not answer.
    """
    options = cluster.site.components.alluxio
    if options is None or not options.fuse:
        return {}
    given = {node.name: {"mount": options.mount_point} for node in cache.clients(cluster.site)}
    found = ask_all(cluster.fleet, cluster.site_file.profile.python, mount_uses.uses, given, ASK_S)
    return {node: [str(user) for user in one["users"]] for node, one in found.items() if one["users"]}


def _mount(cluster: Cluster) -> str:
    options = cluster.site.components.alluxio
    return options.mount_point if options else ""


def _unfit(cluster: Cluster, names: Sequence[str], begun: bool) -> list[Finding]:
    """Return what speaks against it by the site file alone."""
    site = cluster.site
    if site.components.alluxio is None:
        return [
            finding(
                "cache-absent", where="components.alluxio", found="no cache", wanted="a site with a cache"
            )
        ]
    known = {n.name for n in site.nodes}
    found = [
        finding("unknown-node", where="NODE", found=name, wanted=f"one of {', '.join(sorted(known))}")
        for name in names
        if name not in known
    ]
    if again := sorted({name for name in names if names.count(name) > 1}):
        found.append(
            finding("cache-masters-known", found=f"{', '.join(again)} twice", wanted="each node once")
        )
    now = {n.name for n in site.with_role(ROLE)}
    if set(names) == now and not begun:
        found.append(finding("cache-masters-known", found=", ".join(sorted(now)), wanted="other nodes"))
    return found
