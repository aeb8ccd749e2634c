"""`avadm site init`: ask for, or take by flags, what a first site file needs."""

from __future__ import annotations

from ipaddress import IPv4Network
from pathlib import Path

import click

from avadm.cli.output import console, print_findings
from avadm.errors import AvadmError
from avadm.findings import errors
from avadm.site import profile as profiles

DRAFT_STEPS = (
    ("avadm bootstrap", "pin host keys, install the controller's key"),
    ("avadm disk list", "all disks of all nodes"),
    ("avadm disk approve NODE DISK...", "write devices into the site file"),
    ("avadm site check", "the file as a whole"),
)


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
    force: bool,
) -> None:
    """Write a commented site file; asks for what no flag says.

    Roles are proposed where no --node names any; storage devices are to be filled in afterwards.
    """
    from avadm.sitefile import init as make
    from avadm.sitefile.load import DRAFT, examine

    if file.exists() and not force:
        make.write(file, "", force=False)  # says that it is there, before anything is asked
    asked = not (name and domain and (nodes or addresses))
    try:
        name = name or click.prompt("Name of the site")
        domain = domain or click.prompt("Domain (nodes are NAME.DOMAIN)")
        if not nodes and not addresses:
            addresses = click.prompt("Addresses of the nodes (a range such as 10.0.0.11-16, or a file)")
        new_nodes = [make.parse_node(n) for n in nodes] + (
            make.parse_addresses(addresses) if addresses else []
        )
        new_nodes = make.propose(new_nodes)
        around = make.management_of(n.address for n in new_nodes)
        if asked:
            management = management or click.prompt("Management subnet", default=str(around))
            user = user or click.prompt("Login on the nodes", default="root")
            profile = profile or click.prompt(
                "Version profile", default=make.DEFAULT_PROFILE, type=click.Choice(profiles.names())
            )
    except click.Abort as error:
        raise AvadmError.of(
            check="init-incomplete",
            what="Values that a site file needs are missing.",
            where="avadm site init",
            found="end of input",
            wanted="--name, --domain and --node or --addresses",
            remedy="Give these flags, or answer the questions.",
        ) from error
    new = make.NewSite(
        name,
        domain,
        _network(management) if management else around,
        tuple(new_nodes),
        profile or make.DEFAULT_PROFILE,
        user or "root",
        time_servers,
    )
    make.write(file, make.text_of(new), force=force)
    console.print(f"Written: {file} ({len(new_nodes)} nodes)", markup=False)
    site_file, findings = examine(file, DRAFT)
    if errors(findings):
        console.print("Still to be filled in or corrected:", markup=False)
        print_findings(errors(findings), to=console)
        console.print("Then: avadm site check", markup=False)
    elif site_file and site_file.draft:
        console.print(
            f"A draft: {len(site_file.draft)} storage nodes have no devices yet. Next:", markup=False
        )
        for command, why in DRAFT_STEPS:
            console.print(f"  {command:<34}# {why}", markup=False)
    else:
        console.print("It is complete. Next: avadm bootstrap", markup=False)


def _network(text: str) -> IPv4Network:
    try:
        return IPv4Network(text)
    except ValueError as error:
        raise AvadmError.of(
            check="wrong-value",
            what="This is not an IPv4 network.",
            where="--management",
            found=text,
            wanted="such as 10.0.0.0/24",
            remedy=str(error),
        ) from error
