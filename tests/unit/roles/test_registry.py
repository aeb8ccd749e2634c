"""The image registry's two processes: one that writes nothing, one for the deployer alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

HOME = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Path to text of the configurations and units, as Ansible hands them to the module."""
    folder = tmp_path_factory.mktemp("registry")
    place = {"dest": str(folder / "files"), "content": "{{ _registry_files | to_json }}", "mode": "0600"}
    (folder / "p.yml").write_text(
        yaml.safe_dump(
            [
                {
                    "hosts": "localhost",
                    "gather_facts": False,
                    "vars": {"registry_address": "10.0.0.5", "ansible_python_interpreter": sys.executable},
                    "vars_files": [f"{HOME}/roles/registry/{d}/main.yml" for d in ("defaults", "vars")],
                    "tasks": [{"name": "write", "ansible.builtin.copy": place}],
                }
            ]
        )
    )
    (folder / "templates").symlink_to(HOME / "roles/registry/templates")
    (folder / "hosts").write_text("localhost ansible_connection=local\n")
    command = [Path(sys.executable).parent / "ansible-playbook", "-i", folder / "hosts", folder / "p.yml"]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return {one["path"]: one["content"] for one in json.loads((folder / "files").read_text())}


@pytest.mark.parametrize(
    ("name", "address", "clients", "writes"),
    [
        ("config.yml", "10.0.0.5:5000", "readers.crt", False),
        ("writer.yml", "127.0.0.1:5002", "writers.crt", True),
    ],
)
def test_who_reads_does_not_write(written, name, address, clients, writes):
    made = yaml.safe_load(written[f"/etc/docker-registry/{name}"])
    assert made["http"]["addr"] == address
    assert made["http"]["tls"]["clientcas"] == [f"/etc/docker-registry/{clients}"]
    readonly = made["storage"].get("maintenance", {}).get("readonly", {}).get("enabled", False)
    assert (readonly, made["storage"]["delete"]["enabled"]) == (not writes, writes)


def test_each_unit_serves_its_own_configuration(written):
    for unit, config in (("avadm-registry", "config.yml"), ("avadm-registry-writer", "writer.yml")):
        text = written[f"/etc/systemd/system/{unit}.service"]
        assert f"serve /etc/docker-registry/{config}\n" in text
        assert "User=docker-registry\n" in text


GC = HOME / "roles/registry/files/avadm-registry-gc"


@pytest.mark.parametrize(
    ("said", "removes"),
    [
        (
            "a\n3 blobs marked, 1 blobs and 0 manifests eligible for deletion\nblob eligible for deletion: x",
            True,
        ),
        ("3 blobs marked, 1 blobs eligible for deletion", True),  # 2.6
        (
            "0 blobs marked, 3 blobs and 0 manifests eligible for deletion",
            False,
        ),  # an empty folder over the repositories
        ("", False),
    ],
)
def test_layers_are_removed_only_where_images_can_be_seen(tmp_path, said, removes):
    program, ran = tmp_path / "docker-registry", tmp_path / "ran"
    program.write_text(f'#!/bin/sh\necho "$@" >> {ran}\ncat {tmp_path}/said\n')
    program.chmod(0o755)
    (tmp_path / "said").write_text(said)
    done = subprocess.run(["bash", GC, program, "c.yml"], capture_output=True, text=True, check=False)
    assert ran.read_text().splitlines() == [
        "garbage-collect --dry-run c.yml",
        *["garbage-collect c.yml"] * removes,
    ]
    assert (done.returncode == 0) == removes
    assert removes or "nothing is removed" in done.stderr


def test_nobody_writes_while_layers_are_removed_and_the_writer_comes_back():
    unit = yaml.safe_load((HOME / "roles/registry/vars/main.yml").read_text())["_registry_gc_service"]
    lines = unit.splitlines()
    before, act, after = (
        lines.index(next(x for x in lines if x.startswith(k)))
        for k in ("ExecStartPre", "ExecStart=", "ExecStopPost")
    )
    assert before < act < after
    assert lines[before].endswith("systemctl stop {{ _registry_writer.unit }}")
    assert lines[after].endswith("systemctl start {{ _registry_writer.unit }}")
    assert "User={{ registry_user }}" in lines
