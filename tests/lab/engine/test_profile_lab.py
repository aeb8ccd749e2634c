"""What the profile says is what works on the nodes: python for modules, one version of ceph everywhere."""

import json

import pytest

from avadm.cli.main import App

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def profile(lab):
    """The profile of the lab's site file."""
    return App(lab.site_path).site_file().profile


def is_of_the_node(line):
    """Whether a note is of a program like ceph: python, options, a file. Ansible and avadm start theirs without one."""
    first = next((word for word in line.split()[2:] if not word.startswith("-")), "")
    return first.startswith("/")


def test_modules_run_under_the_profiles_python(second_run, lab, profile):
    assert set(second_run.pythons) == {n["name"] for n in lab.nodes}
    for name, lines in second_run.pythons.items():
        ours = [line.split()[1] for line in lines if not is_of_the_node(line)]
        assert any("mitogen" in program for program in ours), f"{name}: {lines}"
        assert {program.partition("(")[0] for program in ours} == {profile.python}, f"{name}: {lines}"


def test_ceph_is_of_the_profiles_version_everywhere(lab, profile):
    versions = json.loads(lab.sh(lab.names("mon")[0], "ceph versions --format json"))
    assert len(versions["overall"]) == 1
    [running] = versions["overall"]
    assert running.startswith(f"ceph version {profile.versions['ceph']}")
    assert {kind for kind, found in versions.items() if found} >= {"mon", "mgr", "osd", "mds"}
    for client in lab.names("client"):
        assert lab.sh(client, "ceph --version").split()[2] == running.split()[2]
