"""Why nodes cannot be asked, in words that are the same for all nodes of one trouble."""

from __future__ import annotations

import pytest

from avadm.runner.access import finding, findings
from avadm.runner.channel import Output, refused_root

REASONS = [
    ("connection refused: nothing listens on {n}, port 22", "Nothing listens on port 22 of the node."),
    ("time-out: {n} did not answer within 10 s", "The node did not answer within 10 s."),
    ("no route: {n} cannot be reached (No route to host)", "There is no way to the node."),
    ("no ssh: {n}, port 80, sent no ssh banner", "What listens on port 80 of the node speaks no ssh."),
    (
        "authentication failed: {n} did not let root in by publickey ssh-ed25519; the server offers password",
        "The node did not let root in by publickey ssh-ed25519.",
    ),
    ("connection lost while the command ran: {n}: EOF", "The connection broke off."),
    (
        "no root: ops cannot become root without a password (x)",
        "Ops cannot become root without a password (x).",
    ),
    ("/usr/bin/python3 on {n} gave no facts: exit 1", "/usr/bin/python3 on the node gave no facts: exit 1"),
]


@pytest.mark.parametrize(("reason", "what"), REASONS)
@pytest.mark.parametrize("address", ["10.0.0.1", "[10.0.0.1]:2222"])
def test_the_same_trouble_is_the_same_sentence(reason: str, what: str, address: str) -> None:
    found = finding("reachability", "n1", reason.format(n=f"n1 ({address})"))
    assert (found.what, found.host) == (what, "n1")
    assert found.found
    assert found.wanted
    assert found.remedy


def test_fingerprints_are_what_was_found() -> None:
    unknown = (
        "host key of n1 (10.0.0.1) is not pinned; it offers ssh-ed25519 SHA256:abc: run `avadm bootstrap`"
    )
    changed = "host key changed: n2 (10.0.0.2) has ssh-rsa SHA256:a pinned and offers ssh-rsa SHA256:b"
    one, two = findings("x", {"n1": unknown, "n2": changed})
    assert (one.what, one.found) == ("The node's host key is not pinned.", "ssh-ed25519 SHA256:abc")
    assert (two.what, two.found) == (
        "The node's host key is not the pinned one.",
        "ssh-rsa SHA256:a pinned, ssh-rsa SHA256:b offered",
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
def test_sudo_that_refuses_is_told_from_a_command_that_fails(
    user: str, rc: int, stderr: str, refused: bool
) -> None:
    assert (refused_root(user, Output(rc, b"", stderr.encode())) is not None) is refused
