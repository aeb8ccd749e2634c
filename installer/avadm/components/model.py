"""What a component is: all that others must know of it, in one place.

A component is what one playbook installs. It has one module here, which says where it runs, on which ports it listens
and who may come there, how its version is asked for, which certificates it needs, where its files are and what the
doctor asks of it. Packages that look at all components (preflight, versions check, doctor, PKI, packet filter, docs) read
these and know no component by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Literal

from avadm.pki.model import Leaf
from avadm.site.model import Node, Site

EVERYWHERE = ""
"""The duty of every node."""


class Peer(StrEnum):
    """Who may come to a port, apart from the node itself; beside these a duty stands for the nodes that have it."""

    ALL = "all"
    """Any peer that reaches the node: pods, other nodes, others."""
    PODS = "pods"
    """Pods of any node."""
    NODES = "nodes"
    """Every node of the site."""
    OUTSIDE = "outside"
    """Peers that are neither nodes of the site nor pods: people, the controller, other systems."""
    SWITCHES = "switches"
    """Switches and routers that `network.bgp` names."""


class At(StrEnum):
    """At which address a port is listened on."""

    NODE = "node"
    """The node's own; a program that listens on all of them counts as this."""
    VIRTUAL = "virtual"
    """A virtual address that the component's nodes hold together."""
    BOTH = "node and virtual"
    LOOPBACK = "loopback"
    """127.0.0.1: no other machine comes there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A TCP or UDP port on which a component listens.

    Attributes:
        number: the port, or how it follows from the site file (None there: not on this site).
        usual: of a port that follows from the site file, the one that it is unless the file says otherwise.
        key: where the site file sets its number; empty where it does not.
        last: the last port of a range; 0 for a single one.
        duty: nodes with this duty listen; every node where empty.
        program: what listens, as its package calls it; several are separated by " or ".
        what: what is served, for people.
        at: at which address.
        peers: who may come: `Peer`s, and duties whose nodes may; no one but the node itself where empty.
        protocol: tcp or udp.
        tls: whether it speaks TLS alone.
        who: whom it answers, for people: what the port itself asks for, whatever the allowed peers.
        always: whether something must listen there as soon as the component is installed (the doctor asks).
        taken: whether preflight refuses a node on which another program has it.
    """

    number: int | Callable[[Site], int | None]
    program: str
    what: str
    duty: str = EVERYWHERE
    usual: int = 0
    key: tuple[str, ...] = ()
    last: int = 0
    at: At = At.NODE
    peers: tuple[str, ...] = ()
    protocol: Literal["tcp", "udp"] = "tcp"
    tls: bool = False
    who: str = ""
    always: bool = False
    taken: bool = True

    def of(self, site: Site) -> int | None:
        """Return the port's number on a site; None where it is not used there."""
        return self.number(site) if callable(self.number) else self.number


@dataclass(frozen=True, slots=True)
class Program:
    """A program whose version is asked for on a node (I7).

    Attributes:
        name: as the profile's versions and the report call it.
        duties: nodes with one of these duties run it; every node where empty.
        command: prints the version of what runs; empty where `metrics` tells it.
        metrics: port of its metrics page, where `NAME_build_info` tells the version; 0 where `command` does.
    """

    name: str
    duties: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    metrics: int = 0


@dataclass(frozen=True, slots=True)
class Probe:
    """One part of the doctor's probe.

    Attributes:
        name: function of that name in the probe's files.
        duties: nodes with one of these duties are asked; every node where empty.
        seconds: after which it is given up.
        witnesses: how many of those nodes are asked, where all would say the same; 0 for all.
    """

    name: str
    duties: tuple[str, ...] = ()
    seconds: int = 40
    witnesses: int = 0


