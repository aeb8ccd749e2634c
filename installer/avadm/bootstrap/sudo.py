"""The right to become root without a password, granted once with the password that sudo asks for."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from avadm.bootstrap.host_keys import AT_ONCE
from avadm.bootstrap.report import NodeReport
from avadm.bootstrap.scripts import grant
from avadm.bootstrap.task import BootstrapTask
from avadm.remote import channel
from avadm.remote.connect import ConnectionFailed, Credentials, Target, connect
from avadm.remote.fleet import Result
from avadm.remote.hostkeys import KnownHosts
from avadm.remote.reason import Why

GRANT_TIMEOUT = 30.0  # seconds; sudo itself waits a few after a wrong password
WRONG = ("incorrect password", "Sorry, try again")


def asks_password(result: Result) -> bool:
    """Return whether a login could not become root for want of a password."""
    return bool(result.error and result.error.why is Why.NO_ROOT and "password is required" in result.stderr)


def let_sudo(targets: Sequence[Target], job: BootstrapTask, reports: dict[str, NodeReport]) -> list[str]:
    """Write the rule for sudo where there is a password for it; return the nodes that have it now.

    A node on which that fails has its reason in its report; without a password nothing is tried.
    """
    password = job.sudo_password() if targets else None
    if password is None:
        return []
    stdin = f"{password}\n".encode()
    known = KnownHosts(job.known_hosts)

    def one(target: Target) -> bool:
        report = reports[target.node]
        try:
            pinned = known.lookup(*target.entry_names)
            transport = connect(target, pinned, Credentials([job.key.private]), job.timeout)
            try:
                got = channel.execute(transport, grant(target.user), timeout=GRANT_TIMEOUT, stdin=stdin)
            finally:
                transport.close()
        except ConnectionFailed as trouble:
            report.fail("root", trouble.reason, remedy="Run bootstrap again when the node answers.")
            return False
        except (channel.NotSent, channel.Lost) as e:
            report.fail("root", f"connection lost: {target}: {e}", remedy="Run bootstrap again.")
            return False
        if b"granted" in got.stdout.split():
            return True
        _refused(report, target, got)
        return False

    with ThreadPoolExecutor(min(AT_ONCE, len(targets)), thread_name_prefix="sudo") as pool:
        return [t.node for t, done in zip(targets, pool.map(one, targets), strict=True) if done]


def _refused(report: NodeReport, target: Target, got: channel.Output) -> None:
    """Say why sudo did not do it."""
    message = got.stderr.decode("utf-8", "replace").strip()
    if any(text in message for text in WRONG):
        report.fail(
            "root",
            f"sudo on {target} does not take this password for {target.user}",
            where="--sudo-password-file, AVADM_SUDO_PASSWORD, or else the login's password",
            found="a wrong password",
            remedy=f"Give the one that `sudo` asks {target.user} for on the node. Nothing was changed there.",
        )
        return
    report.fail(
        "root",
        f"{target.user} on {target} cannot be let become root",
        where="/etc/sudoers.d/avadm",
        found=message[-300:] or ("no answer in time" if got.rc is None else f"exit status {got.rc}"),
        remedy=f"May {target.user} run everything by sudo (`sudo -l`)? Nothing was changed there.",
    )
