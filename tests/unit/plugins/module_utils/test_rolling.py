"""Restarts of what runs come one after the other, each behind a gate of health; a first start waits for nobody."""

import pytest
from ansible.module_utils import avadm_daemon as module
from ansible.module_utils.avadm_health import Health

from tests.unit.fakes.roles import ROLES, holds, read, value, variables
from tests.unit.plugins.module_utils.test_avadm_daemon import Systemd, conf, daemon  # noqa: F401  a fixture

ROLLING = {
    "kube_apiserver": ["kube-apiserver"],
    "vip": ["haproxy", "keepalived"],
    "ceph_rgw": ["ceph-radosgw@rgw.{{ ceph_rgw_name }}"],
    "docker": ["{{ docker_service }}"],
}


def refuses():
    raise module.DaemonError("a peer does not serve")


@pytest.mark.usefixtures("conf")
@pytest.mark.parametrize(
    ("state", "told"),
    [({"active": "inactive"}, ["start"]), ({"age": -1000}, []), ({"active": "failed"}, ["start"])],
)
def test_what_does_not_run_or_needs_no_restart_asks_nobody(tmp_path, state, told):
    systemd = Systemd(**state)
    daemon(systemd, tmp_path, gate=refuses).ensure(["/etc/x.conf"], [])
    assert systemd.told == told


@pytest.mark.usefixtures("conf")
@pytest.mark.parametrize(("restart", "reload"), [(["/etc/x.conf"], []), ([], ["/etc/x.conf"])])
def test_what_runs_is_not_interrupted_while_a_peer_is_bad(tmp_path, restart, reload):
    systemd = Systemd()
    with pytest.raises(module.DaemonError, match="does not serve"):
        daemon(systemd, tmp_path, gate=refuses).ensure(restart, reload)
    assert systemd.told == []
    dry = daemon(systemd, tmp_path, gate=refuses, check_mode=True)
    assert dry.ensure(restart, reload)
    assert dry.actions == (["restart"] if restart else ["reload"])


def test_health_is_waited_for_and_told_where_it_does_not_come():
    bad, now = {"b": 2, "c": 99}, [0.0]

    def run(argv, handle_exceptions=True):
        if argv[0] == "missing":
            raise OSError("no such file")
        bad[argv[1]] = left = bad.get(argv[1], 0) - 1
        return (1, "", "refused") if left >= 0 else (0, "", "")

    def wait(places, timeout):
        sleep = lambda s: now.append(now.pop() + s)  # noqa: E731
        return Health(run, ["ask"]).awaited(places, timeout, sleep, lambda: now[0])

    assert wait(["a", "b"], 10) is None
    assert wait(["a", "c"], 10) == "`ask c`: refused"
    assert now[0] == 12
    assert Health(run, ["missing"]).trouble("a") == "`missing a`: no such file"


@pytest.mark.parametrize("role", ROLLING)
def test_a_rolling_daemon_is_looked_at_first_and_throttled_only_where_it_is_interrupted(role):
    files = sorted((ROLES / role / "tasks").glob("*.yml"))
    steps = [task for file in files for task in read(role, f"tasks/{file.name}")]
    for name in ROLLING[role]:
        look, run = [t for t in steps if t.get("avadm_daemon", {}).get("name") == name]
        assert look["check_mode"] is True
        assert look["changed_when"] is False
        asked, does = dict(look["avadm_daemon"]), dict(run["avadm_daemon"])
        gate = f"{{{{ {look['register']}.answering }}}}" if "peers" in asked else None
        assert does.pop("gate", None) == gate
        assert does == asked
        assert asked["health"]
        values = {"docker_restarts_at_once": 1}
        for interrupts, wanted in ((True, 1), (False, 0)):
            values[look["register"]] = {"interrupts": interrupts}
            assert int(value(run["throttle"], **values)) == wanted


@pytest.mark.parametrize(("nodes", "wanted"), [(1, 1), (16, 1), (17, 2), (256, 16)])
def test_docker_is_restarted_on_a_sixteenth_of_the_nodes_at_once(nodes, wanted):
    text = variables("docker")["docker_restarts_at_once"]
    assert int(value(text, ansible_play_hosts_all=["n"] * nodes)) == wanted


def test_peers_are_the_other_servers():
    (look, *_) = read("kube_apiserver", "tasks/run.yml")
    have = {"kube_apiserver_peers": ["10.0.0.2", "10.0.0.3"], "kube_apiserver_port": 6443}
    peers = value(look["avadm_daemon"]["peers"], **have)
    assert peers == ["--server=https://10.0.0.2:6443", "--server=https://10.0.0.3:6443"]


@pytest.mark.parametrize("interrupts", [True, False])
def test_policies_of_pods_are_there_before_an_api_server_comes_back_that_asks_for_them(interrupts):
    """Else no pod is made from the restart of the first until the last master is done."""
    look, keep, run = read("kube_apiserver", "tasks/run.yml")
    assert "check_mode" in look
    assert run["avadm_daemon"]["gate"]
    assert keep["avadm_kube_objects"] == {"path": "/etc/kubernetes/rbac.yml", "answering_only": True}
    assert holds(keep["when"], **{look["register"]: {"interrupts": interrupts}}) is interrupts
    assert keep["throttle"] == 1
    assert "keep.yml" in str(read("kube_apiserver", "tasks/main.yml")[-1])
