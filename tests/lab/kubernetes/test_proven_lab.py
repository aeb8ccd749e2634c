"""What somebody sets by hand in etcd, the API, Calico and a node's alternatives is found by `avadm plan` and put right."""

import json

import pytest

from tests.lab.faults.drive import avadm

pytestmark = [pytest.mark.lab, pytest.mark.slow]

ROLE = "avadm:calico-kube-controllers"
HARM = {
    "etcd": (
        "etcd",
        "avadm-etcd ctl role grant-permission calico --prefix=true readwrite /registry/",
        "access etcd",
    ),
    "masters": ("master", f"kubectl delete clusterrolebinding {ROLE}", "objects /etc/kubernetes/rbac.yml"),
    "nodes": (
        "master",
        'avadm-calicoctl get ippool pods -o json | sed \'s/"natOutgoing": true/"natOutgoing": false/\''
        " | avadm-calicoctl replace -f -",
        "ippool pods",
    ),
}
LOOKS = {
    "etcd": ("avadm-etcd ctl role get calico", lambda output: "/registry/" not in output),
    "masters": (f"kubectl get clusterrolebinding {ROLE} -o name", lambda output: ROLE in output),
    "nodes": ("avadm-calicoctl get ippool pods -o json", lambda output: '"natOutgoing": true' in output),
}


def states():
    """Return the state and the reasons of each phase, as the plan has them."""
    done = avadm("plan", "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    return {p["name"]: (p["state"], json.dumps(p["hosts_state"])) for p in json.loads(done.stdout)["phases"]}


@pytest.mark.parametrize("phase", HARM)
def test_what_was_set_by_hand_is_drift_and_is_put_right(lab, kube, tried, phase):
    assert avadm("apply", phase, timeout=900).returncode == 0
    assert states()[phase][0] == "done"
    role, harm, item = HARM[phase]
    node, (look, right) = lab.names(role)[0], LOOKS[phase]
    lab.sh(node, harm)
    assert not right(lab.run(node, look).stdout), "the harm is done"
    tried(
        "the proof of what is done",
        f"{phase}: {item} set otherwise by hand",
        "`avadm plan` names it, apply fixes it",
    )
    state, why = states()[phase]
    assert state == "drift"
    assert item.split(" ", 1)[1] in why
    assert avadm("apply", phase, timeout=900).returncode == 0
    assert right(lab.sh(node, look))
    assert states()[phase][0] == "done"


def test_the_kind_of_iptables_is_kept(lab, kube):
    """Where a site names one: a package that chooses it again is found."""
    node = lab.names("worker")[-1]
    query = "update-alternatives --query iptables"
    before = lab.run(node, query)
    if before.returncode or "iptables-nft" not in before.stdout:
        pytest.skip("this release has one kind of iptables alone")
    assert "Status: manual" in before.stdout
    lab.sh(node, "update-alternatives --auto iptables")
    assert "alternative iptables" in states()["nodes"][1]
    assert avadm("apply", "nodes", "--limit", node, timeout=900).returncode == 0
    assert "Status: manual" in lab.sh(node, query)
    assert states()["nodes"][0] == "done"
