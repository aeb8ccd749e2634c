"""What ctrl-C leaves waiting: nothing."""

from __future__ import annotations

import signal
import socket
import threading
import time

import pytest

from avadm.remote.connect import Target

pytestmark = pytest.mark.usefixtures("ctrl_c")


def interrupt_when(true):
    """Press ctrl-C as soon as something holds."""

    def wait():
        while not true():
            time.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


def test_ctrl_c_does_not_wait_for_a_silent_node_and_the_fleet_stays_of_use(server, fleet):
    interrupt_when(lambda: server.commands)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fleet.map({"n1": "sleep 30"})
    assert time.monotonic() - begun < 15
    assert fleet.run("n1", "echo again").stdout == "again\n"


def test_ctrl_c_ends_the_queue_of_nodes_that_wait_to_be_connected(key, reach):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        targets = [Target(f"n{i}", "127.0.0.1", silent.getsockname()[1]) for i in range(30)]
        with reach(targets, limit=1, connect_timeout=1) as fleet:
            begun = time.monotonic()
            interrupt_when(lambda: time.monotonic() - begun > 0.5)
            with pytest.raises(KeyboardInterrupt):
                fleet.map({t.node: "true" for t in targets})
            assert time.monotonic() - begun < 15  # 30 s one after another
