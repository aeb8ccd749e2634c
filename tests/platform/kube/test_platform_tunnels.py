"""Addresses of IPIP tunnels, assigned by Calico itself from the pools that the role writes: no pod ever has one of them."""

import json
import os
import subprocess
import time
from ipaddress import ip_address, ip_network

import pytest

from avadm.components.nodes import variables as kube_nodes
from bench.control_plane import ETCD, free_port, ready
from tests.platform.built import built
from tests.unit.fakes import sites
from tests.unit.fakes.roles import program, tasks, value, variables

PODS, TUNNELS = ip_network("10.244.0.0/16"), ip_network("10.250.0.0/30")
Pools = program("../plugins/modules/avadm_calico_pool.py", "avadm_calico_pool").Pools
ADDRESSES = {"m1": 1, "w1": 20, "w2": 40, "w3": 41}
ROUTED = {"rack_prefix": 28, "ipip": "cross_subnet", "tunnels": str(TUNNELS)}


class Calico:
    """Calico's own programs over an etcd of this machine."""

    def __init__(self, folder, locks, port):
        self.folder, self.locks, self.etcd = folder, locks, f"http://127.0.0.1:{port}"
        self.env = {**os.environ, "DATASTORE_TYPE": "etcdv3", "ETCD_ENDPOINTS": self.etcd}

    def run(self, program, *argv, data=None, **env):
        return subprocess.run(
            [self.folder / program, *argv],
            env=self.env | env,
            input=data,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def ctl(self, argv, data):
        """Run calicoctl as the role's module does."""
        done = self.run("calicoctl", "--allow-version-mismatch", *argv[1:], data=data)
        return done.returncode, done.stdout, done.stderr

    def apply(self, kind, name, spec):
        one = {"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": {"name": name}, "spec": spec}
        assert self.ctl(["", "apply", "-f", "-"], json.dumps(one))[0] == 0

    def tunnels(self):
        """Have each node look after its tunnel's address, as calico-node does at its start and at each change of a pool."""
        for name in ADDRESSES:
            argv = ("-allocate-tunnel-addrs", "-allocate-tunnel-addrs-run-once")
            done = self.run("calico-node", *argv, NODENAME=name)
            assert done.returncode == 0, done.stdout + done.stderr
        nodes = json.loads(self.ctl(["", "get", "nodes", "-o", "json"], None)[1])["items"]
        return {n["metadata"]["name"]: ip_address(n["spec"]["bgp"]["ipv4IPIPTunnelAddr"]) for n in nodes}

    def pod(self, node, number):
        """Return the address that the CNI plug-in assigns to a pod."""
        asked = {"name": "n", "cniVersion": "0.3.1", "type": "calico", "ipam": {"type": "calico-ipam"}}
        asked |= {"nodename": node, "datastore_type": "etcdv3", "etcd_endpoints": self.etcd}
        asked |= {"ipam_lock_file": str(self.locks / "ipam.lock")}
        env = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": f"{node}-{number}", "CNI_NETNS": "/proc/self/ns/net"}
        env |= {"CNI_IFNAME": "eth0", "CNI_PATH": str(self.folder), "CNI_NETNS_OVERRIDE": "true"}
        # One program, which goes by its name: on a node calico-ipam is a link to it.
        done = subprocess.run(
            ["calico-ipam"],
            executable=self.folder / "calico",
            env=self.env | env,
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return ip_address(json.loads(done.stdout)["ips"][0]["address"].partition("/")[0])


@pytest.fixture
def calico(tmp_path):
    if reason := ready():
        pytest.skip(reason)
    port, peer = free_port(), free_port()
    here = f"http://127.0.0.1:{port}"
    argv = [
        ETCD,
        "--data-dir",
        tmp_path / "etcd",
        "--listen-client-urls",
        here,
        "--advertise-client-urls",
        here,
    ]
    with (tmp_path / "etcd.log").open("wb") as log:
        etcd = subprocess.Popen(
            [*argv, "--listen-peer-urls", f"http://127.0.0.1:{peer}"], stdout=log, stderr=log
        )
        try:
            one = Calico(built("calico"), tmp_path, port)
            for _ in range(100):
                if one.ctl(["", "get", "ippool"], None)[0] == 0:
                    break
                time.sleep(0.2)
            for name, number in ADDRESSES.items():
                one.apply("Node", name, {"bgp": {"ipv4Address": f"10.0.0.{number}/28"}})
            yield one
        finally:
            etcd.kill()
            etcd.wait()


def pools(folder, **network):
    """Return name to pool in the order in which the role writes them on a site with this network."""
    site = sites.site(
        sites.node("m1", 1, "etcd", "master"),
        *(sites.node(n, a, "worker") for n, a in ADDRESSES.items() if n != "m1"),
        network={"pods": str(PODS), **network},
    )
    out = sites.render(site, kube_nodes, store=sites.issued(site, folder))
    have = variables("calico") | {k: v for k, v in out.all.items() if k.startswith("calico")}
    have["calico_controllers"] = True
    have = {k: value(v, **have) if "calico_pods_pool" in k else v for k, v in have.items()}
    return {
        value(task["avadm_calico_pool"]["name"], **have, item=item): value(
            task["avadm_calico_pool"]["spec"], **have, item=item
        )
        for task in tasks("calico", "main", "avadm_calico_pool")
        if value("{{ " + task["when"] + " }}", **have)
        for item in (value(task["loop"], **have) if "loop" in task else [""])
    }


def write(calico, found):
    for name, spec in found.items():
        Pools(calico.ctl, "").keep(name, spec)
    return [Pools(calico.ctl, "").keep(name, spec, dry=True) for name, spec in found.items()]


def test_tunnels_of_a_site_that_had_them_among_its_pods_move_apart_and_pods_never_follow(calico, tmp_path):
    mixed = {"cidr": str(PODS), "blockSize": 26, "ipipMode": "CrossSubnet", "natOutgoing": True}
    calico.apply("IPPool", "pods", mixed)
    assert all(one in PODS for one in calico.tunnels().values())
    assert write(calico, pools(tmp_path, **ROUTED)) == [[], []]
    moved = calico.tunnels()
    assert set(moved) == set(ADDRESSES)
    assert all(one in TUNNELS for one in moved.values()), "as many nodes as addresses: each has one"
    assert len(set(moved.values())) == len(ADDRESSES)
    assert calico.tunnels() == moved, "none moves again"
    given = {calico.pod(node, number) for node in ADDRESSES for number in range(3)}
    assert len(given) == 12
    assert all(one in PODS for one in given)


def test_a_site_in_one_segment_has_one_pool_and_no_tunnels(calico, tmp_path):
    found = pools(tmp_path)
    assert list(found) == ["pods"]
    assert write(calico, found) == [[]]


def test_a_second_network_of_pods_gives_addresses_when_the_first_has_none_left(calico, tmp_path):
    small = {"pods": "10.244.0.0/26", "more_pods": ["10.244.0.64/26"]}
    found = pools(tmp_path, **small)
    assert list(found) == ["pods", "pods-10-244-0-64-26"]
    assert write(calico, found) == [[], []]
    given = [calico.pod("m1", number) for number in range(70)]
    assert len(set(given)) == 70
    inside = [
        sum(one in ip_network(network) for one in given) for network in (small["pods"], *small["more_pods"])
    ]
    assert sum(inside) == 70
    assert min(inside) > 0
