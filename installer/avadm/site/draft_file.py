"""A first site file: from names and addresses to proposed roles and a commented file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, ip_network, summarize_address_range
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.quantity import quantity
from avadm.site import profile as profiles
from avadm.site.load import DRAFT, SiteFile, examine

MAX_NODES = 256
"""P1."""
DEFAULT_PROFILE = "debian-12"
"""What a new site file proposes."""
_IPV6 = re.compile(r"\[?[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,}")


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node as far as it is known before anyone has looked at it."""

    name: str
    address: IPv4Address
    roles: tuple[str, ...] = ()
    gpus: tuple[int, str] | None = None
    """Number and model."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of the management subnet that no node has; None where nothing needs one."""

    ingress: IPv4Address | None = None
    api: IPv4Address | None = None
    database: IPv4Address | None = None
    objects: IPv4Address | None = None
    first: IPv4Address | None = None
    """Of the range for Services of the type LoadBalancer."""
    last: IPv4Address | None = None

    def named(self) -> dict[str, str]:
        """Return key of the site file to address, in the file's order."""
        found = {
            "network.api_vip": self.api,
            "network.ingress_vip": self.ingress,
            "network.load_balancer": self.first and f"{self.first} to {self.last}",
            "components.object_store.vip": self.objects,
            "components.database.vip": self.database,
        }
        return {key: str(value) for key, value in found.items() if value}


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
    parts: tuple[str, ...] = ()
    """What is installed beside storage and monitoring; see `parts.PARTS`."""
    addresses: Addresses = Addresses()
    log_stores: tuple[str, ...] = ()


def parse_node(text: str) -> NewNode:
    """Return the node that ``NAME=ADDRESS[:role,role…]`` describes."""
    name, _, rest = text.partition("=")
    _refuse_ipv6(rest, text)
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
        raise invalid("The list of addresses cannot be read.", text, str(error)) from error
    nodes: list[NewNode] = []
    for line in (raw.partition("#")[0].strip() for raw in lines):
        words = line.split()
        if not words:
            continue
        if len(words) > 2:
            raise invalid("This line holds more than a name and an address.", line, line)
        for word in words:
            _refuse_ipv6(word, line)
        named = [w for w in words if not w[0].isdigit() or not re.fullmatch(r"[0-9./-]+", w)]
        if len(named) == len(words):
            raise invalid(
                "There is no IPv4 address here.", text, line, "an address, a range, or the name of a file"
            )
        addresses = _range(next(w for w in words if w not in named), line)
        if named and len(addresses) > 1:
            raise invalid("A name goes with one address, not with a range.", line, line)
        nodes += [NewNode(named[0] if named else "", a) for a in addresses]
    if not nodes:
        raise invalid("There is no address in this list.", text, "nothing", "at least one address")
    if len(nodes) > MAX_NODES:
        raise invalid(
            "These are more nodes than a site may have.", text, str(len(nodes)), f"at most {MAX_NODES}"
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


def text_of(new: NewSite) -> str:
    """Return the commented site file."""
    loader = PackageLoader("avadm.site", "templates")
    # The result is YAML, not HTML; every value passes the filter `yaml`, which quotes what must be.
    environment = Environment(  # noqa: S701
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["yaml"] = _quoted
    profile = profiles.load(new.profile)
    copies = 3 if new.parts and sum("osd" in n.roles for n in new.nodes) >= 3 else 2
    return environment.get_template("site.yml.j2").render(
        new=new,
        has_mds=any("mds" in n.roles for n in new.nodes),
        copies=copies,
        system=profile.system,
        boots=bool(profile.kernel_arguments),
        lists=bool(profile.features.get("objects_list_v2", True)),
    )


def refuse_existing(path: Path) -> None:
    """Raise AvadmError where there is a file already."""
    if path.exists():
        raise AvadmError.of("file-exists", where=str(path), found="a file", wanted="a new name")


def judge(name: str, text: str) -> tuple[SiteFile | None, list[Finding]]:
    """Return what `site check` finds in a text, as if it were in a file of that name; a draft is good."""
    with TemporaryDirectory(prefix="avadm-") as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        return examine(path, DRAFT)


def write(path: Path, text: str, *, force: bool) -> None:
    """Write a site file; AvadmError where there is one already, unless forced."""
    if not force:
        refuse_existing(path)
    try:
        with path.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise AvadmError.of(
            "file-unwritable",
            where=str(path),
            found=error.strerror or str(error),
            wanted="a folder that this user may write to",
        ) from error


def _quoted(value: object) -> str:
    flow = yaml.safe_dump([str(value)], default_flow_style=True, width=10_000, allow_unicode=True)
    return flow.strip()[1:-1]


def _refuse_ipv6(text: str, whole: str) -> None:
    """Raise AvadmError for what begins as an IPv6 address does."""
    if _IPV6.match(text.strip()):
        raise invalid("IPv6 is not supported.", whole, text, "an IPv4 address such as 10.0.0.11")


def _address(text: str, whole: str) -> IPv4Address:
    try:
        return IPv4Address(text.strip())
    except ValueError as error:
        raise invalid(
            "This is no IPv4 address.", whole, text.strip() or "nothing", "such as 10.0.0.11"
        ) from error


def _range(text: str, whole: str) -> list[IPv4Address]:
    """Return the addresses of ``10.0.0.11``, ``10.0.0.11-16``, ``10.0.0.11-10.0.0.16`` or ``10.0.0.0/28``."""
    if "/" in text:
        try:
            net = IPv4Network(text)
        except ValueError as error:
            raise invalid("This is not an IPv4 network.", whole, text, "such as 10.0.0.0/28") from error
        if net.num_addresses > 4 * MAX_NODES:
            raise invalid(
                "This range is larger than a site.",
                whole,
                quantity(net.num_addresses, "address", "addresses"),
            )
        return list(net.hosts())
    start, dash, end = text.partition("-")
    first = _address(start, whole)
    if not dash:
        return [first]
    last = _address(end if "." in end else f"{start.rpartition('.')[0]}.{end}", whole)
    if not 0 <= int(last) - int(first) < MAX_NODES:
        raise invalid(
            "This range is empty or larger than a site.",
            whole,
            text,
            f"1 to {quantity(MAX_NODES, 'address', 'addresses')}, first to last",
        )
    return [a for net in summarize_address_range(first, last) for a in net]


def invalid(what: str, where: str, found: str, wanted: str = "", *, check: str = "node-list") -> AvadmError:
    """Return the error of a value that `site init` was given."""
    return AvadmError(
        Finding(check, what, where, found, wanted, "Correct it and run the same command again.")
    )
