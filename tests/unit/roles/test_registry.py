"""The image registry's two processes: one that writes nothing, one for the deployer alone."""

import pytest
import yaml

from tests.unit.fakes.roles import ROLES, template, variables
from tests.unit.fakes.running import sh, stub


def written(name, server):
    """Return the text of one of a server's files."""
    have = variables("registry") | {"registry_address": "10.0.0.5"}
    return template(f"registry/templates/{name}.j2", **have, server=f"{{{{ _registry_{server} }}}}")


@pytest.mark.parametrize(
    ("server", "address", "clients", "writes"),
    [
        ("reader", "10.0.0.5:5000", "readers.crt", False),
        ("writer", "127.0.0.1:5002", "writers.crt", True),
    ],
)
def test_who_reads_does_not_write(server, address, clients, writes):
    made = yaml.safe_load(written("config.yml", server))
    assert made["http"]["addr"] == address
    assert made["http"]["tls"]["clientcas"] == [f"/etc/docker-registry/{clients}"]
    readonly = made["storage"].get("maintenance", {}).get("readonly", {}).get("enabled", False)
    assert (readonly, made["storage"]["delete"]["enabled"]) == (not writes, writes)


def test_each_unit_serves_its_own_configuration():
    for server, config in (("reader", "config.yml"), ("writer", "writer.yml")):
        text = written("avadm-registry.service", server)
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
