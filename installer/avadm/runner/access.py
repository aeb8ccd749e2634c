"""Why nodes cannot be asked, for people: the same words for all nodes of the same trouble, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from avadm.findings import Finding

WANTED = "an answer over ssh"
# Reason (connect.py, ssh.py), with the node's name and address taken out; what it says; what to do.
_KINDS = (
    (
        r"host key of the node is not pinned; it offers (?P<found>[^:]* SHA256:\S+?)(: run .*)?",
        "The node's host key is not pinned.",
        "Compare it on the node's console and run `avadm bootstrap`, which pins it.",
    ),
    (
        r"host key changed: the node has (?P<pinned>.*) pinned and offers (?P<offered>.*)",
        "The node's host key is not the pinned one.",
        "The node was installed anew, or something answers in its place: `avadm bootstrap` says how to find out.",
    ),
    (
        r"(?P<found>authentication failed): .* let (?P<user>\S+) in by (?P<by>.*?)(; the server offers (?P<offers>.*))?",
        "The node did not let {user} in by {by}.",
        "Is ssh.user right? Then run `avadm bootstrap`, which installs the controller's key.",
    ),
    (
        r"(?P<found>connection refused): .*port (?P<port>\d+)",
        "Nothing listens on port {port} of the node.",
        "Start sshd there, or correct the node's address or ssh.port.",
    ),
    (
        r"(?P<found>time-out): the node did not answer within (?P<time>.*)",
        "The node did not answer within {time}.",
        "Check power, cable, firewall and load of the node, and its address.",
    ),
    (
        r"(?P<found>no route): .*",
        "There is no way to the node.",
        "Check power, cable, the controller's routes, and the node's address.",
    ),
    (
        r"(?P<found>no ssh): .*port (?P<port>\d+).*",
        "What listens on port {port} of the node speaks no ssh.",
        "Correct ssh.port or the node's address; or sshd is overloaded: see its log on the node.",
    ),
    (
        r"jump host: (?P<found>.*)",
        "The jump host does not let us through.",
        "`ssh.jump` in the site file says where it is and with which key: try that by ssh on the controller.",
    ),
    (
        r"not forwarded: jump host \([^)]*\) has no way to the node, port (?P<port>\d+) \((?P<found>.*)\)",
        "The jump host has no way to port {port} of the node.",
        "Check power and cable of the node, its address, the jump host's routes, and that it allows TCP forwarding.",
    ),
    (
        r"(?P<found>connection lost[^:]*): .*",
        "The connection broke off.",
        "Run it again; if it stays, look at the node's network, load and log.",
    ),
    (
        r"(?P<found>no root): (?P<what>.*)",
        "{what}.",
        "Let the login become root without a password: `avadm bootstrap` shows the line for /etc/sudoers.d.",
    ),
)
_REST = "If it never worked, run `avadm bootstrap`; else check power, cable, sshd and its log."


def finding(check: str, node: str, reason: str) -> Finding:
    """Return the finding for a node that cannot be asked.

    Args:
        check: identifier of the check.
        node: name of the node.
        reason: what the fleet said (`Result.error`), or what else came of asking.
    """
    text = nameless(node, reason)
    for pattern, what, remedy in _KINDS:
        if match := re.fullmatch(pattern, text, re.DOTALL):
            words = {k: v or "" for k, v in match.groupdict().items()}
            said = what.format(**words)
            if words.get("pinned"):
                words["found"] = "{pinned} pinned, {offered} offered".format(**words)
            return Finding(
                check=check,
                what=said[0].upper() + said[1:],
                where="",
                found=words.get("found", ""),
                wanted=WANTED,
                remedy=remedy,
                host=node,
            )
    text = text.replace(f" on {node} ", " on the node ")
    return Finding(
        check=check, what=text, where="", found="no answer", wanted=WANTED, remedy=_REST, host=node
    )


def findings(check: str, silent: Mapping[str, str]) -> list[Finding]:
    """Return a finding for each node that cannot be asked, by the reasons that the fleet gave."""
    return [finding(check, node, silent[node]) for node in sorted(silent)]


def nameless(node: str, text: str) -> str:
    """Return a text with "the node" for ``NAME (ADDRESS)``, so that the same trouble of many nodes is one."""
    return re.sub(rf"\b{re.escape(node)} \((\[[^\]]*\]:\d+|[^()]*)\)", "the node", text)
