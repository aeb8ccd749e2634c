"""The typed model of a site file (design 2): names, types and defaults; cross-checks are in validate.py."""

from __future__ import annotations

from datetime import date
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from avadm.components.nodes.options import Bgp, Ipip
from avadm.components.packet_filter.options import PacketFilter
from avadm.site.components import Components
from avadm.site.values import Address, Model, NodeName, Real, Subnet, Whole, Words


class Boot(Model):
    """How the nodes' kernels are booted."""

    allow_reboot: bool = False
    """Whether `avadm bootstrap` may set the profile's kernel arguments and reboot nodes that lack them, one at a time."""


RoleName = Literal[
    "mon",
    "mgr",
    "osd",
    "mds",
    "client",
    "prometheus",
    "alertmanager",
    "grafana",
    "etcd",
    "master",
    "worker",
    "gpu",
    "dns",
    "ingress",
    "registry",
    "rgw",
    "database",
    "alluxio_master",
    "alluxio_worker",
    "alluxio_client",
]

HardwareRole = RoleName | Literal["cpu"]

CheckId = Literal[
    "reachability",
    "os",
    "kernel",
    "boot",
    "names",
    "identity",
    "hosts",
    "resolution",
    "clocks",
    "time-sources",
    "nics",
    "latency",
    "path-mtu",
    "hardware",
    "disks",
    "package-sources",
    "registries",
    "packages",
    "memory",
    "swap",
    "space",
    "ports",
    "packet-filter",
]

ScopedCheck = Annotated[
    Annotated[CheckId, Tag("bare")]
    | Annotated[str, Field(pattern=r"^(preflight|doctor):[a-z0-9]+(-[a-z0-9]+)*$"), Tag("scoped")],
    Discriminator(lambda value: "scoped" if isinstance(value, str) and ":" in value else "bare"),
]
"""A check by its id: of preflight, or with its scope, since ids of both overlap."""


class LoadBalancer(Model):
    """Addresses of Services of the type LoadBalancer: where users reach workbenches by ssh and the like."""

    first: Address
    """First address of a range of the management subnet that no one else has."""
    last: Address
    """Its last address; at most 256 in all."""
    by: Literal["avadm", "metallb"] = "avadm"
    """Who gives and announces them: the nodes with the role ingress, or a MetalLB that the site installs itself."""

    def addresses(self) -> list[IPv4Address]:
        """Return the addresses of the range, in order."""
        return [IPv4Address(n) for n in range(int(self.first), int(self.last) + 1)]


class Network(Model):
    """Address plan of the machine room."""

    management: Subnet
    """Subnet of all nodes; also ceph's public network."""
    storage: Subnet | None = None
    """Ceph's cluster (replication) network; the management subnet where there is none."""
    mtu: Whole | None = Field(default=None, ge=1280, le=9216)
    """MTU of the management network; where absent, that of most nodes."""
    storage_mtu: Whole | None = Field(default=None, ge=1280, le=9216)
    """MTU of the storage network, e.g. 9000 for jumbo frames; where absent, that of most nodes."""
    max_latency_ms: Real = Field(default=2.0, gt=0)
    """Longest round trip between two nodes of the room, milliseconds."""
    pods: Subnet = IPv4Network("10.244.0.0/16")
    """Addresses of pods."""
    more_pods: list[Subnet] = []
    """Further addresses of pods, for when the first network gets full; see `pod_range`."""
    services: Subnet = IPv4Network("10.96.0.0/16")
    """Virtual addresses of Kubernetes services."""
    api_vip: Address | None = None
    """Address of the management subnet that the masters hold together: where the Kubernetes API is reached."""
    ingress_vip: Address | None = None
    """Address of the management subnet that the ingress nodes hold together: where users reach the platform."""
    load_balancer: LoadBalancer | None = None
    """Addresses of Services of the type LoadBalancer; without it such Services wait for one."""
    route_reflectors: list[NodeName] = []
    """Masters or workers that tell all others the routes of pods; where none are named, each node tells each other."""
    bgp: Bgp = Bgp()
    """Sessions with the switches on site, which then know the way to each pod (H3)."""
    rack_prefix: Whole | None = Field(default=None, ge=1, le=30)
    """Where racks are routed: prefix length of one rack's part of the management subnet, e.g. 24; else one segment."""
    ipip: Ipip = "never"
    """Whether packets of pods travel inside packets of nodes between routed racks whose routers do not know pods."""
    tunnels: Subnet | None = None
    """With ipip: addresses of tunnels, one for each master and worker, from which nodes reach pods of other racks."""
    filter: PacketFilter = PacketFilter()
    """Packet filter of each node."""
    vpc: list[Subnet] = []
    """Networks of a connected public cloud's VPC (H2)."""
    vswitches: list[Subnet] = []
    """Networks of that cloud's virtual switches (H2); each lies inside one VPC network."""
    domain: str
    """Second-level domain of the site; nodes are NAME.DOMAIN."""

    @property
    def pod_networks(self) -> list[IPv4Network]:
        """All networks of pods."""
        return [self.pods, *self.more_pods]

    @property
    def pod_range(self) -> IPv4Network:
        """The smallest network that holds all networks of pods: kube-proxy knows pods by one network."""
        found = self.pods
        while not all(network.subnet_of(found) for network in self.more_pods):
            found = found.supernet()
        return found


