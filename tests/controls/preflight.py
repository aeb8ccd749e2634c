"""Faults that turn preflight checks red: in what a node answers, seen by the real judges, or in a simulated host.

``ANSWERS`` change what stor2, one of three good nodes, would answer. ``HOSTS`` are made in a running simulated host
(tests/room) and seen by the real probe over real ssh.
"""

from dataclasses import dataclass, replace

from tests.controls.control import Control


@dataclass(frozen=True)
class Fault:
    """A fault in a node's answer.

    Attributes:
        check: the check that must find it.
        text: what is planted, in words.
        result: ``error`` or ``warning``.
        says: words of the finding.
        plant: puts it into the context of three good nodes.
        hosts: the nodes that the findings name.
        besides: other checks that rightly see it too.
    """

    check: str
    text: str
    result: str
    says: str
    plant: object
    hosts: tuple = ("stor2",)
    besides: tuple = ()


@dataclass(frozen=True)
class HostFault:
    """A fault in a simulated host.

    Attributes:
        check: the check that must find it.
        text: what is planted, in words.
        result: ``error`` or ``warning``.
        says: words of the finding.
        plant: shell command that plants it; $CONFIG is the host's sshd_config.
        undo: shell command that takes it away.
        on: the host, or None for beside them, on the switch.
        host: the node that the finding names.
        besides: other nodes that a finding rightly names too.
    """

    check: str
    text: str
    result: str
    says: str
    plant: str
    undo: str
    on: str | None = "cpu004"
    host: str | None = "cpu004"
    besides: tuple = ()


def _facts(change):
    return lambda context: change(context.facts["stor2"])


def _fact(fact, /, **values):
    return _facts(lambda f: f[fact].update(values))


def _set(**values):
    return _facts(lambda f: f.update(values))


def _device(**values):
    return _facts(lambda f: f["devices"][0].update(values))


def _nic(**values):
    return _facts(lambda f: f["nics"]["10.0.0.2"].update(values))


def _pairs(**values):
    """Change what is measured on every way to or from stor2."""

    def plant(context):
        for name, facts in context.facts.items():
            for fact in facts["peers"]:
                if "stor2" in (name, fact["name"]):
                    fact.update(values)

    return plant


def _own_pairs(**values):
    return _facts(lambda f: [p.update(values) for p in f["peers"]])


def _gone(context):
    del context.facts["stor2"]
    context.unreachable["stor2"] = "connection refused: nothing listens on stor2"


def _clock(offset, error):
    return lambda context: context.clocks.update(
        stor2=replace(context.clocks["stor2"], offset_ms=offset, error_ms=error)
    )


def _swapping(used):
    def plant(context):
        context.site.node("stor2").roles.append("worker")
        facts = context.facts["stor2"]
        facts["swap"] = [{"name": "/swapfile", "mib": 16384, "used_mib": used}]
        facts["memory"]["available_mib"] = 1024

    return plant


def _booted(role, **values):
    def plant(context):
        context.site.node("stor2").roles.append(role)
        context.facts["stor2"]["boot"].update(values)

    return plant


UUID = "0f2b6d3c--9a41--4b0e--8a77--5d1c9e0f4a2b"
VOLUME = f"ceph--{UUID}-osd--block--{UUID}"
MIRROR = "http://deb.example/dists/bookworm/InRelease"

