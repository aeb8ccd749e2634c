"""Programs of avadm_node as archives: whole, the same for the same sources, run by Python 3 (and 2.7 where theirs is)."""

import ast
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from avadm.artifacts import node_archives
from avadm.artifacts.node_archives import PROGRAMS, bundle, variables
from avadm.components.catalog import PHASES

HELP = {"balancer": "--first", "gpu-exporter": "--listen", "log-watch": "--learnt", "pod-targets": "--file"}


def run(path, *words, python=sys.executable, env=()):
    # Bare and elsewhere: what is imported is in the archive.
    argv = [python, "-S", path, *words]
    return subprocess.run(
        argv, capture_output=True, text=True, cwd="/", env={"PATH": os.environ["PATH"], **dict(env)}
    )


@pytest.mark.parametrize("name", sorted(HELP))
def test_a_program_runs_from_its_archive_alone(name, tmp_path):
    kept = variables(f"avadm-node-{name}", tmp_path)["files"]["program"]
    done = run(kept["path"], "--help")
    assert HELP[name] in done.stdout, done.stderr


def test_of_several_the_first_word_says_which(tmp_path):
    path = variables("avadm-node-volumes", tmp_path)["files"]["program"]["path"]
    assert '"status": "Failure"' in run(path, "driver", "init").stdout  # no configuration here
    assert "usage: " in run(path, "provisioner", "--help").stdout
    for words in ((), ("nothing",), ("driver.py",)):
        done = run(path, *words)
        assert (done.returncode, "driver|node|provisioner" in done.stderr) == (1, True)


@pytest.mark.parametrize("python", [sys.executable, "python2.7"])
def test_the_shippers_counters_are_reported_under_the_nodes_own_python(python, tmp_path):
    if not shutil.which(python) or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"there is no {python} here")
    path = variables("avadm-node-log-shipper", tmp_path)["files"]["program"]["path"]
    (tmp_path / "ctl").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "ctl").chmod(0o755)
    done = run(path, tmp_path / "ctl", "socket", tmp_path / "out.prom", "store1", python=python)
    assert done.returncode == 1
    assert "avadm_log_shipper_up 0" in (tmp_path / "out.prom").read_text(), done.stderr


def test_an_archive_is_the_same_for_the_same_sources_and_named_by_its_digest(tmp_path):
    first, again = (
        variables("avadm-node-balancer", tmp_path / "a"),
        variables("avadm-node-balancer", tmp_path / "b"),
    )
    kept, other = first["files"]["program"], again["files"]["program"]
    assert kept["sha256"] == other["sha256"]
    assert kept["place"] == f"/usr/lib/avadm/balancer-{kept['sha256'][:12]}.pyz"
    assert bundle("balancer") != bundle("pod-targets")


def test_one_that_was_damaged_in_the_cache_is_made_again(tmp_path):
    kept = variables("avadm-node-balancer", tmp_path)["files"]["program"]
    Path(kept["path"]).write_bytes(b"half")
    variables("avadm-node-balancer", tmp_path)
    assert zipfile.is_zipfile(kept["path"])


def test_a_program_has_its_own_parts_alone():
    """What the doctor asks may change without a daemon that is restarted for it."""
    for name in PROGRAMS:
        with zipfile.ZipFile(io.BytesIO(bundle(name))) as archive:
            folders = {path.split("/")[2] for path in archive.namelist() if path.count("/") > 2}
        assert folders <= {"database", "volumes", "disks", "logs", "registry"}, name


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_it_is_read_by_the_python_of_the_oldest_nodes(name):
    with zipfile.ZipFile(io.BytesIO(bundle(name))) as archive:
        for path in archive.namelist():
            ast.parse(archive.read(path), feature_version=(3, 5))


def test_each_program_is_installed_by_a_phase():
    named = {
        a.removeprefix(node_archives.PREFIX) for p in PHASES for a in p.artifacts if node_archives.ours(a)
    }
    assert named == set(PROGRAMS)


@pytest.mark.parametrize(("kind", "module"), [("cephfs", "folders"), ("rbd", "images"), ("local", "local")])
def test_each_kind_of_volumes_is_in_the_archive(kind, module, tmp_path):
    """Only a node that makes volumes of a kind imports what makes them."""
    path = variables("avadm-node-volumes", tmp_path)["files"]["program"]["path"]
    (tmp_path / "cephfs.py").touch()  # of ceph's packages
    own = {"pool": "p", "entity": "client.x", "mapper": "krbd", "root": "/", "mount": "/x"}
    own |= {"local": str(tmp_path), "capacity": 1, "tells": False}
    made = (
        f"import sys; sys.path[:0] = [{path!r}, {str(tmp_path)!r}]\n"
        "from avadm_node.agents.volumes import provisioner\n"
        f"kinds = provisioner.made_kinds({ {'node': 'n', 'turn': 0, kind: own}!r}, None)\n"
        "print(*(type(kind).__module__ for kind in kinds))"
    )
    done = subprocess.run([sys.executable, "-c", made], capture_output=True, text=True, cwd="/")
    assert done.stdout == f"avadm_node.agents.volumes.{module}\n", done.stderr