@dataclass(frozen=True, slots=True)
class Packages:
    """Ansible roles whose packages (of the profile) a node with a duty needs.

    Attributes:
        base: installed by the base phase in its one transaction.
        late: left to their role: they start a daemon at once, which must find its configuration, or are pinned before.
    """

    base: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceph:
    """What the versions check asks of ceph after a component's phase.

    Attributes:
        daemons: kinds that must run on the nodes of that role.
        nodes: roles whose nodes have ceph's packages.
        kinds: daemons and clients that the phase installs, and so can fix, as their sockets are called.
    """

    daemons: tuple[str, ...] = ()
    nodes: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Phase:
    """One playbook and where it belongs.

    Attributes:
        name: what a user types.
        title: what it does, for people.
        playbook: path relative to the checkout.
        needs: phases that must be done before.
        groups: node roles whose nodes take part; empty means every node.
        roles: Ansible roles of the playbook in order; their files are part of the phase's digest.
        borrows: roles that those of the playbook import, whole or a file of tasks; their files are part of the digest too,
            their variables are not.
        makes: key of components.ceph that the phase makes or serves; without a value no node takes part.
        component: key of components that the phase installs; where the site file has none no node takes part.
        only_with: role in the site file; without a node that has it no node takes part.
        chooses: returns the nodes that take part, where roles alone do not say it; ``groups`` are those of the playbook.
        artifacts: names in artifacts/manifest.yml, or of agents of avadm_node (node_archives.py), of what the phase installs
            from the cache.
        optional: further ones, of which the phase installs those that ``wants`` returns.
        wants: returns which of ``optional`` a site file asks for.
        apart: whether each node is done by itself: where some are proven unchanged only the others run. Not where nodes found,
            or roll through, a cluster together.
        of_some: variables of all nodes that are an input of those with a role alone, each with that role.
        peer_inputs: variables that describe the other nodes. Where nothing else has changed on a node it is updated without the
            playbook (engine/peers.py).
    """

    name: str
    title: str
    playbook: str
    needs: tuple[str, ...]
    groups: tuple[str, ...]
    roles: tuple[str, ...]
    borrows: tuple[str, ...] = ()
    makes: str = ""
    component: str = ""
    only_with: str = ""
    chooses: Callable[[Site], Sequence[Node]] | None = None
    artifacts: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    wants: Callable[[Site], Sequence[str]] | None = None
    apart: bool = False
    of_some: Mapping[str, str] = field(default_factory=dict)
    peer_inputs: tuple[str, ...] = ()

    def installs(self, site: Site) -> tuple[str, ...]:
        """Return the artifacts that are installed on a site."""
        wanted = self.wants(site) if self.wants else ()
        return (*self.artifacts, *(name for name in self.optional if name in wanted))

    def hosts(self, site: Site) -> tuple[str, ...]:
        """Return the names of the nodes that take part, in the site file's order."""
        if self.makes and not getattr(site.components.ceph, self.makes):
            return ()
        if self.component and getattr(site.components, self.component) is None:
            return ()
        if self.only_with and not site.with_role(self.only_with):
            return ()
        if self.chooses:
            return tuple(n.name for n in self.chooses(site))
        return tuple(n.name for n in site.nodes if not self.groups or set(self.groups) & set(n.roles))


