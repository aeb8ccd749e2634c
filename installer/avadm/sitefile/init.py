"""A first site file: from names and addresses to proposed roles and a commented file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, ip_network, summarize_address_range
from pathlib import Path

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from avadm.errors import AvadmError
from avadm.site import profile as profiles

MAX_NODES = 256
"""P1."""
DEFAULT_PROFILE = "debian-12"
"""What a new site file proposes."""


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node as far as it is known before anyone has looked at it."""

    name: str
    address: IPv4Address
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewSite:
    """What a first site file is made from."""

    name: str
    domain: str
    management: IPv4Network
    nodes: tuple[NewNode, ...]
    profile: str = DEFAULT_PROFILE
    user: str = "root"
    time_servers: tuple[str, ...] = ()


def parse_node(text: str) -> NewNode:
    """Return the node that ``NAME=ADDRESS[:role,role…]`` describes."""
    name, _, rest = text.partition("=")
    address, _, roles = rest.partition(":")
    return NewNode(
        name.strip(), _address(address, text), tuple(r.strip() for r in roles.split(",") if r.strip())
    )


def parse_addresses(text: str) -> list[NewNode]:
    """Return nodes from a file of that name, or from addresses and ranges separated by commas or spaces.

    A line of a file holds an address, a range (``10.0.0.11-16``), or a name and an address in either order.
    """
    path = Path(text)
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else re.split(r"[,\s]+", text)
    except (OSError, UnicodeDecodeError) as error:
        raise _bad("The list of addresses cannot be read.", text, str(error)) from error
    nodes: list[NewNode] = []
    for line in (raw.partition("#")[0].strip() for raw in lines):
        words = line.split()
        if not words:
            continue
        if len(words) > 2:
            raise _bad("This line holds more than a name and an address.", line, line)
        named = [w for w in words if not w[0].isdigit() or not re.fullmatch(r"[0-9./-]+", w)]
        addresses = _range(next((w for w in words if w not in named), ""), line)
        if named and len(addresses) > 1:
            raise _bad("A name goes with one address, not with a range.", line, line)
        nodes += [NewNode(named[0] if named else "", a) for a in addresses]
    if not nodes:
        raise _bad("There is no address in this list.", text, "nothing", "at least one address")
    if len(nodes) > MAX_NODES:
        raise _bad(
            "These are more nodes than a site may have (P1).", text, str(len(nodes)), f"at most {MAX_NODES}"
        )
    width = len(str(len(nodes)))
    return [n if n.name else replace(n, name=f"node{i:0{width}}") for i, n in enumerate(nodes, 1)]


def management_of(addresses: Iterable[IPv4Address]) -> IPv4Network:
    """Return the smallest network from /24 up that holds all addresses."""
    low, high = min(known := list(addresses)), max(known)
    net = ip_network(f"{low}/24", strict=False)
    while high not in net:
        net = net.supernet()
    return IPv4Network(net)


