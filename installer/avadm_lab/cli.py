"""`avadm lab`: a lab of container nodes on this machine."""

from __future__ import annotations

import os
import time
from ipaddress import IPv4Network
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click
from rich.status import Status

from avadm.catalogue import finding
from avadm.cli.output import console, print_json, stderr
from avadm.cli.tables import print_table
from avadm.errors import AvadmError
from avadm.quantity import quantity
from avadm_lab.layout import PARTS

if TYPE_CHECKING:
    from avadm_lab.lab import Lab


class Printer:
    """Tells what the lab does: one live line on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self.status: Status | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        """End a live line that an error left open."""
        self._end()

    def start(self, text: str) -> None:
        """See Reporter.start."""
        self._end()
        if stderr.is_terminal:
            self.status = stderr.status(f"{text} …")
            self.status.start()
        else:
            stderr.print(f"{text} …")

    def done(self, text: str, seconds: float) -> None:
        """See Reporter.done."""
        self._end()
        stderr.print(f"[green]✓[/green] {text} ({seconds:.1f} s)")

    def note(self, text: str) -> None:
        """See Reporter.note."""
        stderr.print(f"[cyan]·[/cyan] {text}")

    def _end(self) -> None:
        if self.status:
            self.status.stop()
            self.status = None


def _lab(report: Printer, *, to_remove: bool = False, **wanted: object) -> Lab:
    """Return the lab of this checkout with what was remembered, options given now on top.

    A lab whose memory is damaged can still be removed, by its name.
    """
    from pydantic import ValidationError

    from avadm_lab import folder
    from avadm_lab.lab import Lab
    from avadm_lab.layout import Config
    from avadm_lab.process import LocalProc

    place = folder.default()
    # What Debian 11's lab would make of them was never seen.
    usual = {} if wanted.get("storage") == 0 or wanted.get("release") == "bullseye" else {"parts": PARTS}
    given = {k: v for k, v in wanted.items() if v is not None}
    try:
        before = place.config()
    except AvadmError:
        if not (to_remove and given):
            raise
        before = None
    try:
        config = Config.model_validate({**(before.model_dump() if before else usual), **given})
    except ValidationError as e:
        raise AvadmError(
            [
                finding(
                    "lab-option",
                    where=f"--{'-'.join(map(str, d['loc']))}",
                    found=str(d["input"]),
                    value=d["msg"],
                )
                for d in e.errors()
            ]
        ) from e
    return Lab(place, config, LocalProc(), report, named="name" in given or "subnet" in given)


def _existing(report: Printer) -> Lab:
    from avadm_lab import folder

    if folder.default().config() is None:
        raise AvadmError.of("lab-none", where=str(folder.default().root))
    return _lab(report)


@click.group()
def lab() -> None:
    """A lab of container nodes on this machine, and its site file as the default site."""


@lab.command()
@click.option("--name", help="Name of the lab [default: lab; lab2 … where another folder has that].")
@click.option("--storage", type=int, help="Storage nodes; 0 for no ceph [default: 3].")
@click.option("--compute", type=int, help="Compute and monitoring nodes [default: 3].")
@click.option("--masters", type=int, help="Kubernetes masters: 1, 3 or 5; 0 for no Kubernetes [default: 1].")
@click.option("--disks", type=int, help="Disks of each storage node [default: 2].")
@click.option("--disk-size", help="Size of each disk, e.g. 10G; sparse [default: 10G].")
@click.option("--subnet", help="Network of the nodes [default: 10.77.0.0/24].")
@click.option(
    "--release",
    type=click.Choice(["bookworm", "bullseye"]),
    help="Debian release of the nodes: 12 with ceph 16.2, 11 with ceph 14.2 [default: bookworm].",
)
@click.option(
    "--with",
    "parts",
    multiple=True,
    type=click.Choice([*PARTS, "none"]),
    help="A component beside ceph, Prometheus and Kubernetes; repeatable; none for none of them [default: all, in a "
    "lab with storage on Debian 12].",
)
@click.option(
    "--any-role/--own-roles",
    default=None,
    help="Make every machine fit for any role, for a site file of your own (avadm site init) [default: own roles].",
)
def up(
    name: str | None,
    storage: int | None,
    compute: int | None,
    masters: int | None,
    disks: int | None,
    disk_size: str | None,
    subnet: str | None,
    release: str | None,
    parts: tuple[str, ...],
    any_role: bool | None,
) -> None:
    """Make the lab, or repair it.

    Changes nothing where all is well. Options are remembered until `lab down`.
    """
    from avadm_lab.layout import parse_size

    begun = time.monotonic()
    network = None
    if subnet:
        try:
            network = IPv4Network(subnet)
        except ValueError as e:
            raise AvadmError.of("lab-subnet", where="--subnet", found=str(e)) from e
    with Printer() as report:
        it = _lab(
            report,
            name=name,
            storage=storage,
            compute=compute,
            masters=masters,
            disks=disks,
            disk_bytes=parse_size(disk_size) if disk_size else None,
            subnet=network,
            release=release,
            parts=tuple(sorted(set(parts) - {"none"})) if parts else None,
            any_role=any_role,
        )
        changed = it.up()
    seconds = time.monotonic() - begun
    for line in changed.what:
        console.print(f"  {line}")
    if changed.what:
        console.print(
            f"The lab {it.config.name} is up: {quantity(len(it.nodes), 'node')} ({seconds:.1f} s), site {it.folder.site}"
        )
    else:
        console.print(f"The lab {it.config.name} is up; nothing changed ({seconds:.1f} s)")


@lab.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the nodes: address, roles, state, ssh access."""
    with Printer() as report:
        data = _existing(report).show()
    if as_json:
        print_json(data)
        return
    from rich.table import Table

    table = Table("node", "address", "state", "roles", box=None)
    for n in data["nodes"]:
        table.add_row(n["name"], n["address"], n["state"], " ".join(n["roles"]))
    print_table(table, whole=("node", "address", "state"))


