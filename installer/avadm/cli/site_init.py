"""`avadm site init`: ask for, or take by flags, what a first site file needs."""

from __future__ import annotations

from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

import click

from avadm.cli.output import console
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_GOOD, AvadmError
from avadm.quantity import quantity
from avadm.site import profile as profiles

if TYPE_CHECKING:
    from avadm.site.draft_file import NewSite

DRAFT_STEPS = (
    ("avadm bootstrap", "pin host keys, install the controller's key"),
    ("avadm preflight", "check that the nodes meet the requirements"),
    ("avadm disk list", "all disks of all nodes"),
    ("avadm disk approve NODE DISK...", "write devices into the site file, for each storage node"),
    ("avadm site check", "the file as a whole"),
)
BUILD_STEP = ("avadm artifacts build", "Kubernetes' programs, once")
APPLY_STEPS = (
    ("avadm plan --out site.plan", "what is going to be done"),
    ("avadm apply --plan site.plan", "install it"),
)
LOGIN_STEP = ("avadm ava create-admin NAME", "your account, for https://ava.DOMAIN")


@click.command()
@click.argument("file", default="site.yml", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the site.")
@click.option("--domain", help="Second-level domain; nodes are NAME.DOMAIN.")
@click.option(
    "--management", metavar="CIDR", help="Subnet of all nodes [default: the one around the addresses]."
)
@click.option("--user", help="Login on the nodes.")
@click.option("--profile", type=click.Choice(profiles.names()), help="Version profile.")
@click.option(
    "--time-server", "time_servers", multiple=True, metavar="HOST", help="NTP server; may be repeated."
)
@click.option(
    "--node", "nodes", multiple=True, metavar="NAME=ADDRESS[:ROLE,…]", help="A node; may be repeated."
)
@click.option(
    "--addresses",
    metavar="FILE|RANGE",
    help="Nodes from a file (lines NAME ADDRESS), or 10.0.0.11-16,10.0.0.21.",
)
@click.option(
    "--with",
    "parts",
    multiple=True,
    metavar="PART,…",
    help="Install these too: kubernetes, ava (with kubernetes), objects, logs, cache.",
)
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="NAME=COUNT:MODEL",
    help="GPUs of a node, with kubernetes; may be repeated, or separated by commas.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def init(
    file: Path,
    name: str | None,
    domain: str | None,
    management: str | None,
    user: str | None,
    profile: str | None,
    time_servers: tuple[str, ...],
    nodes: tuple[str, ...],
    addresses: str | None,
    parts: tuple[str, ...],
    gpus: tuple[str, ...],
    force: bool,
) -> int:
    """Write a commented site file; asks for what no flag says.

    Roles and virtual addresses are proposed where no --node names any; storage devices are to be filled in afterwards.
    With errors nothing is written.
    Exit status: 0 written, 2 nothing written.
    """
    from avadm.site import draft_file as make
    from avadm.site import draft_parts as beside

    if not force:
        make.refuse_existing(file)
    wanted, cards = beside.parse_parts(parts), beside.parse_gpus(gpus)
    asked = not (name and domain and (nodes or addresses))
    try:
        name = name or click.prompt("Name of the site")
        domain = domain or click.prompt("Domain (nodes are NAME.DOMAIN)")
        if not nodes and not addresses:
            addresses = click.prompt("Addresses of the nodes (a range such as 10.0.0.11-16, or a file)")
        new_nodes = [make.parse_node(n) for n in nodes] + (
            make.parse_addresses(addresses) if addresses else []
        )
        around = make.management_of(n.address for n in new_nodes)
        if asked:
            if not parts and not any(n.roles for n in new_nodes):
                wanted = beside.parse_parts(
                    [click.prompt("Parts beside storage (kubernetes, ava, objects, logs, cache)", default="")]
                )
            management = management or click.prompt("Management subnet", default=str(around))
            user = user or click.prompt("Login on the nodes", default="root")
            profile = profile or click.prompt(
                "Version profile", default=make.DEFAULT_PROFILE, type=click.Choice(profiles.names())
            )
    except click.Abort as error:
        click.echo(err=True)  # ends the line of the question
        raise AvadmError.of(
            "init-incomplete",
            where="avadm site init",
            found="end of input",
            wanted="--name, --domain and --node or --addresses",
        ) from error
    new_nodes = beside.with_gpus(new_nodes, cards, wanted)
    subnet = _network(management) if management else around
    new_nodes = beside.place(new_nodes, wanted) if wanted else make.propose(new_nodes)
    new = make.NewSite(
        name,
        domain,
        subnet,
        tuple(new_nodes),
        profile or make.DEFAULT_PROFILE,
        user or "root",
        time_servers,
        wanted,
        beside.addresses(new_nodes, subnet, wanted) if wanted else make.Addresses(),
        tuple(beside.log_stores(new_nodes)) if "logs" in wanted else (),
    )
    text = make.text_of(new)
    site_file, findings = make.judge(file.name, text)
    if site_file is None:
        console.print(f"{file}: not written.", markup=False)
        raise AvadmError(findings, EXIT_COULD_NOT_RUN)
    make.write(file, text, force=force)
    _tell(file, new, len(site_file.draft))
    return EXIT_GOOD


def _tell(file: Path, new: NewSite, draft: int) -> None:
    """Print what was written and what comes next."""
    console.print(f"Written: {file} ({quantity(len(new.nodes), 'node')})", markup=False)
    if named := new.addresses.named():
        console.print("Proposed addresses. Check that no machine has them, or change them:", markup=False)
        for key, value in named.items():
            console.print(f"  {key:<34}{value}", markup=False)
    steps = [*DRAFT_STEPS] if draft else [*DRAFT_STEPS[:2]]
    if "kubernetes" in new.parts:
        steps.append(BUILD_STEP)
    steps += APPLY_STEPS
    if "ava" in new.parts:
        steps.append(LOGIN_STEP)
    have = "has" if draft == 1 else "have"
    lacking = (
        f"A draft: {quantity(draft, 'storage node')} {have} no devices yet." if draft else "It is complete."
    )
    console.print(f"{lacking} Next:", markup=False)
    for command, why in steps:
        console.print(f"  {command:<34}# {why}", markup=False)


def _network(text: str) -> IPv4Network:
    try:
        return IPv4Network(text)
    except ValueError as error:
        raise AvadmError.of(
            "wrong-value", where="--management", found=text, wanted="such as 10.0.0.0/24", remedy=str(error)
        ) from error
