"""Labels and taints of nodes are set through a master, never by the node itself."""

from tests.unit.fakes.roles import given, tasks, value, variables


def test_kubelet_registers_without_labels_and_with_its_taints():
    args = variables("kube_node")["_kube_node_kubelet_args"]
    assert "node-labels" not in args
    assert args["register-with-taints"]


def test_they_are_set_on_a_master_that_this_run_has_not_lost():
    [task] = tasks("kube_node", "main", "avadm_kube_labels")
    assert "kubeconfig" not in task["avadm_kube_labels"]
    for hosts, wanted in ((["w1", "m2", "m1"], "m1"), (["w1", "m2"], "m2"), (["w1"], "m1")):
        have = given("kube_node") | {"groups": {"master": ["m1", "m2"]}, "ansible_play_hosts": hosts}
        assert value(task["delegate_to"], **have) == wanted
