"""Replacing an OSD's disk: its id and its place in the CRUSH map stay, so that others have no reason to move data.

The old disk is never written, and no OSD is destroyed that has the last complete copy of anything: it is down or drained,
and the managers agree (``ceph osd safe-to-destroy``), or all that it held is complete on OSDs that are up, and the user
accepted that there is one copy fewer meanwhile.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from functools import cached_property

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import LocateLed, Noout
from avadm.cluster.osd_map import (
    OsdMap,
    OsdState,
    device_bytes,
    placed_groups,
    why_kept,
    why_kept_once_settled,
)
from avadm.cluster.setting import Setting
from avadm.disks.approve import approve, entry
from avadm.disks.nodes import Disk, survey
from avadm.disks.replacement import Replacement, called, decide, entries, named_osd, title
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.operations.model import Gate, Operation, Progress, Step, Tell
from avadm.operations.phase import run_phase
from avadm.operations.run import Build
from avadm.operations.site_change import show
from avadm.site.load import SiteFile, load
from avadm.site.model import Node
from avadm_node.probes.disks.naming import KINDS

DEGRADED, OTHER_DOWN, NO_DISK = "replace-degraded", "replace-other-down", "replace-no-disk"
"""Refusals that a user may accept; what is worse has other ids."""
WRITE = "write the new disk into the site file"
"""The step after which the site file names the new disk."""
SWAP_S = 3600.0
"""Seconds in which a person has pulled one disk and pushed in another."""
STOP_S = 120.0
"""Seconds in which a daemon has stopped."""
SSD = "ssd"
"""The class of an approval without one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a user asked for.

    Attributes:
        node: the node's name.
        target: ``osd.N``, or a name of the disk.
        new: a name of the new disk; None for the only one that is blank.
        drain: whether the OSD's data are moved to others first.
        accepted: ids of refusals that the user accepts.
        old: a name of the old disk, as the site file lists it; None where it is the only one without an OSD.
    """

    node: str
    target: str
    new: str | None = None
    drain: bool = False
    accepted: tuple[str, ...] = ()
    old: str | None = None


def build(wanted: Wanted) -> Build:
    """Return what plans a replacement."""

    def planned(cluster: Cluster) -> Operation:
        return _Plan.of(cluster, wanted).operation()

    return planned


@dataclass
class _Plan:
    """One replacement, as it was planned; its steps ask again.

    Attributes:
        cluster: the site.
        wanted: what the user asked for.
        node: the node.
        number: the OSD's id.
        command: the command that continues it: the same for every new disk that is tried.
        first: what the cluster reported when it was planned.
        disks: the node's disks then.
    """

    cluster: Cluster
    wanted: Wanted
    node: Node
    number: int
    command: str
    first: OsdMap
    disks: list[Disk] = field(default_factory=list)

    @classmethod
    def of(cls, cluster: Cluster, wanted: Wanted) -> _Plan:
        """Find what is meant.

        Raises:
            AvadmError: the node or the OSD is unknown, or the node or ceph could not be asked.
        """
        try:
            node = cluster.site.node(wanted.node)
        except KeyError:
            known = ", ".join(n.name for n in cluster.site.with_role("osd"))
            raise AvadmError.of(
                "unknown-node", where="NODE", found=wanted.node, wanted=f"one of {known}"
            ) from None
        osds = OsdMap.read(cluster)
        disks = _survey(cluster, node, osds.fsid)
        number = _number(osds, disks, node, wanted.target)
        words = ["avadm", "disk", "replace", node.name, f"osd.{number}", *(["--drain"] * wanted.drain)]
        return cls(cluster, wanted, node, number, shlex.join(words), osds, disks)

    @property
    def name(self) -> str:
        """The OSD's name."""
        return f"osd.{self.number}"

    @property
    def written(self) -> bool:
        """Whether a former run has put a new disk into the site file."""
        return any(WRITE in one.steps for one in self.cluster.state.begun() if one.command == self.command)

    @cached_property
    def planned(self) -> Replacement:
        """How the disks were when it was planned."""
        return self._decide(self.first, self.disks, self.node, written=self.written)

    def _decide(self, osds: OsdMap, disks: list[Disk], node: Node, *, written: bool = False) -> Replacement:
        osd = osds.osds[self.number]
        uuid = "" if osd.destroyed else osd.uuid
        wanted = self.wanted
        return decide(disks, node, self.number, uuid, wanted.new, written=written, former=wanted.old)

    def look(self, *, written: bool = False) -> tuple[OsdMap, Replacement, SiteFile]:
        """Ask the cluster and the node once more, with the site file as it is now."""
        site_file = load(self.cluster.site_file.path)
        node, osds = site_file.site.node(self.node.name), OsdMap.read(self.cluster)
        at_hand = replace(self.cluster, site_file=site_file)
        disks = _survey(at_hand, node, osds.fsid)
        return osds, self._decide(osds, disks, node, written=written or self.written), site_file

    @cached_property
    def bytes(self) -> int:
        """The size of the disk that is replaced."""
        if self.planned.old is not None:
            return int(self.planned.old.report["size"])
        return device_bytes(self.cluster, self.first.osds[self.number])

    def operation(self) -> Operation:
        """Return the plan."""
        return Operation(
            "disk replace",
            self.command,
            self.steps(),
            frozenset({"ceph"}),
            refusals=self.refusals(),
            acceptable=frozenset({DEGRADED, OTHER_DOWN, NO_DISK}),
        )

    def refusals(self) -> list[Finding]:
        """Return all that speaks against it."""
        found = [*self.planned.findings, *self.wrong_disk(self.planned.new)]
        osd = self.first.osds[self.number]
        if self.planned.made:
            return found
        kept = why_kept_once_settled(self.cluster, self.number)
        if kept and not osd.destroyed:
            found += self.unsafe(self.first, osd, kept)
        down = [o for o in self.first.osds.values() if not o.up and o.id != self.number]
        if down:
            shown = ", ".join(f"osd.{o.id} on {o.host or 'no host'}" for o in down)
            # Two dead disks are replaced one after the other, once all that they held is complete elsewhere: --drain waits for
            # that before it destroys anything.
            code = "replace-others-down" if kept and not self.wanted.drain else OTHER_DOWN
            found.append(finding(code, found=shown, wanted="all others up"))
        if self.planned.new is None and not self.planned.findings and osd.up:
            found.append(finding(NO_DISK, host=self.node.name, wanted="a blank disk", number=self.number))
        return found

    def unsafe(self, osds: OsdMap, osd: OsdState, kept: str) -> list[Finding]:
        """Return why an OSD that the managers want to keep may not be destroyed."""
        if osds.without_copy:
            return [finding("replace-last-copy", where=self.name, found=osds.without_copy)]
        if self.wanted.drain:
            return []
        if osd.up:
            return [finding("replace-in-use", where=self.name, found=kept, command=f"{self.command} --drain")]
        return [
            finding(DEGRADED, where=self.name, found=osds.moving or kept, command=f"{self.command} --drain")
        ]

    def wrong_disk(self, disk: Disk | None) -> list[Finding]:
        """Return why a blank disk cannot take the OSD."""
        if disk is None or self.planned.made:
            if self.wanted.new is None:
                return []
            # The disks of other nodes are not read for this: their approvals tell enough.
            return [
                finding("replace-elsewhere", where=self.wanted.new, found=n.name, wanted=self.node.name)
                for n in self.cluster.site.nodes
                if n.name != self.node.name and any(called(e, self.wanted.new) for e in entries(n))
            ]
        if int(disk.report["size"]) >= self.bytes:
            return []
        return [
            finding(
                "replace-smaller",
                where=disk.report["path"] or disk.report["real"],
                found=f"{disk.report['size']} bytes",
                wanted=f"at least {self.bytes} bytes",
                host=self.node.name,
            )
        ]

    # Steps: each asks first, so that it can be done again.

    def steps(self) -> list[Step]:
        """Return the steps."""
        node, led = (self.node.name,), self.led
        # While it counts as in, nothing of it is copied elsewhere; one that is out keeps nothing up.
        still = (Noout(self.node.name),) if self.first.osds[self.number].inside else ()
        held: tuple[Setting, ...] = (*led, *(() if self.wanted.drain else still))
        drain = Step(
            f"move the data of {self.name} to other OSDs",
            self.drain,
            node,
            lambda: self.first.osds[self.number].destroyed or self.is_made(),
            led,
            Gate(f"{self.name} may be destroyed", self.drained),
        )
        new = self.planned.new
        wait = Step(
            f"await a blank disk in {self.node.name}",
            self.ask_for_disk,
            node,
            lambda: self.look()[1].new is not None,
            held,
            Gate(f"a blank disk is in {self.node.name}", self.disk_is_there, SWAP_S, 15.0),
        )
        return [
            Step(f"light the locate LED of the disk of {self.name}", self.locate, node, settings=led),
            *([drain] if self.wanted.drain else []),
            Step(
                f"stop {self.name}",
                self.stop,
                node,
                lambda: self.osd().destroyed or self.is_made(),
                held,
                Gate(f"{self.name} is down", self.is_down),
            ),
            Step(
                f"destroy {self.name}; its id and its place in the CRUSH map stay",
                self.destroy,
                node,
                lambda: self.osd().destroyed or self.is_made(),
                held,
            ),
            *([] if new else [wait]),
            Step(WRITE, self.write, node, self.is_written, held),
            Step(
                f"make {self.name} on {new.confirmation if new else 'the new disk'}",
                self.make,
                node,
                lambda: self.is_made() and self.osd().up,
                held,
                Gate(f"{self.name} is up and in", self.is_up),
            ),
            Step(
                f"copy the data of {self.name} to its new disk",
                lambda tell: None,
                node,
                settings=led,
                gate=Gate("all placement groups are active and clean", self.is_clean),
            ),
        ]

    def osd(self) -> OsdState:
        """Ask the cluster for the OSD."""
        return OsdMap.read(self.cluster).osds[self.number]

    def is_made(self) -> bool:
        """Return whether the new disk bears the OSD that the cluster knows."""
        return self.look()[1].made

    @property
    def led(self) -> tuple[Setting, ...]:
        """The LED of the old disk, where the node still sees it."""
        old = self.planned.old
        return (LocateLed(f"{self.node.name} {old.report['real']}"),) if old else ()

    def locate(self, tell: Tell) -> None:
        """Say whether the LED is lit: it is a setting of all steps."""
        for one in self.led:
            if isinstance(one, LocateLed):
                tell(f"    locate LED of {one.target}: {one.switch(self.cluster, on=True)}")
        if not self.led:
            known = "; ".join(map(title, self.planned.removed)) or "its approval is not in the site file"
            tell(f"    no locate LED: {self.node.name} does not see the disk any more ({known})")

    def drain(self, tell: Tell) -> None:
        """Put the OSD out."""
        if self.osd().inside:
            self.cluster.ceph("osd", "out", f"osd.{self.number}")

    def drained(self) -> Progress:
        """Return whether all that it held is complete elsewhere."""
        kept = why_kept(self.cluster, self.number)
        osds = OsdMap.read(self.cluster)
        return Progress("; ".join(filter(None, (kept, osds.moving))), osds.left) if kept else Progress()

    def stop(self, tell: Tell) -> None:
        """Stop its daemon for good, also after a boot; AvadmError where it still holds what no other OSD does."""
        osds = OsdMap.read(self.cluster)
        if osds.osds[self.number].up and (kept := why_kept(self.cluster, self.number)):
            raise AvadmError(
                finding("replace-in-use", where=self.name, found=kept, command=self.command), EXIT_FOUND_BAD
            )
        # ceph-volume's unit would mount the old disk's folder at the next boot.
        volumes = f"ceph-volume@lvm-{self.number}-"
        command = (
            f"systemctl disable --now ceph-osd@{self.number}; systemctl reset-failed ceph-osd@{self.number} 2>/dev/null; "
            f"ls /etc/systemd/system/multi-user.target.wants | grep -F {volumes} | xargs -r systemctl disable; "
            f"! systemctl is-active --quiet ceph-osd@{self.number}"
        )
        self.cluster.first([self.node.name], command, "osd-stop", self.name, STOP_S)

    def is_down(self) -> Progress:
        """Return whether the cluster has it down."""
        return Progress(f"{self.name} is up", 1) if self.osd().up else Progress()

    def destroy(self, tell: Tell) -> None:
        """Destroy it, so that only its id and its place are left.

        Where the managers agree they are asked to do it on that condition: they look once more themselves.

        Raises:
            AvadmError: it may have the last copy of something, or is not down.
        """
        osds = OsdMap.read(self.cluster)
        osd = osds.osds[self.number]
        words = ["osd", "destroy", f"osd.{self.number}"]
        if kept := why_kept_once_settled(self.cluster, self.number):
            found = self.unsafe(osds, osd, kept)
            others = [o for o in osds.osds.values() if not o.up and o.id != self.number]
            if others or self.wanted.drain:
                # Accepted or not: with another one down, its copies are not known to be elsewhere.
                found.append(finding("replace-last-copy", where=self.name, found=kept))
            if bad := [f for f in found if f.check != DEGRADED or DEGRADED not in self.wanted.accepted]:
                raise AvadmError(bad, EXIT_FOUND_BAD)
            words.append("--yes-i-really-mean-it")
        self.cluster.ceph(*words)

    def ask_for_disk(self, tell: Tell) -> None:
        """Say what a person has to do now."""
        names = "; ".join(map(title, self.planned.removed)) or f"the disk of {self.name}"
        tell(f"    Pull {names} out of {self.node.name} and insert the new disk.")

    def disk_is_there(self) -> Progress:
        """Return whether there is one blank disk that is large enough."""
        found = self.look()[1]
        bad = [*found.findings, *self.wrong_disk(found.new)]
        if bad:
            return Progress("; ".join(f"{f.what} {f.found}" for f in bad), 1)
        return Progress() if found.new else Progress("there is none", 2)

    def is_written(self) -> bool:
        """Return whether the site file names the new disk and no longer the old one."""
        found = self.look()[1]
        return found.made or bool(
            found.new and found.new.report["approved"] and not found.removed and not found.findings
        )

    def write(self, tell: Tell) -> None:
        """Put the new disk into the site file in place of the old one; AvadmError where it is not fit, with nothing written."""
        _osds, found, site_file = self.look()
        bad = [*found.findings, *self.wrong_disk(found.new)]
        if bad or found.new is None:
            none = finding("disk-name", where=self.node.name, found="no blank disk", host=self.node.name)
            raise AvadmError(bad or none, EXIT_FOUND_BAD)
        # The class is the id's, and stays as its place does.
        former = next((e["device_class"] for e in found.removed), None)
        device_class = former or self.first.osds[self.number].device_class or SSD
        added = [] if found.new.report["approved"] else [entry(found.new, device_class)]
        if added and added[0]["device_class"] == SSD and "device_class" not in entry(found.new):
            del added[0]["device_class"]
        show(approve(site_file.path, self.node.name, added, found.removed), tell)

    def make(self, tell: Tell) -> None:
        """Make the OSD by the installer's own phase, on the node alone, under the id that is kept."""
        _osds, found, site_file = self.look(written=True)
        approved = found.new.report["approved"] if found.new else []
        named = next((e for e in entries(site_file.site.node(self.node.name)) if title(e) in approved), None)
        if named is None or found.findings:
            none = finding("disk-name", where=self.node.name, found="no blank disk", host=self.node.name)
            raise AvadmError([*found.findings] or [none], EXIT_FOUND_BAD)
        reused = {named[kind]: self.number for kind in KINDS if kind in named and not found.made}
        tolerated = site_file.site.extra_vars.get("ceph_common_health_tolerate") or []
        own = {
            # The others may be missing: each is replaced on its own.
            "ceph_osd_devices": [named],
            "ceph_osd_reused_ids": reused,
            # What is copied is waited for by the next step, which ends when nothing moves any more.
            "ceph_common_health_tolerate": [*tolerated, "PG_DEGRADED"],
            "ceph_common_osds": 0,
        }
        run_phase(self.cluster, site_file, "ceph", self.node.name, own, tell, self.command)

    def is_up(self) -> Progress:
        """Return whether it runs and takes data."""
        osd = self.osd()
        if osd.up and osd.inside and not osd.destroyed:
            return Progress()
        return Progress(f"{self.name} is {'up' if osd.up else 'down'}, {'in' if osd.inside else 'out'}", 1)

    def is_clean(self) -> Progress:
        """Return whether all its data are on it; the managers learn some seconds later that it is to have any."""
        osds = OsdMap.read(self.cluster)
        osd = osds.osds[self.number]
        if osds.unclean:
            return Progress(osds.moving, osds.left)
        if osd.weight > 0 and osds.groups and not placed_groups(self.cluster, self.number):
            return Progress(f"{self.name} has no placement group yet", osds.left + 1)
        return Progress()


def _survey(cluster: Cluster, node: Node, fsid: str) -> list[Disk]:
    """Return a node's disks; AvadmError where it does not answer."""
    disks, silent = survey(cluster.fleet, cluster.site, cluster.site_file.profile.python, [node], fsid)
    if silent:
        raise AvadmError(silent)
    return disks


def _number(osds: OsdMap, disks: list[Disk], node: Node, target: str) -> int:
    """Return the id of the OSD that is meant; AvadmError where there is none, or not on this node."""
    mine = [one.id for one in osds.osds.values() if one.host == node.name]
    if match := re.fullmatch(r"osd\.(\d+)", target):
        number = int(match[1])
        if number in mine:
            return number
        elsewhere = osds.osds[number].host if number in osds.osds else ""
        raise AvadmError.of(
            "replace-osd",
            where=target,
            found=f"on {elsewhere}" if elsewhere else "no such OSD",
            wanted=", ".join(f"osd.{i}" for i in mine) or "a node with OSDs",
            name=node.name,
        )
    found = named_osd(disks, node, mine, target)
    if isinstance(found, Finding):
        raise AvadmError(found)
    return found