@dataclass(frozen=True, slots=True)
class Virtual:
    """An address that one of a component's nodes holds at a time.

    Attributes:
        duty: the nodes that hold it together.
        key: where the site file has it.
    """

    duty: str
    key: tuple[str, ...]

    def written(self, site: Site) -> IPv4Address | None:
        """Return the address that the site file has."""
        found: object = site
        for name in self.key:
            found = getattr(found, name, None)
        return found if isinstance(found, IPv4Address) else None

    def address(self, site: Site) -> IPv4Address | None:
        """Return the address that is held; None on a site without it or without such nodes."""
        return self.written(site) if site.with_role(self.duty) else None


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """What each node of a role bootstraps once, and what is never bootstrapped again after a loss.

    Attributes:
        mark: name of its mark.
        group: role of the nodes.
        role: Ansible role with the variables ``ROLE_bootstrapped`` and ``ROLE_replace``.
        alone: whether the phase has no other nodes, so that it was bootstrapped where the phase is done. Else a node on which
            it is done may have got the role later: that anything was bootstrapped is all that is known.
    """

    mark: str
    group: str
    role: str
    alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgradable:
    """A program that `avadm upgrade` brings to the version of another profile, one node after another.

    Attributes:
        name: as the profile's versions and ``Program`` call it.
        role: the Ansible role that installs it; it has a variable ``ROLE_upgrade`` unless the component has steps of its own.
        duty: the nodes that run it.
        with_programs: further programs, as the profile's versions call them, that change with it.
        with_roles: further Ansible roles whose packages change with it.
        packages: program to patterns of its packages; all packages of the roles are the component's own where empty.
        with_phases: further phases that install it, of which those run in which a node takes part.
        crosses: programs of which upstream supports a step to another major release.
        adjacent: whether upstream supports no step but to the next minor release; else any within a major one.
        rollback: whether upstream supports the former version on the data of the new one.
        final: programs of which upstream knows no way back, where the rest has one.
        interrupts: what users notice where one node alone runs it, and seconds of that.
        together: likewise where several do; nothing where empty.
    """

    name: str
    role: str
    duty: str
    with_programs: tuple[str, ...] = ()
    with_roles: tuple[str, ...] = ()
    packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    with_phases: tuple[str, ...] = ()
    crosses: tuple[str, ...] = ()
    adjacent: bool = False
    rollback: bool = False
    final: tuple[str, ...] = ()
    interrupts: tuple[str, float] = ("", 0.0)
    together: tuple[str, float] = ("", 0.0)

    @property
    def programs(self) -> tuple[str, ...]:
        """All its programs, as the profile's versions call them."""
        return (self.name, *self.with_programs)

    @property
    def roles(self) -> tuple[str, ...]:
        """All Ansible roles whose packages are its own."""
        return (self.role, *self.with_roles)


class Stage(StrEnum):
    """When daemons are stopped where a whole site is, in this order; they are started in the reverse one."""

    JOBS = "timers"
    ENTRANCES = "ingress and load balancer"
    KUBELETS = "kubelets"
    CONTROL = "Kubernetes' control plane"
    DATABASE = "PostgreSQL"
    REGISTRY = "image registry"
    CACHE_MOUNTS = "mounts of the cache"
    CACHE = "cache"
    GATEWAYS = "S3 gateways"
    CLIENTS = "mounts of cephfs, and mapped images"
    METADATA = "metadata servers"
    OSDS = "OSDs"
    MANAGERS = "managers"
    MONITORS = "monitors"
    NETWORK = "network of pods"
    ETCD = "etcd"
    WATCH = "metrics, alerts and logs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """Units of systemd that are stopped and started with a whole site.

    Attributes:
        stage: when.
        units: names with their kind, or patterns of them: ``ceph-osd@*.service``.
        duties: nodes with one of these duties run them.
        ends: units that are not stopped but waited for: jobs that end by themselves, and would be cut off in the middle.
    """

    stage: Stage
    units: tuple[str, ...]
    duties: tuple[str, ...]
    ends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """What one playbook installs.

    Attributes:
        phase: its playbook, after what it comes and where it belongs.
        duties: further duties of nodes beside the site file's roles, and how they follow from the site.
        packages: duty to the packages that it brings.
        ports: where it listens.
        programs: what runs, and how its version is asked for.
        ceph: what of ceph it brings.
        leaves: its certificates.
        certificates: patterns of files with certificates that it writes on nodes.
        configurations: patterns of its configuration's files, for a support bundle; none with secrets.
        questions: what the doctor asks of it.
        virtual: its virtual address.
        bootstrap: what must be bootstrapped once only.
        upgrades: its programs that `avadm upgrade` knows.
        daemons: its units that are stopped and started with a whole site (`avadm power`); those of the machine stay.
    """

    phase: Phase
    duties: Mapping[str, Callable[[Site], Sequence[Node]]] = field(default_factory=dict)
    packages: Mapping[str, Packages] = field(default_factory=dict)
    ports: tuple[Port, ...] = ()
    programs: tuple[Program, ...] = ()
    ceph: Ceph = Ceph()
    leaves: Callable[[Site], Iterable[Leaf]] | None = None
    certificates: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    questions: tuple[Probe, ...] = ()
    virtual: Virtual | None = None
    bootstrap: Bootstrap | None = None
    upgrades: tuple[Upgradable, ...] = ()
    daemons: tuple[Daemon, ...] = ()

    @property
    def name(self) -> str:
        """The phase's name."""
        return self.phase.name
