"""Adding a node to a running site: bootstrapped, its disks proven blank, found fit; then in the site file and installed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from avadm.bootstrap import report as reports
from avadm.bootstrap.run import bootstrap as run_bootstrap
from avadm.bootstrap.task import BootstrapTask
from avadm.catalogue import finding
from avadm.checks import waivers
from avadm.checks.collect import collect
from avadm.checks.framework import run as run_checks
from avadm.checks.preflight import CHECKS
from avadm.cluster.connection import Cluster
from avadm.cluster.half_done import half_done
from avadm.disks import approve
from avadm.disks.nodes import choose, survey
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding, errors
from avadm.operations.follow import follow, pending
from avadm.operations.model import Interruption, Operation, Step, Tell
from avadm.operations.site_change import change_site
from avadm.remote.ssh import targets
from avadm.site import edit
from avadm.site.load import SiteFile, load
from avadm.site.model import Node
from avadm.site.text import read_text
from avadm.site.vault import Vault

VERB = "node add"
LetIn = Callable[[SiteFile], None]
"""Bootstraps the new node of a site file; AvadmError where it is not ready."""


def command(entry: Mapping[str, Any], serials: Sequence[str], device_class: str | None) -> str:
    """Return the command that continues; how the node lets the controller in is not part of it."""
    words = ["avadm", "node", "add", entry["name"], "--address", entry["address"]]
    for key in ("rack", "storage_address", "local_volumes_gib", "host_key"):
        if key in entry:
            words += [f"--{key.replace('_', '-')}", str(entry[key])]
    words += [word for role in entry["roles"] for word in ("--role", role)]
    words += [word for serial in serials for word in ("--serial", serial)]
    words += ["--device-class", device_class] if device_class else []
    if gpus := entry.get("gpus"):
        words += ["--gpus", str(gpus["count"]), "--gpu-model", gpus["model"]]
    return shlex.join(words)


def bootstrap(task: BootstrapTask) -> None:
    """Bootstrap a node; AvadmError (exit 1) where it is not ready."""
    done = run_bootstrap(task)
    # A node that must be rebooted first is not ready either.
    if bad := [*reports.findings(done), *reports.warnings(done)]:
        raise AvadmError(bad, EXIT_FOUND_BAD)


@dataclass(slots=True)
class Adding:
    """One addition.

    Attributes:
        cluster: the site.
        entry: the node's entry in the site file, without its devices.
        serials: names of its disks.
        device_class: their class, where the kernel is not to say it.
        coming: the site file as it will be, without the devices.
        devices: entries of the disks, once they were proven blank.
    """

    cluster: Cluster
    entry: Mapping[str, Any]
    serials: Sequence[str]
    device_class: str | None
    coming: SiteFile
    devices: list[dict[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The node's name."""
        return str(self.entry["name"])

    def let_in(self, how: LetIn) -> None:
        """Bootstrap the node, and be able to reach it from now on; what another command began for it is given up."""
        line = command(self.entry, self.serials, self.device_class)
        for one in self.cluster.state.begun():
            if one.verb == VERB and shlex.split(one.command)[3] == self.name and one.command != line:
                self.cluster.state.drop_operation(one.command, {})
        self.reach(how)

    def reach(self, how: LetIn) -> None:
        """Bootstrap the node, and be able to reach it from now on."""
        how(self.coming)
        self.cluster.fleet.join(targets(self.coming, [self.name]))

    def prove_disks(self, tell: Tell) -> None:
        """Find the disks by their names; AvadmError where one is not there, not blank, or of a kind that is not known."""
        site, profile = self.coming.site, self.coming.profile
        fsid = Vault.open(self.coming.path).read().get("vault_ceph_fsid", "")
        disks, silent = survey(self.cluster.fleet, site, profile.python, [site.node(self.name)], fsid)
        if silent:
            raise AvadmError(silent, EXIT_FOUND_BAD)
        answers = [choose(disks, serial) for serial in self.serials]
        chosen = list({a.report["numbers"]: a for a in answers if not isinstance(a, Finding)}.values())
        bad = [a for a in answers if isinstance(a, Finding)] + approve.refusals(chosen)
        bad += [] if self.device_class else approve.unknown_kinds(chosen)
        if bad:
            raise AvadmError(bad)
        self.devices = [approve.entry(disk, self.device_class) for disk in chosen]
        tell("    " + ", ".join(f"{disk.confirmation}: {disk.verdict}" for disk in chosen))

    def preflight(self, tell: Tell) -> None:
        """Check that the node is fit; AvadmError with all errors (exit 1)."""
        site = self.coming.site
        context = collect(site, self.coming.profile, [site.node(self.name)], self.cluster.fleet)
        found = run_checks(context, CHECKS)
        given = waivers.of_scope(self.coming, "preflight")
        stands, _ = waivers.apply(
            found, given, [self.name], datetime.now(tz=UTC).date(), {check.id for check in CHECKS}
        )
        if bad := errors([one for some in stands.values() for one in some]):
            raise AvadmError(bad, EXIT_FOUND_BAD)
        tell(f"    {len(found)} checks passed")

    def write(self, tell: Tell) -> None:
        """Write the site file."""
        node = {**self.entry, **({"devices": self.devices} if self.devices else {})}
        change_site(self.coming.path, edit.adding(node), tell)

    def written(self) -> bool:
        """Return whether the site file has the node."""
        return any(n.name == self.name for n in load(self.coming.path).site.nodes)

    def apply(self, tell: Tell) -> None:
        """Install the node, and bring the others up to date."""
        follow(self.cluster, load(self.coming.path), tell)