ANSWERS = (
    Fault("reachability", "sshd stopped", "error", "connection refused", _gone),
    Fault(
        "os",
        "Ubuntu 16.04 among Debian 12",
        "error",
        "Ubuntu",
        _fact("os", id="ubuntu", release="16.04", name="Ubuntu 16.04"),
    ),
    Fault(
        "os", "Debian 11 among Debian 12", "error", "Debian 11", _fact("os", release="11", name="Debian 11")
    ),
    Fault("kernel", "an older kernel than the others", "error", "5.10", _fact("os", kernel="5.10.0")),
    Fault("boot", "cgroup v2 only on a worker", "error", "cgroup v2 only", _booted("worker", controllers=[])),
    Fault("boot", "nouveau on a node with GPUs", "error", "nouveau", _booted("gpu", nouveau=True)),
    Fault("names", "another host name", "error", "other", _set(hostname="other")),
    Fault(
        "names",
        "the site file's address on no interface",
        "error",
        "10.0.0.99",
        _set(addresses=["127.0.0.1", "10.0.0.99"]),
    ),
    Fault(
        "identity",
        "a cloned machine-id",
        "error",
        "machine-id",
        _set(machine_id=f"{1:032x}"),
        ("stor1", "stor2"),
    ),
    Fault(
        "identity", "a cloned MAC address", "error", "MAC", _nic(mac="02:00:00:00:00:01"), ("stor1", "stor2")
    ),
    Fault("identity", "no machine-id", "error", "no machine-id", _set(machine_id="")),
    Fault(
        "hosts",
        "/etc/hosts sends a node elsewhere",
        "warning",
        "10.9.9.9",
        _fact("hosts", **{"stor1.t.example": ["10.9.9.9"]}),
    ),
    Fault(
        "resolution",
        "DNS sends the node's name elsewhere",
        "warning",
        "10.9.9.9",
        _fact("resolution", **{"stor2.t.example": {"answer": ["10.9.9.9"], "seconds": 0.1}}),
    ),
    Fault(
        "resolution",
        "DNS gives the address another name",
        "warning",
        "other.example",
        _fact("resolution", **{"10.0.0.2": {"answer": ["other.example"], "seconds": 0.1}}),
    ),
    Fault(
        "resolution",
        "a dead DNS server",
        "warning",
        "10.0 s",
        _fact("resolution", stor2={"answer": [], "seconds": 10.0}),
    ),
    Fault("clocks", "clock 200 ms ahead", "error", "+200 ms", _clock(205.0, 5.0)),
    Fault("clocks", "clock 200 ms behind", "error", "-200 ms", _clock(-195.0, 5.0)),
    Fault("clocks", "an answer too late to tell", "warning", "cannot be checked", _clock(5.0, 80.0)),
    Fault(
        "time-sources",
        "a time server that does not answer",
        "error",
        "no answer",
        _fact("time_sources", **{"ntp1.example": "no answer"}),
    ),
    Fault("nics", "another netmask", "error", "/16", _nic(prefix=16)),
    Fault("nics", "half duplex", "error", "half", _nic(duplex="half")),
    Fault("nics", "MTU 9000 among 1500", "error", "9000", _nic(mtu=9000)),
    Fault("nics", "1 Gbit/s among 10", "warning", "1 Gbit/s", _nic(speed=1000)),
    Fault("latency", "20 ms on each way of a node", "error", "20.00 ms", _pairs(ms=[20.0] * 10)),
    Fault(
        "latency",
        "1 ms on each way of a node, where 0.1 is usual",
        "warning",
        "2 of its 2 pairs",
        _pairs(ms=[1.0] * 10),
    ),
    Fault("latency", "half of the packets lost", "error", "50% lost", _pairs(ms=[0.1] * 5)),
    Fault("latency", "one packet of ten lost", "warning", "10% lost", _pairs(ms=[0.1] * 9)),
    Fault("path-mtu", "full frames vanish on the way", "error", "do not pass", _pairs(full="lost")),
    Fault(
        "path-mtu",
        "own interface smaller than asked for",
        "error",
        "9000 bytes",
        _own_pairs(full="own-mtu", size=9000),
    ),
    Fault(
        "path-mtu",
        "a firewall that drops ICMP",
        "warning",
        "cannot be checked",
        _pairs(full="unknown", by="tcp"),
    ),
    Fault("hardware", "too few processors", "error", "at least 36", _set(cpus=8)),
    Fault("hardware", "too little memory", "error", "at least 48 GiB", _fact("memory", total_mib=32 * 1024)),
    Fault(
        "hardware",
        "no disk of the size asked for",
        "error",
        "120 GiB",
        _set(drives=[{"name": "sda", "gib": 120, "rotational": False}]),
    ),
    Fault("hardware", "a device smaller than asked for", "error", "/dev/sdb 900 GiB", _device(gib=900)),
    Fault(
        "hardware",
        "a spinning system disk",
        "error",
        "solid-state disks besides",
        _set(drives=[{"name": "sda", "gib": 240, "rotational": True}]),
    ),
    Fault(
        "hardware",
        "a spinning disk among solid-state ones",
        "error",
        "/dev/sdb spin",
        _device(rotational=True),
        besides=("disks",),
    ),
    Fault(
        "hardware",
        "one interface too few",
        "error",
        "at least 2",
        _set(links=[{"name": "eth0", "speed": 10000}]),
    ),
    Fault(
        "hardware",
        "three MDS nodes where the specification knows 1 or 5",
        "warning",
        "3: stor1, stor2, stor3",
        lambda context: context.profile.counts.update(mds=[1, 5]),
        (None,),
    ),
    Fault("disks", "approved device pulled", "error", "not there", _set(devices=[{"matches": 0}])),
    Fault("disks", "two devices of one serial number", "error", "several", _set(devices=[{"matches": 2}])),
    Fault("disks", "a partition approved", "error", "partition", _device(whole=False)),
    Fault("disks", "mounted", "error", "mounted on /data", _device(used=["/data"])),
    Fault("disks", "used as swap", "error", "swap", _device(used=["swap"])),
    Fault("disks", "RAID member", "error", "held by md0", _device(holders=["md0"])),
    Fault("disks", "partitioned", "error", "partition sdb1", _device(partitions=["sdb1"])),
    Fault("disks", "a file system on it", "error", "signature ext4", _device(signature=["ext4"])),
    Fault(
        "disks",
        "an OSD's device mounted",
        "error",
        "mounted",
        _device(signature=["ceph_bluestore"], used=["/data"]),
    ),
    Fault(
        "disks",
        "a volume group that is not ours",
        "error",
        "held by vg-data",
        _device(signature=["LVM2_member"], holders=["vg-data"]),
    ),
    Fault(
        "disks",
        "ours and another volume on one device",
        "error",
        "held by vg-data",
        _device(signature=["LVM2_member"], holders=[VOLUME, "vg-data"]),
    ),
    Fault(
        "disks",
        "a physical volume without group",
        "error",
        "signature LVM2_member",
        _device(signature=["LVM2_member"]),
    ),
    Fault(
        "disks",
        "data far behind a blank start",
        "error",
        "has data at byte 7",
        lambda context: context.facts["stor2"]["proof"][0].update(reasons=["has data at byte 7"]),
    ),
    Fault(
        "disks",
        "a spinning disk approved as SSD",
        "warning",
        "spinning",
        _device(rotational=True),
        besides=("hardware",),
    ),
    Fault(
        "package-sources",
        "a mirror that refuses",
        "error",
        "refused",
        _fact("package_sources", **{MIRROR: "connection refused"}),
    ),
    Fault(
        "registries",
        "a registry with a certificate of another authority",
        "error",
        "certificate verify failed",
        _fact("registries", **{"images.example:5000": "certificate verify failed"}),
    ),
    Fault(
        "packages",
        "a package in no source",
        "error",
        "chrony",
        _facts(lambda f: f["packages"]["candidates"].update(chrony=None)),
    ),
    Fault(
        "packages",
        "a newer ceph than the profile's",
        "error",
        "18.2",
        _facts(lambda f: f["packages"]["candidates"].update({"ceph-common": "18.2.7-1"})),
    ),
    Fault(
        "memory",
        "less memory than the services want",
        "warning",
        "MiB",
        _fact("memory", total_mib=4096),
        besides=("hardware",),
    ),
    Fault("swap", "a worker with swap space", "warning", "/swapfile", _swapping(0)),
    Fault("swap", "more swapped out than memory can take", "error", "8192 MiB used", _swapping(8192)),
    Fault("space", "a full /tmp", "error", "/tmp", _fact("space", **{"/tmp": 3})),
    Fault("space", "little room for a monitor", "warning", "/var/lib", _fact("space", **{"/var/lib": 2000})),
    Fault(
        "ports",
        "a web server on a monitor's port",
        "error",
        "nginx",
        _fact("listening", **{"6789": ["nginx"]}),
    ),
    Fault(
        "ports",
        "a listener that cannot be seen",
        "error",
        "cannot be seen",
        _fact("listening", **{"9100": []}),
    ),
    Fault(
        "packet-filter",
        "a table of nftables that has our name",
        "error",
        "ip avadm",
        _fact("filters", tables=["ip avadm"]),
    ),
    Fault("packet-filter", "ufw is enabled", "warning", "ufw", _fact("filters", others=["ufw"])),
)

