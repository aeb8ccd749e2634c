"""JumpHost: one connection to it for all nodes; what it cannot do is stated once and of the right machine."""

import os
import re
import shlex
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest

from avadm.remote import jump as module
from avadm.remote.connect import ConnectionFailed, Target
from avadm.remote.hostkeys import KnownHosts
from avadm.remote.jump import JumpHost
from avadm.remote.reason import Why
from tests.unit.remote.sshserver import Server, new_key


class Bastion(Server):
    """A server that forwards streams, or refuses to."""

    forwards = True

    def __init__(self, *given, **named):
        self.accepted, self.accepting = {}, threading.Lock()
        super().__init__(*given, **named)

    def check_channel_direct_tcpip_request(self, chanid, origin, destination):
        if not self.forwards:
            return paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        try:
            far = socket.create_connection(destination)
        except OSError:
            return paramiko.OPEN_FAILED_CONNECT_FAILED
        threading.Thread(target=self.carry, args=(chanid, far), daemon=True).start()
        return paramiko.OPEN_SUCCEEDED

    def near(self, chanid):
        """Return the channel of this number; anyone who asks may be given another's, which is kept for them."""
        for _ in range(100):
            with self.accepting:
                if chanid not in self.accepted and (one := self.transports[-1].accept(0.1)):
                    self.accepted[one.chanid] = one
                if chanid in self.accepted:
                    return self.accepted[chanid]
        raise AssertionError(f"channel {chanid} was never opened")

    def carry(self, chanid, far):
        near = self.near(chanid)

        def copy(source, sink):
            while data := source.recv(65536):
                sink.sendall(data)

        threading.Thread(target=copy, args=(far, near), daemon=True).start()
        copy(near, far)


@pytest.fixture
def room(tmp_path, key, reach):
    """A jump host with nodes behind it, and how to reach them."""
    servers = [Server(new_key(tmp_path / f"n{i}"), accept=[key], env=dict(os.environ)) for i in range(3)]
    bastion = Bastion(new_key(tmp_path / "b"), accept=[key])
    way = JumpHost(Target("jump host", "127.0.0.1", bastion.port, "ops"), bastion.host_key, tmp_path / "id")
    targets = [Target(f"n{i}", "127.0.0.1", s.port, "root", way) for i, s in enumerate(servers)]
    known = KnownHosts(tmp_path / "known_hosts")
    for target, server in zip(targets, servers, strict=True):
        known.pin(target.entry_names, server.host_key)
    known.save()
    with reach(targets) as fleet:
        yield fleet, bastion, way, targets
    way.close()
    for server in [bastion, *servers]:
        server.close()


def test_all_nodes_are_reached_through_one_connection(room):
    fleet, bastion, _way, targets = room
    results = fleet.map({t.node: "echo here" for t in targets})
    assert {n: r.stdout for n, r in results.items()} == dict.fromkeys(results, "here\n")
    assert len(bastion.transports) == 1


def test_a_jump_host_that_is_gone_is_asked_once_and_named(room, monkeypatch):
    _fleet, bastion, way, targets = room
    bastion.close()
    tries = []
    real = module.connect
    monkeypatch.setattr(module, "connect", lambda *a: tries.append(1) or real(*a))

    def ask(target):
        with pytest.raises(ConnectionFailed) as report:
            way.open(target, 2)
        return report.value

    with ThreadPoolExecutor(3) as pool:
        troubles = list(pool.map(ask, targets))
    assert len(tries) == 1
    assert {t.why for t in troubles} == {Why.JUMP}
    assert all(t.reason.startswith("jump host: connection refused: ") for t in troubles)


def test_another_host_key_of_the_jump_host_stops_everything(room, tmp_path):
    fleet, _bastion, way, _targets = room
    way.pinned = new_key(tmp_path / "other")
    result = fleet.run("n0", "echo here")
    assert result.rc == 255
    assert result.error.startswith("jump host: host key changed: jump host (")


@pytest.mark.parametrize("fault", ["forbidden", "node gone"])
def test_what_the_jump_host_cannot_reach_is_shown_of_that_node(room, fault):
    fleet, bastion, _way, targets = room
    if fault == "forbidden":
        bastion.forwards = False
        node = targets[0]
    else:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        node = Target("n0", "127.0.0.1", port, "root", targets[0].way)
    with pytest.raises(ConnectionFailed) as report:
        node.way.open(node, 3)
    assert report.value.why is Why.NOT_FORWARDED
    assert "has no way to n0 (" in report.value.reason
    assert fleet.run("n1", "echo here").ok is (fault == "node gone")


def test_openssh_gets_the_same_way_with_its_host_key_checked(room, tmp_path):
    _fleet, _bastion, way, _targets = room
    (option,) = shlex.split(way.ssh_option(tmp_path / "known hosts"))
    name, _, command = option.partition("=")
    words = shlex.split(command)
    assert name == "ProxyCommand"
    assert words[:5] == ["ssh", "-F", "/dev/null", "-o", "ForwardAgent=no"]
    assert words[5:7] == ["-i", str(way.key)]
    assert f"UserKnownHostsFile={tmp_path / 'known hosts'}" in words
    assert "StrictHostKeyChecking=yes" in words
    assert words[-3:] == ["-W", "%h:%p", "127.0.0.1"]


def test_no_ssh_that_is_started_reads_the_operator_s_own_configuration():
    """It may forward an agent, or name other keys, other ways and other names."""
    home = Path(__file__).parents[3] / "installer"
    for name in ("avadm/remote/jump.py", "avadm_lab/lab.py"):
        text = (home / name).read_text()
        assert re.search(r'"ssh",\s*"-F",\s*"/dev/null"', text), name
    assert "-F /dev/null -o ForwardAgent=no " in (home / "avadm/components/base/variables.py").read_text()
    for path in (home / "runner").glob("*.py"):
        assert "request_forward_agent" not in path.read_text()
        assert "AgentRequestHandler" not in path.read_text()
