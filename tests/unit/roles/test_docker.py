"""The engine's configuration as the role writes it."""

import json
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

ROLE = Path(__file__).parents[3] / "roles/docker"


def files(**variables):
    """Return path to content of what the role writes."""
    have = {
        **yaml.safe_load((ROLE / "defaults/main.yml").read_text()),
        **yaml.safe_load((ROLE / "vars/main.yml").read_text()),
        **variables,
    }
    have["_docker_authorities"] = []  # the template below
    templar = Templar(DataLoader(), variables=have)
    written = {f["path"]: f["content"] for f in templar.template(have["_docker_files"])}
    # As the lookup does.
    templar.environment.trim_blocks = True
    text = templar.template((ROLE / "templates/authorities.json.j2").read_text(), convert_data=False)
    return written | {f["path"]: f["content"] for f in json.loads(text)}


def config(**variables):
    content = files(**variables)["/etc/docker/daemon.json"]
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
    for key, value in extra.items():
        assert made[key] == value or made[key].items() >= value.items()


def test_each_registry_has_its_authority_where_docker_looks():
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    made = files(docker_registry_authorities={"registry.demo.test:5000": pem, "other": pem})
    assert made["/etc/docker/certs.d/registry.demo.test:5000/ca.crt"] == pem
    assert made["/etc/docker/certs.d/other/ca.crt"] == pem
