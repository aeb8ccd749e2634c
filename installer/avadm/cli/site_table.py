"""`avadm site show`: a site as tables."""

from __future__ import annotations

from rich.table import Table

from avadm.cli.output import console, print_findings
from avadm.cli.tables import print_table
from avadm.site.load import SiteFile
from avadm.site.model import Device, Node


def print_site(site_file: SiteFile) -> None:
    """Print networks and nodes of a site, then its warnings."""
    site, net = site_file.site, site_file.site.network
    console.print(f"[bold]{site.name}[/bold] ({site_file.path}), profile {site_file.profile.name}")
    networks = Table(box=None, show_header=False, pad_edge=False)
    for name, value in (
        ("management", net.management),
        ("storage", net.storage or f"{net.management} (management)"),
        ("pods", net.pods),
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
