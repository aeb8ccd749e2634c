import shutil

import pytest

from avadm_lab import prereqs
from tests.unit.fakes.errors import refused
from tests.unit.lab.fakes import FakeProc, Reporter


@pytest.fixture
def policy(monkeypatch, tmp_path):
    """Where the policy lies that keeps services from starting; anyone who installs is root."""
    monkeypatch.setattr(prereqs, "_POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr(prereqs, "_SYSTEMD", tmp_path / "systemd")
    monkeypatch.setattr(prereqs, "_INIT_SCRIPTS", tmp_path)
    as_user(monkeypatch, 0)
    return tmp_path / "policy-rc.d"


def without(monkeypatch, *programs):
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name in programs else f"/bin/{name}")


def as_user(monkeypatch, uid):
    monkeypatch.setattr(prereqs.os, "geteuid", lambda: uid)


@pytest.mark.parametrize(
    ("programs", "packages"),
    [(("docker", "dockerd", "mmdebstrap"), ["docker.io", "mmdebstrap"]), (("dockerd",), ["docker.io"])],
)
def test_names_each_missing_package_once_and_a_docker_client_is_not_enough(monkeypatch, programs, packages):
    without(monkeypatch, *programs)
    assert prereqs.missing() == packages


def test_nothing_missing_runs_nothing(monkeypatch, policy):
    without(monkeypatch)
    proc = FakeProc()
    assert prereqs.ensure(proc, Reporter()) == []
    assert proc.calls == []


def test_installs_in_one_transaction_and_starts_no_service(monkeypatch, policy):
    without(monkeypatch, "mmdebstrap", "apt-cacher-ng")
    proc = FakeProc()

    def install(argv):
        assert policy.read_text().endswith("exit 101\n")
        return 0, "", ""

    proc.call("apt-get install", install)
    assert prereqs.ensure(proc, Reporter()) == ["apt-cacher-ng", "mmdebstrap"]
    assert proc.ran("install") == ["apt-get install -y --no-install-recommends apt-cacher-ng mmdebstrap"]
    assert not policy.exists()


def test_other_programs_than_a_labs_are_had_the_same_way(monkeypatch, policy):
    without(monkeypatch, "/usr/sbin/sshd", "docker")
    (policy.parent / "ssh").touch()
    proc = FakeProc()
    assert prereqs.ensure(proc, Reporter(), {"/usr/sbin/sshd": "openssh-server"}) == ["openssh-server"]
    assert proc.ran("install") == ["apt-get install -y --no-install-recommends openssh-server"]
    # No one may get in because something was measured here.
    assert proc.ran("update-rc.d") == ["update-rc.d ssh disable"]


def test_leaves_the_machines_own_policy(monkeypatch, policy):
    policy.write_text("mine")
    without(monkeypatch, "mmdebstrap")
    prereqs.ensure(FakeProc(), Reporter())
    assert policy.read_text() == "mine"


@pytest.mark.parametrize("programs", [(), ("mmdebstrap",)], ids=["nothing missing", "one missing"])
def test_our_own_policy_of_a_killed_installation_goes(monkeypatch, policy, programs):
    without(monkeypatch, *programs)
    with prereqs._NoServices():
        left = policy.read_text()
    policy.write_text(left)
    prereqs.ensure(FakeProc(), Reporter())
    assert not policy.exists()


@pytest.mark.parametrize(
    ("systemd", "commands"),
    [
        (True, ["systemctl disable apt-cacher-ng.service docker.service docker.socket"]),
        (False, ["update-rc.d apt-cacher-ng disable", "update-rc.d docker disable"]),
    ],
)
def test_what_was_installed_does_not_start_at_the_next_boot(monkeypatch, policy, tmp_path, systemd, commands):
    without(monkeypatch, "dockerd", "apt-cacher-ng", "mmdebstrap")
    if systemd:
        (tmp_path / "systemd").mkdir()
    for name in ("apt-cacher-ng", "docker"):
        (tmp_path / name).touch()
    proc, reply = FakeProc(), Reporter()
    proc.on("disable", rc=1, stderr="no such service")
    prereqs.ensure(proc, reply)
    assert proc.ran("disable") == commands
    assert "no such service" in reply.notes[-1]


def test_services_that_were_there_before_stay_enabled(monkeypatch, policy):
    without(monkeypatch, "mmdebstrap")
    proc = FakeProc()
    prereqs.ensure(proc, Reporter())
    assert proc.ran("disable") == []


def test_policy_goes_when_the_installation_fails(monkeypatch, policy):
    without(monkeypatch, "mmdebstrap")
    proc = FakeProc()
    proc.on("install", rc=100, stderr="E: Unable to locate package mmdebstrap")
    assert "Unable to locate" in refused(prereqs.ensure, proc, Reporter())[0].found
    assert not policy.exists()


def test_without_apt_all_are_named_with_the_command(monkeypatch, policy):
    without(monkeypatch, "apt-get", "mmdebstrap", "dockerd")
    assert "docker.io mmdebstrap" in refused(prereqs.ensure, FakeProc(), Reporter())[0].remedy


def test_an_ordinary_user_is_reported_to_use_sudo(monkeypatch, policy):
    without(monkeypatch)
    as_user(monkeypatch, 1000)
    assert "sudo" in refused(prereqs.ensure, FakeProc(), Reporter())[0].remedy