@lab.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("node")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def ssh(node: str, command: tuple[str, ...]) -> None:
    """Log in to a node, or run COMMAND on it.

    By key after `avadm bootstrap`; before, with the password that is in .lab/password.
    """
    with Printer() as report:
        argv = _existing(report).ssh_command(node, list(command))
    os.execvp(argv[0], argv)  # noqa: S606 - replaced by ssh, which owns the terminal from here


@lab.command()
@click.argument("node")
@click.argument("state", type=click.Choice(["on", "off"]))
def power(node: str, state: str) -> None:
    """Power a node off abruptly (no clean shutdown), or switch it on again."""
    with Printer() as report:
        _existing(report).power(node, state == "on")
    console.print(f"{node} is {state}")


@lab.group()
def disk() -> None:
    """Pull a disk out of a node, insert another one."""


@disk.command()
@click.argument("node")
@click.argument("serial")
def pull(node: str, serial: str) -> None:
    """Pull a disk, by its serial number or letter, out of a running node; what uses it is killed."""
    with Printer() as report:
        found = _existing(report).pull(node, serial)
    console.print(f"pulled {found.serial} out of {node}")


@disk.command()
@click.argument("node")
@click.option("--size", help="Size, e.g. 10G [default: that of the lab's disks].")
@click.option("--serial", help="Serial number, e.g. of a disk that was pulled [default: a new disk].")
def insert(node: str, size: str | None, serial: str | None) -> None:
    """Insert a disk into the first empty bay of a running node."""
    from avadm_lab.layout import parse_size

    with Printer() as report:
        found = _existing(report).insert(node, parse_size(size) if size else None, serial)
    console.print(f"inserted {found.serial} into {node}: {found.by_id}")


@lab.command()
@click.argument("name")
@click.option("--role", "roles", multiple=True, help="A role that the site file will give it; repeatable.")
@click.option("--disks", type=click.IntRange(0, 12), default=0, help="Block devices that it has.")
@click.option("--rack", default="r1", show_default=True, help="Its rack.")
def add(name: str, roles: tuple[str, ...], disks: int, rack: str) -> None:
    """Start one more machine, which the site file does not have; NAME is stor, mast or comp with a number."""
    with Printer() as report:
        node = _existing(report).add(name, roles, disks, rack)
    serials = "".join(f" {disk.serial}" for disk in node.disks)
    console.print(f"{node.name} runs at {node.address}" + (f", disks:{serials}" if serials else ""))


@lab.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove one machine with its disks, as if it were carried away; the site file is not changed."""
    with Printer() as report:
        removed = _existing(report).discard(name)
    for line in removed:
        console.print(f"  removed {line}")


@lab.command()
@click.option("--name", help="Name of the lab, where its folder is gone or damaged.")
@click.option(
    "--engine",
    is_flag=True,
    help="Also end the container engine, if `lab up` started it and no container runs.",
)
def down(name: str | None, engine: bool) -> None:
    """Remove the lab and all that it made; only caches stay."""
    with Printer() as report:
        removed = _lab(report, to_remove=True, name=name).down(engine=engine)
    for line in removed:
        console.print(f"  removed {line}")
    console.print("The lab is down." if removed else "There was nothing to remove.")
