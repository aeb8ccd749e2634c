"""Why nodes cannot be asked, in words that are the same for all nodes of one trouble."""

from __future__ import annotations

import errno

import paramiko
import pytest

from avadm.remote.access import finding, findings
from avadm.remote.channel import Output, refused_root
from avadm.remote.connect import ConnectionFailed, Target, _trouble, check_host_key
from avadm.remote.hostkeys import fingerprint
from avadm.remote.reason import Reason, Why
from avadm.remote.ssh import late_reason, lost

NODE = Target("n1", "10.0.0.1")


def met(error: Exception, node: Target = NODE) -> Reason:
    """Return the reason of what a socket or paramiko raised."""
    return _trouble(node, error, 10).reason


@pytest.mark.parametrize(
    ("reason", "what", "found"),
    [
        (met(ConnectionRefusedError()), "Nothing listens on port 22 of the node.", "connection refused"),
        (met(TimeoutError()), "The node did not answer within 10 s.", "time-out"),
        (met(OSError(errno.EHOSTUNREACH, "x")), "There is no way to the node.", "no route"),
        (
            met(paramiko.SSHException("Error reading SSH protocol banner"), Target("n1", "10.0.0.1", 80)),
            "What listens on port 80 of the node speaks no ssh.",
            "no ssh",
        ),
        (
            lost("connection lost while the command ran", NODE, EOFError()),
            "The connection broke off.",
            "connection lost while the command ran",
        ),
        (
            late_reason(180),
            "The node lets us in, but what was started there did not finish within 180 s.",
            "not finished within 180 s",
        ),
        (
            refused_root("ops", Output(1, b"", b"sudo: a password is required")),
            "The login ops cannot become root without a password (a password is required).",
            "no root",
        ),
        (
            Reason(Why.AUTH_TIMEOUT, "time-out", user="ops", by="password", timeout=10.0),
            "The node did not answer the login of ops within 10 s.",
            "time-out of the authentication",
        ),
        (
            "/usr/bin/python3 on n1 gave no facts: exit 1",
            "/usr/bin/python3 on the node gave no facts: exit 1",
            "no answer",
        ),
        ("n1 (10.0.0.1) did not reply", "the node did not reply", "no answer"),
        ("n1 ([10.0.0.1]:2222) did not reply", "the node did not reply", "no answer"),
    ],
)
def test_the_same_trouble_is_the_same_sentence(reason: str, what: str, found: str) -> None:
    report = finding("reachability", "n1", reason)
    assert (report.what, report.found, report.host) == (what, found, "n1")
    assert report.wanted
    assert report.remedy


def test_fingerprints_are_what_was_found() -> None:
    pinned, offered = (paramiko.ECDSAKey.generate() for _ in range(2))
    silent = {}
    for name, keys in (("n1", []), ("n2", [pinned])):
        with pytest.raises(ConnectionFailed) as raised:
            check_host_key(Target(name, "10.0.0.1"), keys, offered)
        silent[name] = raised.value.reason
    one, two = findings("x", silent)
    assert (one.what, one.found) == (
        "The node's host key is not pinned.",
        f"ecdsa-sha2-nistp256 {fingerprint(offered)}",
    )
    assert (two.what, two.found) == (
        "The node's host key is not the pinned one.",
        f"ecdsa-sha2-nistp256 {fingerprint(pinned)} pinned, ecdsa-sha2-nistp256 {fingerprint(offered)} offered",
    )


@pytest.mark.parametrize(
    ("user", "rc", "stderr", "refused"),
    [
        ("ops", 1, "sudo: a password is required", True),
        (
            "ops",
            1,
            "sudo: a terminal is required to read the password; …\nsudo: a password is required",
            True,
        ),
        ("ops", 1, "Sorry, user ops is not allowed to execute '/usr/bin/timeout' as root on n1.", True),
        ("ops", 127, "sh: 1: sudo: not found", True),
        ("ops", 127, "bash: line 1: sudo: command not found", True),
        ("ops", 1, "cat: /x: No such file", False),
        ("ops", 0, "sudo: unable to resolve host n1", False),
        ("root", 1, "sudo: a password is required", False),
    ],
)
def test_sudo_that_refuses_is_reported_from_a_command_that_fails(
    user: str, rc: int, stderr: str, refused: bool
) -> None:
    assert (refused_root(user, Output(rc, b"", stderr.encode())) is not None) is refused
