"""`avadm site`: write, check, show, choose and render the site file."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from avadm import paths
from avadm.cli.main import App, pass_app
from avadm.cli.output import as_dicts, console, grouped, heading, print_findings, print_json
from avadm.cli.tables import print_table
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_GOOD, AvadmError
from avadm.findings import Severity, errors
from avadm.quantity import quantity
from avadm.site import profile as profiles
from avadm.site.load import SiteFile
from avadm.site.model import Device, Node

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
    help="Install these too: kubernetes, ava (with kubernetes and logs), objects, logs, cache.",
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


JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
FILE = click.argument("file", required=False, type=click.Path(path_type=Path))


@click.group()
def site() -> None:
    """Write, check and show the site file."""


@site.command()
@FILE
@JSON
@pass_app
def check(app: App, file: Path | None, as_json: bool) -> int:
    """Check a site file as a whole: every error and warning of one pass.

    A file that lacks only the devices of storage nodes is good as a draft: `avadm disk approve` completes it.
    Exit status: 0 no errors (warnings may be), 2 errors, or the file cannot be read.
    """
    from avadm.inventory.vault_guard import lost
    from avadm.site.load import DRAFT, examine
    from avadm.site.vault import Vault

    path = file or app.resolved_site
    site_file, findings = examine(path, DRAFT)
    if site_file and (gone := lost(site_file, Vault.open(site_file.path))):
        findings.append(gone)
    if site_file and any(w.scope == "doctor" for w in site_file.site.waivers):
        from avadm.doctor.waivers import unknown_checks  # reads the checks of all components

        findings += unknown_checks(site_file)
    bad = errors(findings)
    if as_json:
        draft = bool(site_file and site_file.draft)
        print_json({"site": str(path), "ok": not bad, "draft": draft, "findings": as_dicts(findings)})
        return EXIT_COULD_NOT_RUN if bad else EXIT_GOOD
    print_findings(findings)
    printed = Counter(finding.severity for finding, _ in grouped(findings))
    tally = f"{quantity(printed[Severity.ERROR], 'error')}, {quantity(printed[Severity.WARNING], 'warning')}"
    if site_file is None or bad:
        console.print(f"{path}: {tally}", markup=False)
        return EXIT_COULD_NOT_RUN
    nodes = len(site_file.site.nodes)
    good = "good as a draft without devices" if site_file.draft else "good"
    console.print(
        f"{path}: {good} ({quantity(nodes, 'node')}, profile {site_file.profile.name}; {tally})", markup=False
    )
    return EXIT_GOOD


@site.command()
@FILE
@click.option("--profiles", is_flag=True, help="List the version profiles instead.")
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of site files instead.")
@JSON
@pass_app
def show(app: App, file: Path | None, profiles: bool, as_schema: bool, as_json: bool) -> None:
    """Show nodes, roles, racks, devices and networks."""
    if as_schema:
        from avadm.site.schema import schema

        print_json(schema())
    elif profiles:
        _profiles(as_json)
    else:
        from avadm.site.load import DRAFT, load

        site_file = load(file or app.resolved_site, DRAFT)
        if as_json:
            print_json(
                {
                    "path": str(site_file.path),
                    "site": site_file.site.model_dump(mode="json"),
                    "profile": site_file.profile.model_dump(mode="json"),
                    "warnings": as_dicts(site_file.warnings),
                }
            )
        else:
            print_site(site_file)


@site.command()
@FILE
@click.option(
    "--out",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to write it.",
)
@JSON
@pass_app
def render(app: App, file: Path | None, folder: Path, as_json: bool) -> None:
    """Write the Ansible inventory, for ansible-playbook by hand."""
    from avadm.inventory.desired import Desired, Keyring
    from avadm.inventory.render import write
    from avadm.site.load import DRAFT, load
    from avadm.state.bootstrap_marks import variables
    from avadm.state.site_state import SiteState

    site_file = load(file or app.resolved_site, DRAFT)
    site_state = SiteState.of(site_file.path, site_file.site.name)
    keyring = Keyring.open(site_file.path)
    desired = Desired.make(site_file, keyring, site_state.bootstrapped("vault"))
    rendered = write(desired, folder, variables(site_state, site_file.site))
    if as_json:
        print_json(
            {
                "folder": str(rendered.folder),
                "groups": rendered.groups,
                "ansible_args": rendered.ansible_args(),
            }
        )
        return
    console.print(f"Written: {rendered.folder}", markup=False)
    for group, names in rendered.groups.items():
        console.print(f"  {group:<16}{quantity(len(names), 'node')}", markup=False)
    console.print(f"\nBy hand, in {paths.home()}:", markup=False)
    console.print(f"  ansible-playbook {' '.join(rendered.ansible_args())} playbooks/base.yml", markup=False)


@site.command()
@click.argument("file", type=click.Path(path_type=Path))
def use(file: Path) -> None:
    """Make a site file the default of this checkout."""
    from avadm.errors import AvadmError
    from avadm.site.load import DRAFT, examine

    path = file.absolute()
    _, findings = examine(path, DRAFT)
    pointer = paths.default_site_pointer()
    try:
        pointer.parent.mkdir(parents=True, exist_ok=True)
        pointer.write_text(f"{path}\n", encoding="utf-8")
    except OSError as error:
        raise AvadmError.of("pointer-unwritable", where=str(pointer), found=error.strerror or "") from error
    console.print(f"Default site: {path}", markup=False)
    if bad := errors(findings):
        console.print(f"It still has {quantity(len(bad), 'error')}: see `avadm site check`.", markup=False)


@site.command()
@click.argument("key", required=False, default="")
@JSON
def explain(key: str, as_json: bool) -> None:
    """Explain a key of the site file: `avadm site explain network.management`; without KEY, the keys at the top."""
    from dataclasses import asdict

    from avadm.site.key_help import key as find

    found = find(key)
    if as_json:
        print_json(asdict(found))
        return
    if found.path:
        heading(found.path)
        for name, value in (("type", found.type), ("default", found.default), ("meaning", found.meaning)):
            console.print(f"  {name:<9}{value}", markup=False, highlight=False)
    if found.below:
        heading(f"Keys of {found.path}" if found.path else "Keys of the site file")
    for one in found.below:
        console.print(f"  {one.path:<24} {one.type}; default: {one.default}", markup=False, highlight=False)
        console.print(f"    {one.meaning}", markup=False, highlight=False)


def _profiles(as_json: bool) -> None:
    from avadm.site import profile

    loaded = [profile.load(name) for name in profile.names()]
    if as_json:
        print_json([p.model_dump(mode="json") for p in loaded])
        return
    columns = {
        "ceph": "ceph",
        "Kubernetes": "kube-apiserver",
        "Calico": "calico-node",
        "docker": "docker",
        "GPU driver": "gpu_driver",
    }
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("profile", "for", "system", *columns):
        table.add_column(title)
    for p in loaded:
        kernel = f", kernel {p.os['kernel']}" if p.os.get("kernel") else ""
        versions = [p.versions.get(name, "").rstrip(".") or "none" for name in columns.values()]
        kind = "the lab" if p.name.startswith("lab-") else "sites"
        table.add_row(p.name, kind, f"{p.system}{kernel}", *versions)
    print_table(table, whole=("profile", "ceph", "Kubernetes"))
    console.print(
        "\nAll versions and packages: --json. What was run of each: docs/reference/support-matrix.md.",
        markup=False,
    )


site.add_command(init)


def print_site(site_file: SiteFile) -> None:
    """Print networks and nodes of a site, then its warnings."""
    site, net = site_file.site, site_file.site.network
    console.print(f"[bold]{site.name}[/bold] ({site_file.path}), profile {site_file.profile.name}")
    networks = Table(box=None, show_header=False, pad_edge=False)
    for name, value in (
        ("management", net.management),
        ("storage", net.storage or f"{net.management} (management)"),
        ("pods", ", ".join(map(str, net.pod_networks))),
        ("services", net.services),
        ("vpc", ", ".join(map(str, net.vpc)) or "-"),
        ("vswitches", ", ".join(map(str, net.vswitches)) or "-"),
        ("domain", net.domain),
        ("time", ", ".join(site.time.servers) or "the mon nodes' own clocks"),
        ("login", f"{site.ssh.user}, port {site.ssh.port}, key {site_file.ssh_key}"),
    ):
        networks.add_row(f"  {name}", str(value))
    print_table(networks, whole=())
    nodes = Table(header_style="bold", title_justify="left")
    with_storage = net.storage is not None
    for column in ("node", "address", *(["storage"] if with_storage else []), "rack", "roles", "devices"):
        nodes.add_column(column, overflow="fold")
    for node in site.nodes:
        row = [node.name, str(node.address), node.rack, ", ".join(node.roles) or "-", _devices(node)]
        if with_storage:
            row.insert(2, str(node.storage_address or "-"))
        nodes.add_row(*row)
    print_table(nodes, whole=("node", "address", "storage"))
    print_findings(site_file.warnings)


def _devices(node: Node) -> str:
    if len(node.devices) > 2:
        return f"{len(node.devices)}: {_device(node.devices[0])} …"
    return ", ".join(map(_device, node.devices)) or "-"


def _device(device: Device) -> str:
    return f"{device.serial or device.wwn or device.by_id} ({device.device_class})"