def propose(nodes: Sequence[NewNode]) -> list[NewNode]:
    """Return the nodes with proposed roles (sizing: P3 to P9); unchanged where any node has roles already.

    Storage comes first in the list: up to four nodes all store, of more nodes a quarter (at least three).
    Monitors and managers are three of these (five from 64 nodes on); metadata servers and monitoring are on
    the next ones.
    """
    if any(n.roles for n in nodes):
        return list(nodes)
    count = len(nodes)
    storage = list(range(count if count <= 4 else max(3, count // 4)))
    others = list(range(len(storage), count)) or storage
    quorum = (5 if count >= 64 else 3) if len(storage) >= 3 else 1
    roles: dict[int, list[str]] = {i: [] for i in range(count)}
    for chosen, names in (
        (storage[:quorum], ("mon", "mgr")),
        (storage, ("osd",)),
        (others[:3], ("mds",)),
        (others, ("client",)),
        (others[-3:] if len(others) > 3 else others[:3], ("prometheus", "alertmanager")),
    ):
        for i in chosen:
            roles[i] += names
    return [replace(n, roles=tuple(roles[i])) for i, n in enumerate(nodes)]


def with_kubernetes(nodes: Sequence[NewNode]) -> dict[str, tuple[str, ...]]:
    """Return node name to its roles if the site gets Kubernetes too: of nodes that mount the storage and do not store.

    From six of them on three are masters (P7), else one; the rest are workers. Empty where there are fewer than four, or
    where nodes have roles of Kubernetes already. Masters are kept from metadata servers where that can be, and from
    alertmanagers: Calico's controllers listen on the mesh's port.
    """
    homes = [n for n in nodes if "client" in n.roles and "osd" not in n.roles]
    fit = sorted((n for n in homes if "alertmanager" not in n.roles), key=lambda n: "mds" in n.roles)
    if len(homes) < 4 or not fit or any({"etcd", "master", "worker"} & set(n.roles) for n in nodes):
        return {}
    masters = fit[:3] if len(homes) >= 6 and len(fit) >= 3 else fit[:1]
    roles = {n.name: (*n.roles, "etcd", "master") for n in masters}
    workers = [n for n in homes if n.name not in roles]
    for i, node in enumerate(workers):
        dns = i < (3 if len(workers) >= 3 else 1)
        services = (("dns", dns), ("ingress", i < 2), ("registry", i == 0))
        roles[node.name] = (*node.roles, "worker", *(name for name, here in services if here))
    return roles


def text_of(new: NewSite) -> str:
    """Return the commented site file."""
    loader = PackageLoader("avadm.sitefile", "templates")
    # The result is YAML, not HTML; every value passes the filter `yaml`, which quotes what must be.
    environment = Environment(  # noqa: S701
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["yaml"] = _quoted
    has_mds = any("mds" in n.roles for n in new.nodes)
    return environment.get_template("site.yml.j2").render(
        new=new,
        has_mds=has_mds,
        kubernetes=with_kubernetes(new.nodes),
        system=profiles.load(new.profile).system,
        boots=bool(profiles.load(new.profile).kernel_arguments),
    )


def write(path: Path, text: str, *, force: bool) -> None:
    """Write a site file; AvadmError where there is one already, unless forced."""
    try:
        with path.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise AvadmError.of(
            check="file-exists",
            what="The file exists already.",
            where=str(path),
            found="a file",
            wanted="a new name",
            remedy="Name another file, or write over it with --force.",
        ) from error
    except OSError as error:
        raise AvadmError.of(
            check="file-unwritable",
            what="The file cannot be written.",
            where=str(path),
            found=error.strerror or str(error),
        ) from error


def _quoted(value: object) -> str:
    flow = yaml.safe_dump([str(value)], default_flow_style=True, width=10_000, allow_unicode=True)
    return flow.strip()[1:-1]


def _address(text: str, whole: str) -> IPv4Address:
    try:
        return IPv4Address(text.strip())
    except ValueError as error:
        raise _bad(
            "This is no IPv4 address.", whole, text.strip() or "nothing", "such as 10.0.0.11"
        ) from error


def _range(text: str, whole: str) -> list[IPv4Address]:
    """Return the addresses of ``10.0.0.11``, ``10.0.0.11-16``, ``10.0.0.11-10.0.0.16`` or ``10.0.0.0/28``."""
    if "/" in text:
        try:
            net = IPv4Network(text)
        except ValueError as error:
            raise _bad("This is not an IPv4 network.", whole, text, "such as 10.0.0.0/28") from error
        if net.num_addresses > 4 * MAX_NODES:
            raise _bad("This range is larger than a site.", whole, f"{net.num_addresses} addresses")
        return list(net.hosts())
    start, dash, end = text.partition("-")
    first = _address(start, whole)
    if not dash:
        return [first]
    last = _address(end if "." in end else f"{start.rpartition('.')[0]}.{end}", whole)
    if not 0 <= int(last) - int(first) < MAX_NODES:
        raise _bad(
            "This range is empty or larger than a site.",
            whole,
            text,
            f"1 to {MAX_NODES} addresses, first to last",
        )
    return [a for net in summarize_address_range(first, last) for a in net]


def _bad(what: str, where: str, found: str, wanted: str = "") -> AvadmError:
    return AvadmError.of(
        check="node-list",
        what=what,
        where=where,
        found=found,
        wanted=wanted,
        remedy="Correct it and run the same command again.",
    )
