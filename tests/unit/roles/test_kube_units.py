"""What the units of Kubernetes' programs say, as the roles write them."""

import configparser
from pathlib import Path

import pytest

from tests.unit.fakes.roles import ROLES, ROOT, given, loaded, read, value

UNITS = {
    "kube-apiserver": "kube_apiserver",
    "kube-controller-manager": "kube_controllers",
    "kube-scheduler": "kube_controllers",
    "kubelet": "kube_node",
    "kube-proxy": "kube_node",
}


def written(role):
    """Return path to what the role has avadm_files or avadm_service write there, not yet rendered."""
    tasks = [
        task
        for file in sorted((ROLES / role / "tasks").glob("*.yml"))
        for task in read(role, f"tasks/{file.name}")
    ]
    lists = [
        task.get(module, {}).get("files", []) for task in tasks for module in ("avadm_files", "avadm_service")
    ]
    # Some roles put their lists together elsewhere.
    return {
        one["path"]: one
        for files in lists
        if isinstance(files, list)
        for one in files
        if isinstance(one, dict)
    }


def rendered(role, text, **more):
    """Return a text with the role's variables, and more; whatever must be given is given."""
    loaded()
    have = {
        "ansible_managed": "written by a test",
        "inventory_hostname": "n1",
        "role_path": str(ROLES / role),
        "playbook_dir": str(ROOT / "playbooks"),
    }
    return value(text, **have | given("kube_common") | given(role) | more)


@pytest.mark.parametrize("unit", UNITS)
def test_every_program_of_kubernetes_keeps_to_http_1(unit):
    """With HTTP/2 this build keeps a dead connection to the API for ever."""
    role = UNITS[unit]
    text = rendered(role, written(role)[f"/etc/systemd/system/{unit}.service"]["content"])
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read_string(text.replace("\\\n", " "))
    held = parser["Service"]["Environment"].split()
    assert held[:3] == ["no_proxy=*", "NO_PROXY=*", "DISABLE_HTTP2=1"]
    # Docker 25 and newer answer requests without a version in a way that kubelet 1.9 does not understand; with a path as endpoint
    # (kubernetes 1.9.11 and 1.10.13, pkg/kubelet/dockershim/libdocker/client.go) it names none.
    docker = ["DOCKER_API_VERSION=1.26"] if unit == "kubelet" else []
    assert held[3:] == docker
    assert ("--docker-endpoint=" in parser["Service"]["ExecStart"].split()) == bool(docker)
    assert unit in parser["Service"]["ExecStart"].split()


def test_no_unit_of_kubernetes_is_left_out():
    """kube-state-metrics is another project's program."""
    found = {
        Path(path).stem: role.name
        for role in ROLES.iterdir()
        for path in written(role.name)
        if path.startswith("/etc/systemd/system/kube")
    }
    assert found.pop("kube-state-metrics") == "kube_state_metrics"
    assert found == UNITS


def test_the_lock_of_iptables_is_a_file_from_the_start_of_each_boot():
    """A container that mounts it before anybody made it would make a folder of it, and kube-proxy no rule any more."""
    line = written("kube_node")["/etc/tmpfiles.d/avadm-xtables.conf"]["content"]
    assert line.split() == ["f", "/run/xtables.lock", "0600", "root", "root"]
    now = written("kube_node")["/run/xtables.lock"]
    assert (now["content"], now["mode"]) == ("", "0600")
