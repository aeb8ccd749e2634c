"""Who runs what in the lab, with which address, rack and disks: computed from a few numbers."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from avadm.errors import AvadmError
from avadm.site.components import Components
from avadm.site.errors import model_of

MIB = 1024 * 1024
_UNITS = {"M": MIB, "G": 1024 * MIB, "T": 1024 * 1024 * MIB}
_RACKS = 3
FIRST = {"stor": 11, "mast": 61, "comp": 101}
"""Number of the first address in the subnet of storage, master and compute nodes."""
LAST = {"stor": 60, "mast": 100, "comp": 247}
"""Number of the last one; virtual addresses begin at .248."""
WRITTEN = {
    "objects": "object_store",
    "cache": "alluxio",
    "logs": "logs",
    "database": "database",
    "ava": "ava",
}
"""Part to its key of the site file's `components`, where the lab gives it options or nodes of its own."""


def _plain() -> tuple[str, ...]:
    """Return the keys of `components` that may be left out and need no options."""
    found = ((key, field, model_of(field.annotation)) for key, field in Components.model_fields.items())
    return tuple(
        key
        for key, field, model in found
        if field.default is None and model and not any(f.is_required() for f in model.model_fields.values())
        if key not in WRITTEN.values()
    )


PLAIN = _plain()
"""Parts that are in the lab's site file as a component's defaults."""
PARTS = (*WRITTEN, *PLAIN)
"""Parts beside ceph, monitoring and Kubernetes; `lab up --with` chooses among them."""
DEMANDING = ("client", "worker", "master", "etcd", "prometheus")
"""Roles for which a container is made in another way (docker/emulation.py)."""
GATEWAYS = 2
"""How many storage nodes run an S3 gateway, with the part objects."""
GPUS = 4
"""Stand-ins for GPUs of each GPU node."""


