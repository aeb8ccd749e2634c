"""Restarts of what runs come one after the other, each behind a gate of health; a first start waits for no one."""

import pytest
from ansible.module_utils import avadm_daemon as module
from ansible.module_utils.avadm_health import Health

from tests.unit.fakes.clock import Clock
from tests.unit.fakes.roles import ROLES, read, service, value, variables
from tests.unit.plugins.module_utils.test_avadm_daemon import Systemd, conf, daemon  # noqa: F401  a fixture

ROLLING = {
    "etcd": ["etcd"],
    "kube_apiserver": ["kube-apiserver"],
    "vip": ["haproxy", "keepalived"],
    "ceph_rgw": ["ceph-radosgw@rgw.{{ ceph_rgw_name }}"],
    "docker": ["{{ docker_service }}"],
}


def refuses():
    raise module.DaemonError("a peer does not serve")


@pytest.mark.usefixtures("conf")
@pytest.mark.parametrize(
    ("state", "expected_calls"),
    [({"active": "inactive"}, ["start"]), ({"age": -1000}, []), ({"active": "failed"}, ["start"])],
)
def test_what_does_not_run_or_needs_no_restart_asks_no_one(tmp_path, state, expected_calls):
    systemd = Systemd(**state)
    daemon(systemd, tmp_path, gate=refuses).ensure(["/etc/x.conf"], [])
    assert systemd.calls == expected_calls


@pytest.mark.usefixtures("conf")
@pytest.mark.parametrize(("restart", "reload"), [(["/etc/x.conf"], []), ([], ["/etc/x.conf"])])
def test_what_runs_is_not_interrupted_while_a_peer_is_bad(tmp_path, restart, reload):
    systemd = Systemd()
    with pytest.raises(module.DaemonError, match="does not serve"):
        daemon(systemd, tmp_path, gate=refuses).ensure(restart, reload)
    assert systemd.calls == []
    dry = daemon(systemd, tmp_path, gate=refuses, check_mode=True)
    assert dry.ensure(restart, reload)
    assert dry.actions == (["restart"] if restart else ["reload"])


def test_health_is_waited_for_and_reported_where_it_does_not_come():
    bad, clock = {"b": 2, "c": 99}, Clock()

    def run(argv, handle_exceptions=True):
        if argv[0] == "missing":
            raise OSError("no such file")
        bad[argv[1]] = left = bad.get(argv[1], 0) - 1
        return (1, "", "refused") if left >= 0 else (0, "", "")

    def wait(places, timeout):
        return Health(run, ["ask"]).awaited(places, timeout, clock.sleep, clock)

    assert wait(["a", "b"], 10) is None
    assert wait(["a", "c"], 10) == "`ask c`: refused"
    assert clock.now == 12
    assert Health(run, ["missing"]).trouble("a") == "`missing a`: no such file"


@pytest.mark.parametrize("role", ROLLING)
def test_a_rolling_service_goes_on_one_node_at_a_time_behind_the_health_of_others_or_its_own(role):
    for name in ROLLING[role]:
        given = service(role, name)
        assert int(value(given["rolling"], docker_restarts_at_once=1)) == 1
        assert given["health"]
        assert {"own", "peers"} & given.keys()
        # The plug-in asks who served before; a gate that is given by hand would be another one.
        assert not {"gate", "turn"} & given.keys()


def test_nothing_that_is_rolling_is_run_by_another_task_as_well():
    """A second task without a gate, as a list of paths in it may be, would restart it on all nodes at once."""
    for role, names in ROLLING.items():
        for path in (ROLES / role / "tasks").glob("*.yml"):
            for task in read(role, f"tasks/{path.name}"):
                assert task.get("avadm_daemon", {}).get("name") not in names


@pytest.mark.parametrize(("nodes", "wanted"), [(1, 1), (16, 1), (17, 2), (256, 16)])
def test_docker_is_restarted_on_a_sixteenth_of_the_nodes_at_once(nodes, wanted):
    text = variables("docker")["docker_restarts_at_once"]
    assert int(value(text, ansible_play_hosts_all=["n"] * nodes)) == wanted


def test_peers_are_the_other_servers():
    given = service("kube_apiserver", "kube-apiserver")
    have = {"kube_apiserver_peers": ["10.0.0.2", "10.0.0.3"], "kube_apiserver_port": 6443}
    peers = value(given["peers"], **have)
    assert peers == ["--server=https://10.0.0.2:6443", "--server=https://10.0.0.3:6443"]


def test_members_of_etcd_are_asked_at_each_ones_own_address():
    given, own = service("etcd", "etcd"), variables("etcd", "vars")
    have = own | {
        "etcd_address": "10.0.0.1",
        "etcd_members": {f"m{n}": f"https://10.0.0.{n}:2380" for n in (1, 2)},
    }
    assert value(given["peers"], **have) == ["https://10.0.0.2:2379"]
    assert value(given["own"], **have) == "https://10.0.0.1:2379"
    assert given["health"] == ["/usr/local/sbin/avadm-etcd", "health"]


def test_policies_of_pods_are_there_before_an_api_server_comes_back_that_asks_for_them():
    """Else no pod is made from the restart of the first until the last master is done."""
    steps = read("kube_apiserver", "tasks/main.yml")
    write, keep, run, again = steps
    assert "/etc/kubernetes/rbac.yml" in {one["path"] for one in write["avadm_service"]["files"]}
    assert keep["avadm_kube_objects"] == {
        "path": "/etc/kubernetes/rbac.yml",
        # Where it does not answer, it is not waited for: its restart may be what fixes it.
        "server": "{{ _kube_apiserver_own }}",
        "answering_only": True,
    }
    assert keep["throttle"] == 1
    assert not {"when", "run_once"} & keep.keys()
    assert run["avadm_service"]["name"] == "kube-apiserver"
    assert again["avadm_kube_objects"] == {"path": "/etc/kubernetes/rbac.yml"}
