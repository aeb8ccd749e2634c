"""What fault tests of Kubernetes share: the state that each starts from and leaves, and who has which part."""

import json
import time

from tests.lab.faults.drive import avadm, latest, reachable
from tests.lab.waiting import wait

PARTS = "docker|kube|calico|etcd|haproxy|keepalived|coredns|traefik|avadm-registry"


def healthy(kube, limit=300):
    """Wait until every node is ready, every member of etcd healthy, and calico-node ready; return the seconds."""
    begun = time.monotonic()
    for node in kube.lab.nodes:
        reachable(kube.lab, node["name"])
    left = max(limit - (time.monotonic() - begun), 1)
    assert wait(lambda: not trouble(kube), left), trouble(kube)
    return time.monotonic() - begun


def trouble(kube):
    """Return what is wrong with the cluster, in words; empty where nothing is."""
    lab, found = kube.lab, []
    asked = lab.run(kube.master, "kubectl --request-timeout=5s get nodes -o json")
    if asked.returncode:
        return f"the API of {kube.master}: {asked.stderr.strip()[-200:]}"
    ready = {n["metadata"]["name"]: _ready(n) for n in json.loads(asked.stdout)["items"]}
    found += [f"{n} is not ready" for n in kube.nodes() if not ready.get(n)]
    for node in lab.names("etcd"):
        if lab.run(node, "avadm-etcd health").returncode:
            found.append(f"etcd on {node}")
    for node in kube.nodes():
        if lab.run(
            node, "docker exec calico-node calico-node -felix-ready -bird-ready 2>/dev/null"
        ).returncode:
            found.append(f"calico-node on {node}")
    return ", ".join(found)


def _ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])


def holders(lab, address):
    """Return the masters that have the virtual address."""
    return [n for n in lab.names("master") if f" {address}/" in lab.run(n, "ip -4 -o addr").stdout]


def leader(kube, what):
    """Return the master on which a controller-manager or scheduler leads."""
    note = kube.get(f"endpoints {what} -n kube-system")["metadata"]["annotations"]
    who = json.loads(note["control-plane.alpha.kubernetes.io/leader"])["holderIdentity"]
    return who.partition("_")[0]


def etcd_leader(lab):
    """Return the node of etcd's leader."""
    for node in lab.names("etcd"):
        reply = json.loads(lab.sh(node, "avadm-etcd ctl endpoint status --write-out=json"))[0]["Status"]
        if reply["leader"] == reply["header"]["member_id"]:
            return node
    raise AssertionError("etcd has no leader")


def services(lab, node):
    """Return the units of Kubernetes that run on a node."""
    listed = lab.sh(node, "systemctl list-units --state=active --type=service --plain --no-legend")
    names = {line.split()[0] for line in listed.splitlines()}
    return {n for n in names if any(n.startswith(part) for part in PARTS.split("|"))}


def unchanged(phases=("etcd", "docker", "masters", "nodes", "addons")):
    """Assert that an apply that does all of these phases again changes nothing on any node."""
    done = avadm("apply", "--force", *phases, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((latest() / "summary.json").read_text())
    assert summary["hosts"]
    assert {h["changed"] for h in summary["hosts"].values()} == {0}, summary["changes"]
