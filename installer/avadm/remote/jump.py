"""The way to nodes through a jump host: one connection to it, one forwarded stream for each node."""

from __future__ import annotations

import shlex
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import paramiko

from avadm.errors import AvadmError
from avadm.remote.connect import ConnectionFailed, Credentials, Target, connect
from avadm.remote.hostkeys import KnownHosts, entry_name, parse_key
from avadm.remote.keyfile import load_key
from avadm.remote.reason import Why
from avadm.site.load import beside

if TYPE_CHECKING:
    from avadm.site.load import SiteFile

# Seconds for which a jump host that failed is not tried again: many nodes wait for the same answer.
GIVEN_UP = 5.0


class JumpHost:
    """The connection to a jump host, made when the first node asks for it.

    Args:
        target: where it is.
        pinned: its host key; no other is accepted.
        key: private key file that it lets in.
    """

    def __init__(self, target: Target, pinned: paramiko.PKey, key: Path) -> None:
        self.target = target
        self.pinned = pinned
        self.key = key
        self._lock = threading.Lock()
        self._transport: paramiko.Transport | None = None
        self._failed: tuple[float, ConnectionFailed] | None = None

    @classmethod
    def of(cls, site_file: SiteFile) -> JumpHost | None:
        """Return the site's jump host, None where it has none.

        Raises:
            AvadmError: its host key in the site file is no public key.
        """
        jump = site_file.site.ssh.jump
        if jump is None:
            return None
        try:
            pinned = parse_key(jump.host_key)
        except ValueError as e:
            raise AvadmError.of(
                "host-key-jump",
                where="ssh.jump.host_key",
                found=jump.host_key[:60],
                wanted="TYPE BASE64",
                e=e,
            ) from e
        key = site_file.ssh_key if jump.key is None else beside(site_file.path, jump.key)
        return cls(Target("jump host", jump.address, jump.port, jump.user), pinned, key)

    def open(self, target: Target, timeout: float) -> paramiko.Channel:
        """Return a stream to a node's sshd, forwarded by the jump host.

        Raises:
            Trouble: the jump host, or the node behind it, is not to be reached within `timeout` seconds.
        """
        transport = self._connected(timeout)
        try:
            return transport.open_channel(
                "direct-tcpip", (target.host, target.port), ("127.0.0.1", 0), timeout=timeout
            )
        except (paramiko.SSHException, EOFError, OSError) as e:
            # A refusal is reported as (code, text); anything else is a time-out or a lost connection.
            reply = e.args[-1] if isinstance(e, paramiko.ChannelException) else e
            text = f"not forwarded: {self.target} has no way to {target}, port {target.port} ({reply})"
            raise ConnectionFailed(Why.NOT_FORWARDED, text, port=target.port, message=reply) from e

    def close(self) -> None:
        """Drop the connection."""
        with self._lock:
            if self._transport is not None:
                self._transport.close()
                self._transport = None

    def pin(self, known: KnownHosts) -> None:
        """Pin its host key where OpenSSH, which Ansible uses, looks for it."""
        known.pin([entry_name(self.target.host, self.target.port)], self.pinned)

    def ssh_option(self, known_hosts: Path) -> str:
        """Return the option by which OpenSSH goes through it, as one shell word after ``-o``."""
        command = shlex.join(
            [
                "ssh", "-F", "/dev/null", "-o", "ForwardAgent=no",
                "-i", str(self.key), "-p", str(self.target.port), "-l", self.target.user,
                "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={known_hosts}",
                "-o", "GlobalKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=yes",
            ]
        )  # fmt: skip
        return shlex.quote(f"ProxyCommand={command} -W %h:%p {self.target.host}")

    def _connected(self, timeout: float) -> paramiko.Transport:
        with self._lock:
            if self._transport is not None and self._transport.is_active():
                return self._transport
            if self._failed is not None and time.monotonic() - self._failed[0] < GIVEN_UP:
                raise self._failed[1]
            try:
                self._transport = connect(
                    self.target, [self.pinned], Credentials([load_key(self.key)]), timeout
                )
            except ConnectionFailed as e:
                trouble = ConnectionFailed(Why.JUMP, f"jump host: {e.reason}", message=e.reason)
                self._failed = (time.monotonic(), trouble)
                raise trouble from e
            return self._transport
