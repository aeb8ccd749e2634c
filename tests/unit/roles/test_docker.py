"""The engine's configuration as the role writes it."""

import json

import pytest

from tests.unit.fakes.roles import holds, read, service, template, variables, written


def files(**more):
    """Return path to content of what the role writes."""
    given = service("docker", "{{ docker_service }}")["files"]
    made = written(given, **variables("docker") | more)
    restarts = ("/etc/docker/daemon.json", DROPIN)
    assert all(one["on_change"] == "none" for path, one in made.items() if path not in restarts)
    return {path: one.get("content", one.get("secret")) for path, one in made.items()}


def config(**more):
    content = files(**more)["/etc/docker/daemon.json"]
    return content if isinstance(content, dict) else json.loads(content)


def test_docker_leaves_the_network_alone_and_rotates_logs():
    made = config()
    assert (made["bridge"], made["iptables"], made["ip-masq"]) == ("none", False, False)
    assert made["log-opts"] == {"max-size": "50m", "max-file": "3"}
    assert made["live-restore"] is True
    assert made["exec-opts"] == ["native.cgroupdriver=cgroupfs"]


def test_runc_needs_no_naming():
    assert not {"runtimes", "default-runtime"} & set(config())


def test_a_runtime_can_be_added_and_made_the_default():
    made = config(
        docker_runtimes={"nvidia": {"path": "nvidia-container-runtime"}}, docker_default_runtime="nvidia"
    )
    assert made["runtimes"] == {"nvidia": {"path": "nvidia-container-runtime"}}
    assert made["default-runtime"] == "nvidia"


@pytest.mark.parametrize("extra", [{"log-opts": {"max-size": "1m"}}, {"data-root": "/data/docker"}])
def test_the_sites_own_settings_are_merged_over_ours(extra):
    made = config(docker_daemon_extra=extra)
    assert made["storage-driver"] == "overlay2"
    assert made["log-opts"]["max-file"] == "3"
    for key, wanted in extra.items():
        assert made[key] == wanted or made[key].items() >= wanted.items()


def test_each_registry_has_its_authority_where_docker_looks():
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    made = files(docker_registry_authorities={"registry.demo.test:5000": pem, "other": pem})
    assert made["/etc/docker/certs.d/registry.demo.test:5000/ca.crt"] == pem
    assert made["/etc/docker/certs.d/other/ca.crt"] == pem


def test_registries_of_others_are_trusted_and_shown_nothing():
    shown = {"certificate": "c", "key": "k"}
    made = files(
        docker_registry_authorities={"own:5000": "a"},
        docker_foreign_authorities={"hub.test": "b"},
        docker_registry_client=shown,
    )
    assert {p.partition("certs.d/")[2] for p in made if "certs.d" in p} == {
        *(f"own:5000/{name}" for name in ("ca.crt", "client.cert", "client.key")),
        "hub.test/ca.crt",
    }


DROPIN = "/etc/systemd/system/docker.service.d/avadm.conf"


def test_the_proxy_is_in_a_drop_in_whose_change_restarts_docker():
    given = service("docker", "{{ docker_service }}")["files"]
    proxy = {"docker_proxy": "http://10.0.0.5:3128", "docker_no_proxy": ["10.0.0.0/24", ".demo.test"]}
    (wanted,) = [one for path, one in written(given, **variables("docker") | proxy).items() if path == DROPIN]
    assert wanted["state"] == "present"
    assert "on_change" not in wanted  # a drop-in of its own unit: restart
    lines = template("docker/templates/proxy.conf.j2", **proxy).splitlines()[1:]
    assert lines == [
        "[Service]",
        'Environment="HTTP_PROXY=http://10.0.0.5:3128"',
        'Environment="HTTPS_PROXY=http://10.0.0.5:3128"',
        'Environment="NO_PROXY=10.0.0.0/24,.demo.test"',
    ]


def test_without_a_proxy_there_is_no_drop_in():
    given = service("docker", "{{ docker_service }}")["files"]
    assert written(given, **variables("docker"))[DROPIN]["state"] == "absent"


@pytest.mark.parametrize(
    ("proxy", "reported", "wrong"),
    [
        ("", {"HttpProxy": "http://by-hand:1"}, False),
        ("http://p:1", {"HttpProxy": "http://p:1", "HttpsProxy": "http://p:1", "NoProxy": "a,b"}, False),
        ("http://p:1", {"HttpProxy": "http://p:1", "HttpsProxy": "http://p:1", "NoProxy": "a"}, True),
        ("http://p:1", {"HttpProxy": "", "HttpsProxy": "", "NoProxy": ""}, True),
    ],
)
def test_a_docker_that_runs_with_another_proxy_fails_the_role(proxy, reported, wrong):
    (step,) = [one for one in read("docker", "tasks/verify.yml") if "_docker_wrong" in str(one["vars"])]
    running = {
        "Driver": "overlay2", "CgroupDriver": "cgroupfs", "LoggingDriver": "json-file",
        "LiveRestoreEnabled": True, "DefaultRuntime": "runc", **reported,
    }  # fmt: skip
    have = variables("docker") | {"docker_proxy": proxy, "docker_no_proxy": ["a", "b"]} | step["vars"]
    have["_docker_info"] = {"rc": 0, "stdout": json.dumps(running)}
    assert bool(holds(step["failed_when"], **have)) is wrong
