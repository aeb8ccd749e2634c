"""One command over one ssh channel: stdin passed, both outputs drained at once, bounded in time."""

from __future__ import annotations

import contextlib
import re
import select
import shlex
import threading
import time
from dataclasses import dataclass

import paramiko

from avadm.remote.reason import Reason, Why

CHUNK = 1 << 16  # bytes read at once
GRACE = 2.0  # seconds: between an exit status and the last output; also before a kill after the time-out
NOT_FOUND = 127  # the shell's exit status for a command that is not there
REFUSED_TOO = "Unable to open channel."
NO_PROXY = "env no_proxy='*' NO_PROXY='*'"
"""Before each command: what it calls is in the site, whatever proxy /etc/environment of a node names.

apt keeps its proxy: it takes `*` for a name.
"""
LATE = 5.0  # seconds beyond the time-out that the node has to end the command itself


class NotSent(Exception):
    """The connection was dead before the command went out: safe to connect again and send it."""


class ChannelRefused(Exception):
    """The node opens no further channel on a connection that is good: others' commands on it continue."""


class Lost(Exception):
    """The connection died while the command ran: how it ended is unknown."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a channel gave back: exit status (None when time ran out), stdout, stderr."""

    rc: int | None
    stdout: bytes
    stderr: bytes


def wrap(command: str, user: str, timeout: float) -> str:
    """Return the line that runs a shell command as root and ends it on the node when time is over.

    Closing an ssh channel does not end what runs behind it, so coreutils' timeout does (its exit status is
    124), and kills what ignores TERM after GRACE seconds (137).
    """
    sudo = "" if user == "root" else "sudo -n "
    return f"{sudo}timeout -k {GRACE:g} {timeout:g} {NO_PROXY} sh -c {shlex.quote(command)}"


def refused_root(user: str, got: Output) -> Reason | None:
    """Return why sudo did not run the line that `wrap` made; None where it did."""
    lines = got.stderr.decode("utf-8", "replace").strip().splitlines()
    message = lines[-1] if lines else ""
    missing = got.rc == NOT_FOUND and re.search(r"\bsudo\b.*not found", message)
    if user == "root" or not (missing or (got.rc == 1 and re.match(r"sudo: |Sorry, user ", message))):
        return None
    message = message.removeprefix("sudo: ")[:200]
    text = f"no root: {user} cannot become root without a password ({message})"
    return Reason(Why.NO_ROOT, text, user=user, message=message)


def execute(transport: paramiko.Transport, line: str, *, timeout: float, stdin: bytes | None) -> Output:
    """Run a line on an open connection.

    Args:
        transport: an authenticated connection.
        line: what the node's shell gets.
        timeout: seconds until the channel is given up.
        stdin: what the command reads; None for an empty one.

    Raises:
        Refused: the node takes no further channel now (sshd's MaxSessions); nothing was sent.
        NotSent: the connection could not take the command.
        Lost: it died before the command's exit status came.
    """
    deadline = time.monotonic() + timeout
    try:
        channel = transport.open_session(timeout=timeout)
    except paramiko.ChannelException as e:
        raise ChannelRefused(str(e)) from e
    except (paramiko.SSHException, EOFError, OSError) as e:
        # paramiko keeps one exception for all threads: of two channels that are refused at once one gets this text alone.
        if str(e) == REFUSED_TOO and transport.is_active():
            raise ChannelRefused(str(e)) from e
        raise NotSent(str(e)) from e
    try:
        try:
            channel.exec_command(line)
        except (paramiko.SSHException, EOFError, OSError) as e:
            raise Lost(str(e) or "channel closed") from e
        _feed(channel, stdin or b"")
        return _drain(transport, channel, deadline)
    finally:
        channel.close()


def _feed(channel: paramiko.Channel, stdin: bytes) -> None:
    """Send stdin and its end; in a thread of its own where the node's window could make it wait."""

    def send() -> None:
        # A command may end without reading its stdin: that is its own affair.
        with contextlib.suppress(OSError, paramiko.SSHException, EOFError):
            if stdin:
                channel.sendall(stdin)
            channel.shutdown_write()

    if len(stdin) < CHUNK:
        send()
    else:
        threading.Thread(target=send, daemon=True, name="ssh-stdin").start()


def _drain(transport: paramiko.Transport, channel: paramiko.Channel, deadline: float) -> Output:
    """Read both outputs as they come until the command has ended."""
    out: list[bytes] = []
    err: list[bytes] = []
    poll = select.poll()
    poll.register(channel.fileno(), select.POLLIN)
    ended: float | None = None
    while True:
        while channel.recv_ready():
            out.append(channel.recv(CHUNK))
        while channel.recv_stderr_ready():
            err.append(channel.recv_stderr(CHUNK))
        now = time.monotonic()
        finished = channel.eof_received or channel.closed
        if finished and not (channel.recv_ready() or channel.recv_stderr_ready()):
            # After the end of output the descriptor stays readable for ever, so wait for the status instead.
            if channel.status_event.wait(max(0.0, deadline - now)):
                break
            return Output(None, b"".join(out), b"".join(err))
        if channel.exit_status_ready():
            # A child left in the background may hold the outputs open: do not wait for it.
            ended = ended or now
            if now - ended > GRACE:
                break
        if now >= deadline:
            return Output(None, b"".join(out), b"".join(err))
        poll.poll(1000 * min(0.5, deadline - now))
    rc = channel.exit_status
    if rc == -1 and not transport.is_active():
        raise Lost("the connection broke")
    return Output(rc, b"".join(out), b"".join(err))