SOURCE = "/etc/apt/sources.list"
HOSTS = (
    HostFault(
        "reachability",
        "the controller's key is taken away",
        "error",
        "authentication failed",
        "mount --bind /dev/null $(sed -n 's/^AuthorizedKeysFile //p' $CONFIG)",
        "umount $(sed -n 's/^AuthorizedKeysFile //p' $CONFIG)",
    ),
    HostFault(
        "os",
        "Debian 11 in /etc/os-release",
        "error",
        "Debian 11",
        "sed -i.was 's/12/11/' /etc/os-release",
        "mv /etc/os-release.was /etc/os-release",
    ),
    HostFault("names", "another host name", "error", "other", "hostname other", "hostname cpu004"),
    HostFault(
        "identity",
        "a cloned machine-id",
        "error",
        "same machine-id",
        "sed -i.was 's/4$/3/' /etc/machine-id",
        "mv /etc/machine-id.was /etc/machine-id",
        besides=("cpu003",),
    ),
    HostFault(
        "hosts",
        "/etc/hosts sends another node elsewhere",
        "warning",
        "10.9.9.9",
        "cp /etc/hosts /etc/hosts.was; echo 10.9.9.9 mon000 >> /etc/hosts",
        "mv /etc/hosts.was /etc/hosts",
    ),
    HostFault(
        "resolution",
        "its own name leads elsewhere",
        "warning",
        "10.9.9.9",
        "sed -i.was 's/^127.0.1.1/10.9.9.9/' /etc/hosts",
        "mv /etc/hosts.was /etc/hosts",
    ),
    HostFault(
        "clocks",
        "clock 2 s ahead (another `date`: all hosts have one kernel's clock)",
        "error",
        "differs from the others' by too much",
        'cp /bin/date /run/date; printf \'#!/bin/sh\\nexec /run/date -d "+2 seconds" "$@"\\n\' > /run/ahead; '
        "chmod 755 /run/ahead; mount --bind /run/ahead $(readlink -f /bin/date)",
        "umount $(readlink -f /bin/date)",
    ),
    HostFault(
        "time-sources",
        "no way to the time server",
        "error",
        "no answer",
        "ip neigh replace 10.88.0.2 lladdr 02:ff:ff:ff:ff:ff dev eth0 nud permanent",
        "ip neigh del 10.88.0.2 dev eth0",
    ),
    HostFault("nics", "MTU 1400", "error", "1400", "ip link set eth0 mtu 1400", "ip link set eth0 mtu 1500"),
    HostFault(
        "latency",
        "a storage link of 64 kbit/s",
        "error",
        "too long",
        "tc qdisc add dev eth1 root tbf rate 64kbit burst 200 latency 5000ms",
        "tc qdisc del dev eth1 root",
    ),
    HostFault(
        "latency",
        "a storage link that drops what it cannot send at once",
        "error",
        "are lost",
        "tc qdisc add dev eth1 root tbf rate 8kbit burst 200 limit 200",
        "tc qdisc del dev eth1 root",
    ),
    HostFault(
        "path-mtu",
        "a switch port without jumbo frames",
        "error",
        "do not pass",
        "ip link set v1.cpu004 mtu 1500",
        "ip link set v1.cpu004 mtu 9000",
        on=None,
    ),
    HostFault(
        "package-sources",
        "a mirror that refuses",
        "error",
        "refused",
        f"sed -i.was 's/10.88.0.1/10.88.0.1:81/' {SOURCE}",
        f"mv {SOURCE}.was {SOURCE}",
    ),
    HostFault(
        "packages",
        "a source without the packages",
        "error",
        "no candidate",
        f"sed -i.was 's#10.88.0.1#10.88.0.1/none#' {SOURCE}; mv /var/lib/apt/lists /var/lib/apt/lists.was; "
        "mkdir -p /var/lib/apt/lists/partial",
        f"mv {SOURCE}.was {SOURCE}; rm -r /var/lib/apt/lists; mv /var/lib/apt/lists.was /var/lib/apt/lists",
    ),
    HostFault(
        "memory",
        "200 MB of memory (planted in /proc/meminfo)",
        "warning",
        "195 MiB",
        "sed 's/^MemTotal:.*/MemTotal: 200000 kB/' /proc/meminfo > /run/meminfo; "
        "mount --bind /run/meminfo /proc/meminfo",
        "umount /proc/meminfo",
    ),
    HostFault(
        "space",
        "8 MiB in /var/lib",
        "error",
        "8 MiB free",
        "mount -t tmpfs -o size=8m tmpfs /var/lib",
        "umount /var/lib",
    ),
    HostFault(
        "ports",
        "a web server on node_exporter's port",
        "error",
        "python",
        "setsid python3 -m http.server 9100 >/dev/null 2>&1 & echo $! > /run/web; sleep 1",
        "kill $(cat /run/web)",
    ),
)


def _control(fault, where, test):
    name = f"{fault.check}: {fault.text}"
    return Control(name, fault.check, fault.text, f"{fault.result}: … {fault.says} …", where, test)


CONTROLS = (
    *(
        _control(
            f,
            "answers",
            "tests/unit/checks/test_preflight.py::test_planted_fault_is_found_by_its_check_alone",
        )
        for f in ANSWERS
    ),
    *(
        _control(f, "simulated host", "tests/lab/room/test_room.py::test_a_planted_fault_is_seen")
        for f in HOSTS
    ),
)
