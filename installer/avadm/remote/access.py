"""Why nodes cannot be asked, for people: the same words for all nodes of the same trouble, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from avadm.findings import Finding
from avadm.remote.reason import Reason, Why

WANTED = "an answer over ssh"
# What was found, what it says, what to do; from the facts of the reason.
_KINDS = {
    Why.HOST_KEY_UNKNOWN: (
        "{offered}",
        "The node's host key is not pinned.",
        "Compare it on the node's console and run `avadm bootstrap`, which pins it.",
    ),
    Why.HOST_KEY_CHANGED: (
        "{pinned} pinned, {offered} offered",
        "The node's host key is not the pinned one.",
        "The node was reinstalled, or something answers in its place: `avadm bootstrap` says how to find out.",
    ),
    Why.AUTH: (
        "authentication failed",
        "The node did not let {user} in by {by}.",
        "Is ssh.user right? Then run `avadm bootstrap`, which installs the controller's key.",
    ),
    Why.AUTH_TIMEOUT: (
        "time-out of the authentication",
        "The node did not answer the login of {user} within {timeout:g} s.",
        "Check the load of the controller and of the node (also the node's DNS and directory), then run it again.",
    ),
    Why.REFUSED: (
        "connection refused",
        "Nothing listens on port {port} of the node.",
        "Start sshd there, or correct the node's address or ssh.port.",
    ),
    Why.TIMEOUT: (
        "time-out",
        "The node did not answer within {timeout:g} s.",
        "Check power, cable, firewall and load of the node, and its address.",
    ),
    Why.NO_ROUTE: (
        "no route",
        "There is no way to the node.",
        "Check power, cable, the controller's routes, and the node's address.",
    ),
    Why.NO_SSH: (
        "no ssh",
        "What listens on port {port} of the node speaks no ssh.",
        "Correct ssh.port or the node's address; or sshd is overloaded: see its log on the node.",
    ),
    Why.JUMP: (
        "{message}",
        "The jump host does not let us through.",
        "`ssh.jump` in the site file says where it is and with which key: try that by ssh on the controller.",
    ),
    Why.NOT_FORWARDED: (
        "{message}",
        "The jump host has no way to port {port} of the node.",
        "Check power and cable of the node, its address, the jump host's routes, and that it allows TCP forwarding.",
    ),
    Why.LOST: (
        "{when}",
        "The connection broke off.",
        "Run it again; if it stays, look at the node's network, load and log.",
    ),
    Why.LATE: (
        "not finished within {timeout:g} s",
        "The node lets us in, but what was started there did not finish within {timeout:g} s.",
        "Check the node's load, disks and package source (`avadm ssh NODE uptime`), then run it again.",
    ),
    Why.NO_ROOT: (
        "no root",
        "The login {user} cannot become root without a password ({message}).",
        "Let the login become root without a password: `avadm bootstrap` shows the line for /etc/sudoers.d.",
    ),
}
_REST = "If it never worked, run `avadm bootstrap`; else check power, cable, sshd and its log."


def finding(check: str, node: str, reason: str) -> Finding:
    """Return the finding for a node that cannot be asked.

    Args:
        check: identifier of the check.
        node: name of the node.
        reason: what the fleet reported (`Result.error`), or what else came of asking.
    """
    if isinstance(reason, Reason) and reason.why in _KINDS:
        found, what, remedy = _KINDS[reason.why]
        found, what = found.format(**reason.facts), what.format(**reason.facts)
    else:
        what = nameless(node, reason).replace(f" on {node} ", " on the node ")
        found, remedy = "no answer", _REST
    return Finding(check=check, what=what, where="", found=found, wanted=WANTED, remedy=remedy, host=node)


def findings(check: str, silent: Mapping[str, str]) -> list[Finding]:
    """Return a finding for each node that cannot be asked, by the reasons that the fleet gave."""
    return [finding(check, node, silent[node]) for node in sorted(silent)]


def nameless(node: str, text: str) -> str:
    """Return a text with "the node" for ``NAME (ADDRESS)``, so that the same trouble of many nodes is one."""
    return re.sub(rf"\b{re.escape(node)} \((\[[^\]]*\]:\d+|[^()]*)\)", "the node", text)