class Config(BaseModel):
    """The numbers a lab is made from; kept in lab.json.

    Attributes:
        name: the lab's name; 9 characters at most, since the bridge avadm-NAME may have 15.
        storage: storage nodes (mon, mgr, osd, mds); 0 for a lab without ceph.
        compute: compute nodes (client where there is ceph; monitoring on the first ones; with masters also worker and more).
        masters: nodes of Kubernetes' control plane and etcd; 0 for a lab without Kubernetes.
        disks: block devices of each storage node.
        disk_bytes: size of each device, bytes (sparse: what is not written takes no space).
        subnet: network of the nodes; the first address is this machine's.
        release: Debian release of the nodes; the profile lab-RELEASE has its versions.
        parts: which of ``PARTS`` it has.
        any_role: whether every machine can be given any role, by a site file of one's own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,7}[a-z0-9])?$")] = "lab"
    storage: Annotated[int, Field(ge=0, le=40)] = 3
    compute: Annotated[int, Field(ge=1, le=40)] = 3
    masters: Literal[0, 1, 3, 5] = 1
    disks: Annotated[int, Field(ge=1, le=12)] = 2
    disk_bytes: Annotated[int, Field(ge=1024 * MIB)] = 10 * 1024 * MIB
    subnet: IPv4Network = IPv4Network("10.77.0.0/24")
    release: Literal["bookworm", "bullseye"] = "bookworm"
    parts: tuple[str, ...] = ()
    any_role: bool = False

    @field_validator("parts")
    @classmethod
    def _known(cls, parts: tuple[str, ...]) -> tuple[str, ...]:
        if strange := sorted(set(parts) - set(PARTS)):
            raise ValueError(f"{', '.join(strange)}: not one of {', '.join(PARTS)}")
        return parts

    @property
    def gateway(self) -> IPv4Address:
        """This machine's address on the lab's network."""
        return self.subnet.network_address + 1

    @property
    def api_vip(self) -> IPv4Address:
        """Virtual address of the Kubernetes API: .250 of the (first) /24."""
        return self.subnet.network_address + 250

    @property
    def ingress_vip(self) -> IPv4Address:
        """Virtual address of the ingress nodes."""
        return self.subnet.network_address + 251

    @property
    def objects_vip(self) -> IPv4Address:
        """Virtual address of the S3 gateways."""
        return self.subnet.network_address + 249

    @property
    def database_vip(self) -> IPv4Address:
        """Virtual address of PostgreSQL."""
        return self.subnet.network_address + 248

    @property
    def service_addresses(self) -> tuple[IPv4Address, IPv4Address]:
        """First and last address of Services of the type LoadBalancer."""
        return self.subnet.network_address + 252, self.subnet.network_address + 254

    @property
    def cached(self) -> bool:
        """Whether there is a cache: it is before the shared file system, which a lab without storage nodes has not."""
        return "cache" in self.parts and bool(self.storage)

    @property
    def stored(self) -> bool:
        """Whether there is PostgreSQL: etcd keeps which node is its primary, and a lab without masters has none."""
        return bool({"database", "ava"} & set(self.parts)) and bool(self.masters)

    @property
    def platform(self) -> bool:
        """Whether there is AVA: its pods need masters, and it brings its database along."""
        return "ava" in self.parts and bool(self.masters)

    @property
    def domain(self) -> str:
        """DNS domain of the nodes (.test is reserved for this, RFC 6761)."""
        return f"{self.name}.test"


@dataclass(frozen=True, slots=True)
class Disk:
    """One block device of a node.

    Attributes:
        serial: stable for node and slot, like LAB-stor1-b.
        letter: its slot, b for the first.
        bytes: size, bytes.
    """

    serial: str
    letter: str
    bytes: int

    @property
    def by_id(self) -> str:
        """The name that the site file approves."""
        return f"/dev/disk/by-id/scsi-AVADM_{self.serial}"


@dataclass(frozen=True, slots=True)
class LabNode:
    """One machine of the lab.

    Attributes:
        name: its host name.
        address: its address.
        roles: roles in the site file.
        rack: its rack.
        disks: its block devices.
        gpus: how many stand-ins for GPUs it has.
        others: roles that its container is made for beside those of the lab's site file.
    """

    name: str
    address: IPv4Address
    roles: tuple[str, ...]
    rack: str
    disks: tuple[Disk, ...] = ()
    gpus: int = 0
    others: tuple[str, ...] = ()

    @property
    def possible(self) -> frozenset[str]:
        """Roles that its container is made for."""
        return frozenset((*self.roles, *self.others))

    @property
    def kubernetes(self) -> bool:
        """Whether a container engine and kubelet can run there."""
        return bool({"master", "worker"} & self.possible)


def spare(config: Config, name: str, roles: tuple[str, ...], disks: int, rack: str = "r1") -> LabNode:
    """Return a machine beside those that the lab's numbers make; its place in the subnet follows from its name.

    Args:
        config: the lab's numbers.
        name: stor, mast or comp with a number that no node of the lab has.
        roles: what it will be given; some need more of the container (kubelet: its own control groups).
        disks: how many block devices it has.
        rack: its rack.

    Raises:
        AvadmError: another name, one that a node has, or no address is left for it.
    """
    match = re.fullmatch(r"(stor|mast|comp)([1-9]\d?)", name)
    planned = {n.name: n.address for n in nodes(config)}
    place = FIRST[match[1]] + int(match[2]) - 1 if match else 0
    if not match or name in planned or place > LAST[match[1]]:
        raise AvadmError.of(
            "lab-spare",
            where="NAME",
            found=name,
            wanted=f"stor, mast or comp with a number, beside {', '.join(planned)}",
        )
    made = tuple(
        Disk(f"{config.name.upper()}-{name}-{letter}", letter, config.disk_bytes)
        for letter in string.ascii_lowercase[1 : 1 + disks]
    )
    return LabNode(name, config.subnet[place], roles, rack, made, gpus=GPUS if "gpu" in roles else 0)


def exchanged(nodes: Iterable[LabNode], bays: Mapping[str, Mapping[str, Any]]) -> list[LabNode]:
    """Return nodes with the disks that are in their bays by now.

    Args:
        nodes: the nodes as they were made.
        bays: node to letter to the serial number and bytes of the disk that is in that bay; None for an empty one.
    """
    found = []
    for node in nodes:
        own = bays.get(node.name, {})
        made = {disk.letter: disk for disk in node.disks}
        for letter, one in own.items():
            made.pop(letter, None)
            if one is not None:
                made[letter] = Disk(str(one["serial"]), letter, int(one["bytes"]))
        found.append(replace(node, disks=tuple(made[letter] for letter in sorted(made))))
    return found


def parse_size(text: str) -> int:
    """Return bytes for sizes like ``10G`` or ``512M`` (powers of 1024); AvadmError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([MGT])(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise AvadmError.of("lab-size", where="--disk-size", found=text, wanted="a number with M, G or T")
    # Whole MiB: loop devices are cut to sectors, and ceph's allocation units divide a MiB.
    return int(float(match[1]) * _UNITS[match[2].upper()]) // MIB * MIB


def spare_subnet(number: int) -> IPv4Network:
    """Return the network of the ``number``-th lab of a machine, beside the first one's."""
    return list(Config().subnet.supernet(new_prefix=16).subnets(new_prefix=24))[number]


def nodes(config: Config) -> list[LabNode]:
    """Return the lab's nodes: stor1.. from .11 on, mast1.. from .61, comp1.. from .101, racks r1..r3 in turn.

    Three mons (one where there are fewer than three storage nodes): an even count has no better quorum.
    Adding nodes moves no other node's address.
    """
    if config.subnet.prefixlen > 24 or config.subnet.num_addresses > 65536:
        raise AvadmError.of(
            "lab-subnet-size", where="--subnet", found=str(config.subnet), wanted="a network of /16 to /24"
        )
    quorum = 3 if config.storage >= 3 else 1
    made = []
    for i in range(config.storage):
        name = f"stor{i + 1}"
        roles: tuple[str, ...] = ("mon", "mgr", "osd", "mds") if i < quorum else ("osd",)
        if "objects" in config.parts and i < GATEWAYS:
            roles = (*roles, "rgw")
        disks = tuple(
            Disk(f"{config.name.upper()}-{name}-{letter}", letter, config.disk_bytes)
            for letter in string.ascii_lowercase[1 : 1 + config.disks]
        )
        made.append(LabNode(name, config.subnet[FIRST["stor"] + i], roles, f"r{i % _RACKS + 1}", disks))
    for i in range(config.masters):
        address = config.subnet[FIRST["mast"] + i]
        made.append(LabNode(f"mast{i + 1}", address, ("etcd", "master"), f"r{i % _RACKS + 1}"))
    for i in range(config.compute):
        roles = (
            *(["client"] if config.storage else []),
            *(["prometheus"] if i < 2 else []),
            *(["alertmanager"] if i < 3 else []),
        )
        extra = _kubernetes_roles(i) if config.masters else ()
        extra += _cache_roles(i) if config.cached else ()
        # The first compute node has the most to do already.
        extra += ("database",) if config.stored and i in ((1, 2) if config.compute > 2 else (0, 1)) else ()
        gpus = GPUS if "gpu" in extra else 0
        rack = f"r{i % _RACKS + 1}"
        made.append(
            LabNode(f"comp{i + 1}", config.subnet[FIRST["comp"] + i], (*roles, *extra), rack, gpus=gpus)
        )
    return [replace(node, others=DEMANDING) for node in made] if config.any_role else made


def _cache_roles(index: int) -> tuple[str, ...]:
    """Return what a compute node runs of the cache: the first leads, the first two keep what is cached."""
    served = {0: ("alluxio_master", "alluxio_worker"), 1: ("alluxio_worker",)}
    return (*served.get(index, ()), "alluxio_client")


def _kubernetes_roles(index: int) -> tuple[str, ...]:
    """Return what a compute node runs of Kubernetes: all are workers, the second and third have GPUs."""
    services = {0: ("dns", "ingress", "registry"), 1: ("ingress", "gpu"), 2: ("gpu",)}
    return ("worker", *services.get(index, ()))