class Jump(Model):
    """The one machine through which all nodes are reached (a bastion); it is not changed in any way."""

    address: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    """Its address or name."""
    port: Whole = Field(default=22, ge=1, le=65535)
    """TCP port of its sshd."""
    user: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    """Login there; it needs TCP forwarding and nothing else."""
    key: str | None = None
    """Private key that it lets in; relative to the site file; `ssh.key` where absent."""
    host_key: str
    """Its public ssh host key ("TYPE BASE64"), e.g. from /etc/ssh/ssh_host_ed25519_key.pub there."""


class Ssh(Model):
    """How the controller reaches the nodes."""

    user: str = "root"
    """Login on every node; any user but root needs sudo."""
    port: Whole = Field(default=22, ge=1, le=65535)
    """TCP port of sshd."""
    key: str = "id_ed25519"
    """The controller's private key; relative to the site file."""
    known_hosts: str = "known_hosts"
    """Pinned host keys; relative to the site file."""
    jump: Jump | None = None
    """Where the controller cannot reach the nodes itself: the machine that can."""


class Time(Model):
    """Time service."""

    servers: list[str] = []
    """NTP servers; where there are none, the mon nodes (without ceph: the masters) serve the others from their own clocks."""
    max_skew_ms: Real = Field(default=50.0, gt=0)
    """Largest clock difference between two nodes, milliseconds (ceph warns above 50)."""


class Packages(Model):
    """Where nodes get packages."""

    proxy: str | None = None
    """HTTP proxy for the nodes' package manager, e.g. http://10.0.0.5:3142."""
    internet_proxy: str | None = None
    """HTTP proxy for docker's pulls from outside the site and for `avadm artifacts build`, e.g. http://10.0.0.5:3128."""
    no_proxy: list[str] = []
    """Names, domains (.example.org) and addresses outside the site's own that are reached without `internet_proxy`."""
    sources: list[str] | None = None
    """Lines of sources.list that replace the nodes' own; untouched where absent."""
    keys: dict[NodeName, str] = {}
    """Name to public key (-----BEGIN PGP PUBLIC KEY BLOCK----- …) by which a source signs, besides those the nodes trust."""


class Device(Model):
    """One approved block device: named by serial, WWN or by-id path, never by /dev/sdX."""

    serial: str | None = None
    """Serial number as lsblk or udev shows it."""
    wwn: str | None = None
    """World-wide name."""
    by_id: str | None = Field(default=None, pattern=r"^/dev/disk/by-id/[^/]+$")
    """Path under /dev/disk/by-id."""
    use: Literal["osd"] = "osd"
    """What the device becomes."""
    device_class: Literal["ssd", "hdd", "nvme"] = "ssd"
    """CRUSH device class."""


class Gpus(Model):
    """The GPUs of a machine, all of one model."""

    count: Whole = Field(ge=1, le=16)
    """How many there are."""
    model: str = Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")
    """Model, a label of Kubernetes nodes, e.g. tesla-v100."""
    slots: Whole = Field(default=1, ge=1, le=64)
    """How many pods may share each of them; 1: whole. Nothing separates them inside a card (docs/explanation/kubernetes.md)."""