def build(
    cluster: Cluster,
    entry: Mapping[str, Any],
    serials: Sequence[str],
    device_class: str | None,
    let_in: LetIn,
    follow_up: Callable[[SiteFile, Tell], None] | None = None,
) -> Operation:
    """Plan an addition; the node itself is first asked when it runs, since it may let nothing in before.

    Args:
        cluster: the site.
        entry: the node's entry in the site file, without its devices.
        serials: serial numbers (or WWNs, by-id paths) of disks for OSDs.
        device_class: their CRUSH class, where the kernel is not to say it.
        let_in: bootstraps the node.
        follow_up: runs what the changed site file asks for; `follow.follow` where None.
    """
    path, name = cluster.site_file.path, str(entry["name"])
    entry, bad = _with_rack(cluster, entry)
    line = command(entry, serials, device_class)
    known = [n for n in cluster.site.nodes if n.name == name or str(n.address) == entry["address"]]
    coming: SiteFile | None = cluster.site_file
    if known and not any(one.command == line for one in cluster.state.begun()):
        found = ", ".join(f"{n.name} {n.address}" for n in known)
        bad.append(finding("node-known", "NAME", found, "another name and address"))
    elif not known:
        coming, wrong = edit.considered(path, edit.changed(read_text(path), edit.adding(entry)))
        bad += [*wrong, *disk_refusals(entry, serials)]
    if coming is None or bad:
        return Operation(VERB, line, (), refusals=bad)
    adding = Adding(cluster, entry, serials, device_class, coming)
    steps = [
        Step(
            "bootstrap, for which the node is asked the first time: host key, the controller's key, root, python",
            lambda tell: adding.let_in(let_in),
            (name,),
        )
    ]
    if serials:
        # A second time they are OSDs, which is proven too.
        steps.append(Step(f"prove {', '.join(serials)} blank", adding.prove_disks))
    run, due = follow_up, pending(cluster, _with_disks(coming, entry, serials))
    steps += [
        Step("preflight", adding.preflight, done=adding.written),
        Step(f"write it into the site file: {_words(entry)}", adding.write, done=adding.written),
        Step(
            f"apply, on {name} and where others keep something about it: {due.text}",
            adding.apply if run is None else lambda tell: run(load(path), tell),
            due.nodes,
        ),
    ]
    notes = [Interruption("data move to its OSDs, which slows others down", None)] if serials else []
    # Nothing is blocked meanwhile: as soon as the site file has the node, `apply` does the rest as well.
    # What is half done of them keeps its nodes between two versions, at which a new one could not be brought in.
    against = half_done(cluster.state, due.phases, line)
    return Operation(VERB, line, steps, interrupts=notes, refusals=against)


def _with_rack(cluster: Cluster, entry: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Finding]]:
    """Return the entry with the site's only rack where none was named, and what is wrong where there are several."""
    racks = sorted({n.rack for n in cluster.site.nodes if n.name != entry["name"]})
    if "rack" in entry or racks == [Node.model_fields["rack"].default]:
        return entry, []
    if len(racks) > 1:
        return entry, [
            finding("node-rack", where="--rack", found="none", wanted=f"one of {', '.join(racks)}")
        ]
    return {**entry, "rack": racks[0]}, []


def _with_disks(coming: SiteFile, entry: Mapping[str, Any], serials: Sequence[str]) -> SiteFile:
    """Return the site file with disks, as far as their names alone tell them: what depends on the number of OSDs runs too."""
    devices = [{"by_id" if one.startswith("/") else "serial": one} for one in serials]
    if not devices or any(n.devices for n in coming.site.nodes if n.name == entry["name"]):
        return coming
    text = edit.changed(read_text(coming.path), edit.adding({**entry, "devices": devices}))
    return edit.considered(coming.path, text)[0] or coming


def _words(entry: Mapping[str, Any]) -> str:
    """Return the entry for the plan."""
    words = {"address": entry["address"], "rack": entry.get("rack", ""), "roles": " ".join(entry["roles"])}
    return ", ".join(f"{key} {value}" for key, value in words.items() if value)


def disk_refusals(entry: Mapping[str, Any], serials: Sequence[str]) -> list[Finding]:
    """Return what is wrong with the disks by their names alone."""
    if serials and "osd" not in entry["roles"]:
        return [
            finding("disks-without-osd", where="--serial", found=", ".join(serials), wanted="the role osd")
        ]
    if "osd" in entry["roles"] and not serials:
        return [finding("osd-without-disks", where="--serial", found="none", wanted="the disks of its OSDs")]
    if again := sorted({one for one in serials if serials.count(one) > 1}):
        return [finding("disk-twice", where="--serial", found=", ".join(again), wanted="each disk once")]
    return []
