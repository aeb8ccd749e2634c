"""Bootstrap of many nodes at once: host keys first, then the controller's key, root and python."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import paramiko

from avadm.bootstrap.host_keys import AT_ONCE, Offer, collect_host_keys
from avadm.bootstrap.reboot import reboot
from avadm.bootstrap.report import BootstrapState, BootstrapStep, NodeReport
from avadm.bootstrap.scripts import AUTHORIZE, prepare, python_package
from avadm.bootstrap.sudo import asks_password, let_sudo
from avadm.bootstrap.task import BootstrapTask
from avadm.remote import channel
from avadm.remote.connect import ConnectionFailed, Credentials, Target, connect
from avadm.remote.fleet import Result
from avadm.remote.hostkeys import KnownHosts, fingerprint
from avadm.remote.reason import Why
from avadm.remote.ssh import SshFleet

INSTALL_TIMEOUT = 300.0  # seconds; fetching package lists over a slow line and installing python


def bootstrap(job: BootstrapTask) -> list[NodeReport]:
    """Make every node ready for Ansible; a node's trouble ends that node's steps only.

    Returns:
        One report per target, in their order.
    """
    reports = {t.node: NodeReport(t.node) for t in job.targets}
    targets = _pin(job, reports)
    known = KnownHosts(job.known_hosts)
    refused = _let_in(job, targets, known, Credentials(job.existing), reports)
    if refused:
        password = job.password()
        for target, trouble in refused:
            if password is None:
                _no_way_in(reports[target.node], target, trouble, given=False)
        if password is not None:
            credentials = Credentials(password=password)
            again = _let_in(job, [t for t, _ in refused], known, credentials, reports)
            for target, trouble in again:
                _no_way_in(reports[target.node], target, trouble, given=True)
    _prepare(job, [t for t in targets if "key" in reports[t.node].steps], reports)
    reboot(job, [t for t in targets if reports[t.node].is_done("python")], reports)
    return list(reports.values())


def _pin(job: BootstrapTask, reports: dict[str, NodeReport]) -> list[Target]:
    """Learn and pin host keys; return the nodes whose key is pinned now."""
    known = KnownHosts(job.known_hosts)
    if job.jump is not None:
        job.jump.pin(known)
    offers = collect_host_keys(job.targets, known, job.declared, job.timeout)
    unknown = [o for o in offers if o.key and not o.pinned and not o.vouched]
    confirmed = bool(unknown) and job.confirm(unknown)
    good: list[Target] = []
    for offer in offers:
        report = reports[offer.target.node]
        if offer.trouble is not None:
            _no_host_key(report, offer, job)
        elif offer.key is not None:
            shown = f"{offer.key.get_name()} {fingerprint(offer.key)}"
            if not (offer.pinned or offer.vouched or confirmed):
                report.fail(
                    "host_key",
                    "The host key is not confirmed.",
                    remedy="Compare it with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the node's "
                    "console, then run bootstrap again and confirm (or --accept-host-keys).",
                )
                report.steps["host_key"] = BootstrapStep(BootstrapState.FAILED, f"not confirmed: {shown}")
                continue
            new = known.pin(offer.target.entry_names, offer.key)
            report.add(
                "host_key",
                BootstrapState.CHANGED if new else BootstrapState.OK,
                ("pinned " if new else "") + shown,
            )
            good.append(offer.target)
    known.save()
    return good


def _no_host_key(report: NodeReport, offer: Offer, job: BootstrapTask) -> None:
    """Say why a node's host key could not be learned."""
    trouble, target = offer.trouble, offer.target
    if trouble is None:
        return
    remedy = "Check the address, the cable, the power and that sshd runs; then run bootstrap again."
    where = ""
    if trouble.why in (Why.JUMP, Why.NOT_FORWARDED):
        where = "ssh.jump"
        remedy = "Try `ssh` to the jump host and from there to the node; then run bootstrap again."
    if trouble.why is Why.HOST_KEY_CHANGED:
        where = str(job.known_hosts)
        remedy = (
            "Either the node was reinstalled or something answers in its place. On its console run "
            "`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` and compare with the offered fingerprint. "
            "Only if they agree, forget the old key: "
            + " && ".join(f"ssh-keygen -R '{n}' -f {job.known_hosts}" for n in target.entry_names)
            + " (and correct host_key in the site file, where it has one), then run bootstrap again."
        )
    report.fail("host_key", trouble.reason, where=where, remedy=remedy)


def _let_in(
    job: BootstrapTask,
    targets: Sequence[Target],
    known: KnownHosts,
    credentials: Credentials,
    reports: dict[str, NodeReport],
) -> list[tuple[Target, ConnectionFailed]]:
    """Install the controller's key where it is not let in yet; return the nodes that let nothing in."""

    def one(target: Target) -> tuple[Target, ConnectionFailed] | None:
        report = reports[target.node]
        pinned = known.lookup(*target.entry_names)
        try:
            connect(target, pinned, Credentials([job.key.private]), job.timeout).close()
        except ConnectionFailed as trouble:
            if trouble.why is not Why.AUTH:
                report.fail("key", trouble.reason, remedy="Run bootstrap again when the node answers.")
                return None
        else:
            report.add("key", BootstrapState.OK, "the controller's key is let in")
            return None
        try:
            _authorize(job, target, pinned, credentials, report)
        except ConnectionFailed as trouble:
            if trouble.why is Why.AUTH:
                return target, trouble
            report.fail("key", trouble.reason, remedy="Run bootstrap again when the node answers.")
        return None

    if not targets:
        return []
    with ThreadPoolExecutor(min(AT_ONCE, len(targets)), thread_name_prefix="key") as pool:
        return [r for r in pool.map(one, targets) if r is not None]


