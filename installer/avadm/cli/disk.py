"""`avadm disk`: the nodes' disks: look at them, approve them, erase one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.text import Text

from avadm.cli.disk_replace import replace
from avadm.cli.main import App, pass_app
from avadm.cli.output import as_dicts, console, print_findings, print_json, stderr
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, EXIT_GOOD, AvadmError
from avadm.findings import Finding

if TYPE_CHECKING:
    from avadm.disks.nodes import Disk
    from avadm.remote.fleet import Fleet
    from avadm.site.load import SiteFile
    from avadm.site.model import Node, Site

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def disk() -> None:
    """Look at the nodes' disks, approve them for use, replace or erase one."""


disk.add_command(replace)


@disk.command("list")
@click.option("--limit", metavar="NODES", help="Only these nodes: names, patterns or roles, with commas.")
@JSON
@pass_app
def list_(app: App, limit: str | None, as_json: bool) -> int:
    """List all disks: name, size, what is on them, whether they are approved, and why not usable.

    Changes nothing. Exit status 1 when a node could not be asked, 2 when none could.
    """
    from avadm.cli.nodes import select
    from avadm.disks.nodes import survey

    site_file = app.site_file(draft=True)
    nodes = select(site_file.site, limit)
    disks, findings = survey(
        _fleet(site_file), site_file.site, site_file.profile.python, nodes, _fsid(site_file)
    )
    if as_json:
        data = {"site": site_file.site.name, "disks": [d.as_dict() for d in disks]}
        print_json({**data, "findings": as_dicts(findings)})
    else:
        _print(disks)
        print_findings(findings)
    if len(findings) == len(nodes):
        return EXIT_COULD_NOT_RUN
    return EXIT_FOUND_BAD if findings else EXIT_GOOD


@disk.command()
@click.argument("node")
@click.argument("disks", metavar="DISK...", nargs=-1, required=True)
@click.option(
    "--device-class",
    type=click.Choice(["ssd", "hdd", "nvme"]),
    help="CRUSH device class, where the kernel is wrong (behind a RAID controller) or does not know (virtual disks).",
)
@JSON
@pass_app
def approve(app: App, node: str, disks: tuple[str, ...], device_class: str | None, as_json: bool) -> None:
    """Write disks of a node into the site file's `devices`, and show what that changes there.

    DISK is a serial number, WWN, by-id path or kernel name. Only a disk that is proven blank, or is an OSD of this
    cluster already, is taken; the node itself is not changed.
    """
    from avadm.disks.approve import approve as write
    from avadm.disks.approve import entry, refusals, unknown_kinds
    from avadm.state.lock.controller import lock_controller
    from avadm.state.site_state import state_folder

    site_file = app.site_file(draft=True)
    chosen = _choose(site_file, _fleet(site_file), _node(site_file.site, node), disks)
    new = [d for d in chosen if not d.report["approved"]]
    if bad := refusals(new) + ([] if device_class else unknown_kinds(new)):
        raise AvadmError(bad)
    diff, entries = "", [entry(d, device_class) for d in new]
    if new:
        with lock_controller(state_folder(site_file.path, site_file.site.name), "disk approve"):
            diff = write(site_file.path, node, entries)
    if as_json:
        print_json({"site": site_file.site.name, "node": node, "approved": entries, "diff": diff})
        return
    if new:
        console.print(Text(diff.rstrip("\n")))
    console.print(f"{len(new)} approved, {len(chosen) - len(new)} were already.")


@disk.command()
@click.argument("node")
@click.argument("name", metavar="DISK")
@click.option(
    "--yes-i-lose",
    "typed",
    metavar="SERIAL",
    help="The disk's serial number (its by-id path where it has none), in place of being asked for it.",
)
@click.option("--break-lock", is_flag=True, help="Remove the lock of another run that is known to be dead.")
@JSON
@pass_app
def zap(app: App, node: str, name: str, typed: str | None, break_lock: bool, as_json: bool) -> None:
    """Erase one unused disk, so that it is proven blank. What is on it is lost.

    Refused are disks that are mounted, swapped to, held or opened by anything, and OSDs that the cluster still has.
    Who erased what, and when, is kept in a run folder.
    """
    from avadm.disks.zap import erase, refuse_used
    from avadm.inventory.vault_guard import refuse_lost
    from avadm.site.vault import Vault
    from avadm.state.lock.nodes import LockNodes
    from avadm.state.lock.site import lock_site
    from avadm.state.site_state import state_folder

    site_file = app.site_file(draft=True)
    site, python, fleet = site_file.site, site_file.profile.python, _fleet(site_file)
    (found,) = _choose(site_file, fleet, _node(site, node), (name,))
    vault = Vault.open(site_file.path)
    refuse_lost(site_file, vault)
    fsid = vault.read().get("vault_ceph_fsid", "")
    refuse_used(fleet, site, python, found, fsid)
    _confirm(found, typed)

    def tell(note: str) -> None:
        stderr.print(Text(f"! {note}", style="yellow"))

    nodes = LockNodes(site_file, fleet)
    state = state_folder(site_file.path, site.name)
    with lock_site(nodes, state, "disk zap", tell, break_lock=break_lock):
        # The user may have thought for hours.
        refuse_used(fleet, site, python, found, fsid)
        folder = erase(fleet, site, python, found)
    if as_json:
        print_json(folder.read_json("zap.json"))
        return
    console.print(Text(f"Erased and proven blank: {_title(found)}"))
    console.print(Text(f"Written down in {folder.path / 'zap.json'}"))