class Node(Model):
    """One machine."""

    name: NodeName
    """Host name, a DNS label."""
    address: Address
    """Address on the management subnet."""
    storage_address: Address | None = None
    """Address on the storage network, where there is one."""
    roles: list[RoleName] = []
    """What the node runs."""
    rack: str = "rack1"
    """Failure domain above the host."""
    devices: list[Device] = []
    """Block devices approved for use; everything else is left alone."""
    gpus: Gpus | None = None
    """Its GPUs, where it has the role gpu."""
    local_volumes_gib: Whole | None = Field(default=None, ge=1, le=1 << 20)
    """What pods' volumes on the node's own disk (/var/lib/avadm/local) may take together, GiB; none where absent."""
    host_key: str | None = None
    """Public ssh host key ("TYPE BASE64"), pinned without asking at bootstrap."""
    vars: dict[str, Any] = {}
    """Ansible variables of this node, merged last."""


class Hardware(Model):
    """The least that a machine with a role has; a node with several roles has the largest of each."""

    cores: Whole | None = Field(default=None, ge=1)
    """Processors as the kernel counts them."""
    memory_gib: Real | None = Field(default=None, gt=0)
    """Memory, GiB."""
    memory_gib_per_device: Real | None = Field(default=None, gt=0)
    """Memory for each approved device, GiB."""
    disks_gib: list[Annotated[Whole, Field(ge=1)]] = []
    """Sizes of the disks besides the approved devices, GiB as sold."""
    ssd: bool | None = None
    """Whether only solid-state disks count, both of these and of the approved devices."""
    devices: Whole | None = Field(default=None, ge=1)
    """Approved devices."""
    device_gib: Whole | None = Field(default=None, ge=1)
    """Size of each approved device, GiB as sold."""
    nic_gbit: Real | None = Field(default=None, gt=0)
    """Speed of the links on both networks, Gbit/s."""
    nics: Whole | None = Field(default=None, ge=1)
    """Network interfaces (of hardware, linked or not) that are as fast as nic_gbit where that is stated."""


class Waiver(Model):
    """A finding of preflight or the doctor that the site lives with for a while: shown, but it stops nothing."""

    check: ScopedCheck
    """Check whose findings are waived: of preflight `kernel` or `preflight:kernel`, of the doctor `doctor:gpu-uvm`."""
    nodes: list[str] = Field(min_length=1)
    """Names, patterns (`stor*`) or roles; `all` for every node and for findings about no single one."""
    who: Words
    """Who answers for it."""
    why: Words
    """Reason."""
    until: date
    """Last day on which it holds, YYYY-MM-DD; after it the waiver itself is an error."""

    @property
    def scope(self) -> str:
        """The verb whose findings it waives: preflight or doctor."""
        return self.check.rpartition(":")[0] or "preflight"

    @property
    def check_id(self) -> str:
        """The check's id without its scope."""
        return self.check.rpartition(":")[2]


class Site(Model):
    """A whole site file."""

    version: Literal[1] = 1
    """Version of this format."""
    name: NodeName
    """Name of the site."""
    profile: str = "stated"
    """Version profile: a name from `avadm site show --profiles`, or the path of a file of your own, relative to this one."""
    component_profiles: dict[str, str] = {}
    """Component to its profile, where `avadm upgrade` has brought it to another one than `profile`."""
    network: Network
    """Address plan."""
    ssh: Ssh = Ssh()
    """Access to the nodes."""
    boot: Boot = Boot()
    """Kernel arguments and reboots."""
    time: Time = Time()
    """Time service."""
    packages: Packages = Packages()
    """Package sources."""
    nodes: list[Node] = Field(min_length=1, max_length=256)
    """The machines, at most 256."""
    hardware: dict[HardwareRole, Hardware] = {}
    """Role to the least that its machines have, before the profile's figures; cpu is a worker without GPUs."""
    waivers: list[Waiver] = []
    """Findings of preflight and the doctor that are waived."""
    components: Components = Components()
    """Knobs of the components."""
    extra_vars: dict[str, Any] = {}
    """Ansible variables for all nodes, merged last."""

    def with_role(self, role: str) -> list[Node]:
        """Return the nodes that have a role, in the file's order."""
        return [n for n in self.nodes if role in n.roles]

    def node(self, name: str) -> Node:
        """Return the node of that name; KeyError where there is none."""
        for n in self.nodes:
            if n.name == name:
                return n
        raise KeyError(name)
