"""What a node's haproxy is asked by its socket."""

import socket
import threading

import pytest

from avadm_node.probes import haproxy

STATES = """1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight
3 apiservers 1 m1 10.0.0.1 {up} {m1} 1
3 apiservers 2 m2 10.0.0.2 2 0 1

"""


@pytest.fixture
def served(tmp_path):
    """A haproxy of two servers: its socket, its commands, and its state of m1."""
    path, commands, states = tmp_path / "admin.sock", [], {"m1": 0, "up": 2}
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()

    def reply(words):
        if words[0] == "show":
            if words[-1] != "apiservers":
                return "Can't find backend.\n"
            text, states["up"] = STATES.format(**states), min(states["up"] + 1, 2)
            return text
        if words[2] != "apiservers/m1":
            return "No such server.\n"
        states["m1"] = {"ready": 0, "maint": 1, "drain": 8}[words[-1]]
        states["up"] = 0
        return "\n"

    def serve():
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            with link:
                line = link.recv(4096).decode().strip()
                commands.append(line)
                link.sendall(reply(line.split()).encode())

    threading.Thread(target=serve, daemon=True).start()
    yield str(path), commands, states
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def asked(path, want, server="m1", backend="apiservers", waited=None):
    given = {"backend": backend, "server": server, "want": want}
    return haproxy.do(given, path, (waited if waited is not None else []).append)


def test_a_server_is_drained_before_its_connections_end(served):
    path, commands, states = served
    assert asked(path, None) == {"away": False, "why": ""}
    assert asked(path, "away") == {"away": True, "why": ""}
    assert commands[1:3] == ["set server apiservers/m1 state drain", "set server apiservers/m1 state maint"]
    waited = []
    assert asked(path, "back", waited=waited) == {"away": False, "why": ""}
    assert waited == [1, 1], "until its checks have found it well"
    states["m1"] = 0x08
    assert asked(path, None)["away"] is True, "drained by hand"
    states["m1"] = 0x20
    assert asked(path, None)["away"] is False, "by its configuration"


def test_an_unknown_server_and_a_haproxy_that_is_off_are_no_state(served, tmp_path):
    path, _, _ = served
    assert asked(path, "away", server="m9") == {"away": None, "why": "No such server."}
    assert asked(path, None, backend="other")["away"] is None
    assert "cannot be asked" in asked(str(tmp_path / "none"), None)["why"]
