"""The ssh gateway tells which workbenches have sessions, from the kernel's table of connections."""

from __future__ import annotations

import pytest

from ava.gateway.ssh import sessions

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def row(remote: str, state: str = "01") -> str:
    return f"   0: 0A01F40A:8AE2 {remote} {state} 00000000:00000000 00:00000000 00000000  1000        0 1 1\n"


def test_connections_to_workbenches_alone_are_sessions() -> None:
    table = (
        HEAD
        + row("0500600A:0016")
        + row("0600600A:0016", "06")
        + row("0700600A:2382")
        + row("00000000:0000", "0A")
    )
    assert sessions.peers(table) == {"10.96.0.5"}


def test_addresses_of_both_kinds_are_read() -> None:
    mapped = "0000000000000000FFFF00000500600A:0016"
    assert sessions.peers(HEAD + row(mapped)) == {"10.96.0.5"}
    assert sessions.peers(HEAD + row("B80D0120000000000000000001000000:0016")) == {"2001:db8::1"}
    assert sessions.peers("") == set()


def test_names_of_services_tell_which_workbench_it_is() -> None:
    names = {"a": "wb-d1.ava-vision.svc.cluster.local", "b": "api.ava-system.svc", "c": "", "d": "wb-d2.x"}
    assert sessions.workbenches(names, names.__getitem__) == ["d1", "d2"]


def test_while_names_cannot_be_asked_for_nothing_is_reported_rather_than_too_little() -> None:
    def away(address: str) -> str:
        raise OSError("no answer")

    with pytest.raises(OSError, match="no answer"):
        sessions.workbenches(["10.96.0.5"], away)
