"""The image registry's two processes: one that writes nothing, one for the deployer alone."""

import json

import pytest
import yaml

from tests.unit.fakes.roles import ROLES, variables
from tests.unit.fakes.running import play, sh, stub


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Path to text of the configurations and units, as Ansible hands them to the module."""
    folder = tmp_path_factory.mktemp("registry")
    (folder / "templates").symlink_to(ROLES / "registry/templates")
    place = {"dest": str(folder / "files"), "content": "{{ _registry_files | to_json }}", "mode": "0600"}
    have = variables("registry") | {"registry_address": "10.0.0.5"}
    done = play(folder, {"name": "write", "ansible.builtin.copy": place}, **have)
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


SEEN = "a\n3 blobs marked, 1 blobs and 0 manifests eligible for deletion\nblob eligible for deletion: x"


@pytest.mark.parametrize(
    ("said", "removes"),
    [
        (SEEN, True),
        ("3 blobs marked, 1 blobs eligible for deletion", True),  # 2.6
        # An empty folder over the repositories.
        ("0 blobs marked, 3 blobs and 0 manifests eligible for deletion", False),
        ("", False),
    ],
)
def test_layers_are_removed_only_where_images_can_be_seen(tmp_path, said, removes):
    program, ran = tmp_path / "docker-registry", tmp_path / "ran"
    stub(program, f'echo "$@" >> {ran}\ncat {tmp_path}/said')
    (tmp_path / "said").write_text(said)
    done = sh("bash", ROLES / "registry/files/avadm-registry-gc", program, "c.yml")
    called = ["garbage-collect --dry-run c.yml", *["garbage-collect c.yml"] * removes]
    assert ran.read_text().splitlines() == called
    assert (done.returncode == 0) == removes
    assert removes or "nothing is removed" in done.stderr


def test_nobody_writes_while_layers_are_removed_and_the_writer_comes_back():
    lines = variables("registry")["_registry_gc_service"].splitlines()
    before, act, after = (
        lines.index(next(x for x in lines if x.startswith(k)))
        for k in ("ExecStartPre", "ExecStart=", "ExecStopPost")
    )
    assert before < act < after
    assert lines[before].endswith("systemctl stop {{ _registry_writer.unit }}")
    assert lines[after].endswith("systemctl start {{ _registry_writer.unit }}")
    assert "User={{ registry_user }}" in lines
