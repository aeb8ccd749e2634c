"""Rules over names, addresses, racks and host keys of nodes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import get_args

from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.errors import secret_name
from avadm.site.model import RoleName
from avadm.site.source import KeyPath
from avadm.site.text import plain

RESERVED = {*get_args(RoleName), "all", "ungrouped", "localhost", "controller"}
"""Names of inventory groups; a host of the same name would be taken for the group."""

CONNECTION = {
    "ansible_host": "the node's address",
    "ansible_port": "ssh.port",
    "ansible_user": "ssh.user",
    "ansible_ssh_private_key_file": "ssh.key",
    "ansible_ssh_common_args": "ssh.known_hosts",
}
"""Variables of Ansible that the site file has keys for: avadm's own connections would not follow them."""

KEY_TYPES = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")


def names(draft: Draft) -> Iterator[Finding]:
    """Names are unique and no group's name."""
    named = list(draft.nodes("name"))
    yield from draft.twice("duplicate-name", ((("nodes", i, "name"), n.name, n.name) for i, n in named))
    for i, node in named:
        if node.name in RESERVED:
            yield draft.finding(
                "name-reserved",
                ("nodes", i, "name"),
                node.name,
                "a name that is no role or group",
                host=node.name,
                name=node.name,
            )


def addresses(draft: Draft) -> Iterator[Finding]:
    """Every address belongs to one node, on either network."""
    places: list[tuple[KeyPath, object, str | None]] = []
    for i, node in enumerate(draft.site.nodes):
        for key, value in (("address", node.address), ("storage_address", node.storage_address)):
            if value is not None and draft.ok("nodes", i, key):
                places.append((("nodes", i, key), value, node.name))
    yield from draft.twice("duplicate-address", places)


def in_subnet(draft: Draft) -> Iterator[Finding]:
    """Addresses lie in their network and can be a host's."""
    net = draft.site.network
    for key, subnet in (("management", net.management), ("storage", net.storage)):
        node_key = "address" if key == "management" else "storage_address"
        if not draft.ok("network", key):
            continue
        for i, node in draft.nodes(node_key):
            address: IPv4Address | None = getattr(node, node_key)
            if address is None:
                continue
            path = ("nodes", i, node_key)
            if subnet is None:
                yield draft.finding(
                    "storage-network-missing", path, address, "network.storage", host=node.name
                )
            else:
                yield from _address(draft, path, address, subnet, node.name)


def _address(
    draft: Draft, path: KeyPath, address: IPv4Address, net: IPv4Network, host: str
) -> Iterator[Finding]:
    if address not in net:
        yield draft.finding("address-outside", path, address, f"an address of {net}", host=host, node=host)
    elif net.num_addresses > 2 and address in (net.network_address, net.broadcast_address):
        kind = "network" if address == net.network_address else "broadcast"
        yield draft.finding(
            "address-not-a-host",
            path,
            address,
            f"{net.network_address + 1} to {net.broadcast_address - 1}",
            host=host,
            node=host,
            kind=kind,
            net=net,
        )


def storage_address(draft: Draft) -> Iterator[Finding]:
    """Where there is a storage network, every OSD node is on it."""
    if draft.site.network.storage is None or not draft.ok("network", "storage"):
        return
    for i, node in draft.nodes("storage_address", "roles"):
        if "osd" in node.roles and node.storage_address is None:
            yield draft.finding(
                "storage-address-missing",
                ("nodes", i),
                "nothing",
                f"storage_address: an address of {draft.site.network.storage}",
                host=node.name,
                name=node.name,
            )


def racks(draft: Draft) -> Iterator[Finding]:
    """Rack names fit CRUSH and the inventory, and no bucket of CRUSH has two meanings."""
    groups: dict[str, str] = {}
    hosts = {n.name for _, n in draft.nodes("name")}
    for i, node in draft.nodes("rack"):
        rack, path = node.rack, ("nodes", i, "rack")
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,63}", rack):
            yield draft.finding("rack-name", path, rack, "letters, digits, '_', '.' and '-'", host=node.name)
        elif rack in hosts or rack == "default":
            yield draft.finding(
                "rack-name-taken",
                path,
                rack,
                "a name that no node has, and not 'default'",
                host=node.name,
                rack=rack,
            )
        elif groups.setdefault(group := rack_group(rack), rack) != rack:
            yield draft.finding(
                "rack-name-twice",
                path,
                f"{rack} and {groups[group]}",
                "names that differ in letters or digits",
                host=node.name,
            )


