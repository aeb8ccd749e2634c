"""Which containers' first processes take no SIGTERM (K9), by what /proc says of them."""

import pytest

from nodeside.doctor import network

TAKES, TAKES_NOT = f"{1 << 14:016x}", f"{0:016x}"


@pytest.mark.parametrize(
    ("name", "caught", "first", "deaf"),
    [
        ("bash", TAKES_NOT, "4711\t1", True),
        ("bash", TAKES, "4711\t1", False),
        # These wait for signals instead of catching them.
        ("tini", TAKES_NOT, "4711\t1", False),
        ("init", TAKES_NOT, "4711\t1", False),
        # Not process 1 of its container: the default of SIGTERM ends it.
        ("bash", TAKES_NOT, "4711\t7", False),
    ],
)
def test_a_first_process_that_takes_no_sigterm_is_found(monkeypatch, name, caught, first, deaf):
    status = f"Name:\t{name}\nNSpid:\t{first}\nSigCgt:\t{caught}\n"
    monkeypatch.setattr(network, "must", lambda argv: "c1")
    monkeypatch.setattr(network, "call", lambda argv: (0, "4711 lab/p1\n", ""))
    monkeypatch.setattr(network, "slurp", lambda path: status if path.endswith("status") else f"{name}\0x")
    found = network.containers({})
    assert found == {"count": 1, "deaf": [{"pod": "lab/p1", "command": f"{name} x"}] if deaf else []}