def _authorize(
    job: BootstrapTask,
    target: Target,
    pinned: Sequence[paramiko.PKey],
    credentials: Credentials,
    report: NodeReport,
) -> None:
    """Put the controller's key into the login's authorized_keys and see that it is let in."""
    transport = connect(target, pinned, credentials, job.timeout)
    try:
        # "root" so that no sudo is put before it: the file belongs to the login user.
        line = channel.wrap(AUTHORIZE, "root", 30)
        got = channel.execute(transport, line, timeout=35, stdin=f"{job.key.line}\n".encode())
    except (channel.NotSent, channel.Lost) as e:
        raise ConnectionFailed(Why.LOST, f"connection lost: {target}: {e}", when="connection lost") from e
    finally:
        transport.close()
    reply = got.stdout.decode("utf-8", "replace").split()
    if got.rc != 0 or not reply or reply[-1] not in ("present", "added"):
        report.fail(
            "key",
            f"the controller's key could not be written on {target}",
            where=f"~{target.user}/.ssh/authorized_keys",
            found=got.stderr.decode("utf-8", "replace").strip()[-300:] or f"exit status {got.rc}",
            remedy="Make that folder writable for the login (is the disk full or read-only?).",
        )
        return
    try:
        connect(target, pinned, Credentials([job.key.private]), job.timeout).close()
    except ConnectionFailed as e:
        report.fail(
            "key",
            f"the controller's key is in place but {target} does not let it in",
            found=e.reason,
            remedy="On the node see `journalctl -u ssh`: sshd_config may forbid it (PubkeyAuthentication, "
            "PermitRootLogin, AuthorizedKeysFile), or the home folder is writable by others (StrictModes).",
        )
        return
    report.add("key", BootstrapState.CHANGED, "the controller's key was installed")


def _no_way_in(report: NodeReport, target: Target, trouble: ConnectionFailed, *, given: bool) -> None:
    """Say that a node let nothing in."""
    remedy = (
        f"Check the password and that sshd lets {target.user} in by password (PasswordAuthentication, "
        "PermitRootLogin), or use --existing-key."
        if given
        else f"Give a way in: --password-file FILE, AVADM_SSH_PASSWORD, or --existing-key with a key that "
        f"{target.user} has on the node."
    )
    report.fail("key", trouble.reason, remedy=remedy)


def _prepare(job: BootstrapTask, targets: Sequence[Target], reports: dict[str, NodeReport]) -> None:
    """Check root and python on the nodes that let the controller's key in."""
    ready = [t for t in targets if reports[t.node].state is not BootstrapState.FAILED]
    script = prepare(job.interpreter, job.install_python, job.proxy)
    with SshFleet(ready, known_hosts=job.known_hosts, key=job.key.path, connect_timeout=job.timeout) as fleet:
        results = fleet.map({t.node: script for t in ready}, timeout=INSTALL_TIMEOUT)
        granted = let_sudo([t for t in ready if asks_password(results[t.node])], job, reports)
        results |= fleet.map(dict.fromkeys(granted, script), timeout=INSTALL_TIMEOUT)
    for target in ready:
        if reports[target.node].state is not BootstrapState.FAILED:
            _judge(job, target, results[target.node], reports[target.node], target.node in granted)


def _judge(job: BootstrapTask, target: Target, result: Result, report: NodeReport, granted: bool) -> None:
    """Turn the script's answer into steps."""
    lines = result.stdout.split("\n")
    reply = result.stderr.strip()[-300:]
    if result.error is not None or "root" not in lines:
        no_sudo = result.error is None or result.error.why is Why.NO_ROOT
        if target.user != "root" and no_sudo:
            report.fail(
                "root",
                f"{target.user} on {target} cannot become root without a password",
                where="/etc/sudoers.d",
                found=reply or f"exit status {result.rc}",
                remedy=f"Give its password for sudo (--sudo-password-file FILE, AVADM_SUDO_PASSWORD), by which bootstrap "
                f"writes that rule; or as root on the node: echo '{target.user} ALL=(ALL) NOPASSWD: ALL' > "
                f"/etc/sudoers.d/avadm && chmod 440 /etc/sudoers.d/avadm (install sudo where it is missing).",
            )
        else:
            report.fail("root", result.error or f"{target} ran nothing: {reply}")
        return
    by = "root" if target.user == "root" else f"{target.user} by sudo"
    report.add("root", BootstrapState.CHANGED if granted else BootstrapState.OK, by)
    version = next((w for line in lines if (w := line.partition(" "))[0] in ("python", "installed")), None)
    if result.rc == 0 and version is not None:
        new = version[0] == "installed"
        report.add(
            "python", BootstrapState.CHANGED if new else BootstrapState.OK, f"{job.interpreter} {version[2]}"
        )
    elif result.rc == 3:
        report.fail(
            "python",
            f"{job.interpreter} is missing, or lacks modules, on {target}",
            remedy=f"Install {python_package(job.interpreter)} on it, or run without --no-install-python.",
        )
    else:
        report.fail(
            "python",
            f"{job.interpreter} could not be installed on {target}",
            found=reply or f"exit status {result.rc}",
            remedy=f"Try `apt-get update && apt-get install {python_package(job.interpreter)}` on the node: "
            "are its package sources (and packages.proxy in the site file) reachable?",
        )