def rack_group(rack: str) -> str:
    """Return the inventory group of a rack; Ansible allows only letters, digits and underscores."""
    return "rack_" + re.sub(r"[^A-Za-z0-9_]", "_", rack)


def host_keys(draft: Draft) -> Iterator[Finding]:
    """Host keys are well formed, and no two machines share one."""
    first: dict[str, str] = {}
    for i, node in draft.nodes("host_key"):
        if node.host_key is None:
            continue
        path, wanted = ("nodes", i, "host_key"), "TYPE BASE64, as in /etc/ssh/ssh_host_ed25519_key.pub"
        if problem := _key_problem(node.host_key):
            yield draft.finding(
                "host-key-syntax-nodes",
                path,
                plain(node.host_key)[:60],
                wanted,
                host=node.name,
                problem=problem,
            )
        elif (other := first.setdefault(" ".join(node.host_key.split()[:2]), node.name)) != node.name:
            yield draft.finding(
                "host-key-shared",
                path,
                "one key for two nodes",
                "a key of its own",
                host=node.name,
                name=node.name,
                other=other,
            )


def jump_host_key(draft: Draft) -> Iterator[Finding]:
    """The jump host's key is well formed."""
    jump, path = draft.site.ssh.jump, ("ssh", "jump", "host_key")
    if jump is not None and draft.ok(*path) and (problem := _key_problem(jump.host_key)):
        yield draft.finding(
            "host-key-syntax",
            path,
            plain(jump.host_key)[:60],
            "TYPE BASE64, as in /etc/ssh/ssh_host_ed25519_key.pub",
            problem=problem,
        )


def _key_problem(text: str) -> str | None:
    parts = text.split()
    if len(parts) < 2 or parts[0] not in KEY_TYPES:
        return f"it does not begin with one of {', '.join(KEY_TYPES)}"
    try:
        blob = base64.b64decode(parts[1], validate=True)
    except (binascii.Error, ValueError):
        return "its second word is not base64"
    # RFC 4253 6.6: the key repeats its type after a length of four bytes.
    kind = parts[0].encode()
    if blob[4 : 4 + len(kind)] != kind or int.from_bytes(blob[:4], "big") != len(kind):
        return "the base64 part is not a key of this type"
    return None


def variables(draft: Draft) -> Iterator[Finding]:
    """Variables have names that Ansible takes, and none passes for a secret."""
    places = [(("extra_vars",), draft.site.extra_vars, None)] if draft.ok("extra_vars") else []
    places += [(("nodes", i, "vars"), n.vars, n.name) for i, n in draft.nodes("vars")]  # type: ignore[misc]
    for path, mapping, host in places:
        for key in mapping:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
                wanted, remedy = "letters, digits and '_', not a digit first", "Rename it."
            elif key in CONNECTION:
                wanted, remedy = (
                    "how avadm and Ansible both reach the nodes",
                    f"Set {CONNECTION[key]} instead.",
                )
            elif key.startswith("vault_"):
                wanted, remedy = (
                    "a name without vault_: those are kept in the vault file",
                    "Edit it with ansible-vault.",
                )
            else:
                continue
            yield draft.finding("variable-name", (*path, key), key, wanted, host=host, key=key, remedy=remedy)


def secrets(draft: Draft) -> Iterator[Finding]:
    """No secret stands in the file in plain words; a reference to the vault does."""
    yield from _secrets(draft, ("extra_vars",), draft.site.extra_vars, None)
    for i, node in draft.nodes("vars"):
        yield from _secrets(draft, ("nodes", i, "vars"), node.vars, node.name)


def _secrets(draft: Draft, path: KeyPath, value: object, host: str | None) -> Iterator[Finding]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _secrets(draft, (*path, key), inner, host)
    elif str(path[-1]).startswith("vault_"):
        return  # `variables` tells of it
    elif value and ("PRIVATE KEY" in str(value) or secret_name(str(path[-1]))) and "{{" not in str(value):
        yield draft.finding(
            "secret-in-site-file",
            path,
            "a secret (not shown)",
            'a reference to the vault file: "{{ vault_NAME }}"',
            host=host,
        )


RULES = [names, addresses, in_subnet, storage_address, racks, host_keys, jump_host_key, variables, secrets]