def _fsid(site_file: SiteFile) -> str:
    """Return our cluster's fsid for judging labels; "" where the vault cannot tell, then the node's ceph.conf does."""
    from avadm.site.vault import Vault

    try:
        return Vault.open(site_file.path).read().get("vault_ceph_fsid", "")
    except AvadmError:
        return ""


def _fleet(site_file: SiteFile) -> Fleet:
    """Return the ssh fan-out to the site's nodes; closed when the verb ends."""
    from avadm.remote.keyfile import usable
    from avadm.remote.ssh import SshFleet

    usable(site_file.ssh_key)
    fleet = SshFleet(site_file)
    click.get_current_context().call_on_close(fleet.close)
    return fleet


def _node(site: Site, name: str) -> Node:
    """Return the node of that name."""
    try:
        return site.node(name)
    except KeyError:
        known = ", ".join(n.name for n in site.nodes)
        raise AvadmError.of("unknown-node", where="NODE", found=name, wanted=f"one of {known}") from None


def _choose(site_file: SiteFile, fleet: Fleet, node: Node, names: tuple[str, ...]) -> list[Disk]:
    """Return the disks of a node that are named, each once; AvadmError with every name that is none."""
    from avadm.disks.nodes import choose, survey

    disks, findings = survey(fleet, site_file.site, site_file.profile.python, [node], _fsid(site_file))
    if findings:
        raise AvadmError(findings)
    answers = [choose(disks, name) for name in names]
    if bad := [a for a in answers if isinstance(a, Finding)]:
        raise AvadmError(bad)
    return list({a.report["numbers"]: a for a in answers if not isinstance(a, Finding)}.values())


def _title(disk: Disk) -> str:
    report = disk.report
    return f"{disk.node} {report['real']}, serial {report['serial'] or 'unknown'}, {_size(report['size'])}"


def _confirm(disk: Disk, typed: str | None) -> None:
    """Have the user name the disk's serial number; AvadmError where that is not the right one."""
    if typed is None:
        stderr.print(Text(f"{_title(disk)}, model {disk.report['model'] or 'unknown'}"))
        stderr.print(Text(f"On it: {disk.on_it}. All of it is lost."))
        if not sys.stdin.isatty():
            raise AvadmError.of("disk-confirm-terminal", where="--yes-i-lose", confirmation=disk.confirmation)
        typed = click.prompt(
            f"Type {disk.confirmation} to erase it", default="", show_default=False, err=True
        )
    if typed != disk.confirmation:
        raise AvadmError.of(
            "disk-confirm",
            where=f"{disk.node} {disk.report['real']}",
            found=typed or "nothing",
            wanted=disk.confirmation,
        )


def _print(disks: list[Disk]) -> None:
    """Print a line for each disk, and below it its stable name and what speaks against it."""
    rows = [("node", "disk", "size", "kind", "serial", "approved", "is")]
    for one in disks:
        report = one.report
        kind = {True: "hdd", False: "ssd", None: "?"}[report["rotational"]]
        words = (
            one.node,
            report["real"] or report["kernel"],
            _size(report["size"]),
            kind,
            report["serial"] or "-",
        )
        rows.append((*words, "yes" if report["approved"] else "no", one.verdict))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    styles = {"blank": "green", "refused": "yellow"}
    for number, row in enumerate(rows):
        line = Text(
            "  ".join(word.ljust(width) for word, width in zip(row[:-1], widths, strict=False)) + "  "
        )
        line.append(row[-1], style=styles.get(row[-1], ""))
        if number == 0:
            line.stylize("dim")
        console.print(line)
        report = disks[number - 1].report if number else {"links": [], "reasons": []}
        if number:
            model = f"{report['model']}, " if report["model"] else ""
            console.print(Text(f"    {model}on it: {disks[number - 1].on_it}", style="dim"))
        for text in [*report["links"][:1], *report["reasons"]]:
            console.print(Text(f"    {text}", style="dim"))


def _size(number: int) -> str:
    """Return bytes for people, as disks are sold."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9)):
        if number >= factor:
            return f"{number / factor:.1f} {unit}"
    return f"{number / 10**6:.1f} MB"
