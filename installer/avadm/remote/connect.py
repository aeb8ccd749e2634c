"""One ssh connection: TCP, host key against its pin, authentication; every failure becomes a reason."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import paramiko

from avadm.remote.hostkeys import entry_name, fingerprint
from avadm.remote.reason import Reason, Why

# paramiko logs each refused connection with a traceback; people get the reason from Trouble instead.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

CONNECT_TIMEOUT = 10.0  # seconds for each of TCP, banner, key exchange, authentication
MAX_LOAD_FACTOR = 4.0
"""On a busy controller, the wait for an authentication is at most this many times as long, as waits of `avadm accept` are."""
KEEPALIVE = 15  # seconds; finds a dead peer well before a TCP time-out does
LOOK = 1.0
"""Seconds between two looks of a silent connection at its keepalive; with paramiko's own tenth 256 of them take 6 % of a core."""
# Order in which host keys are asked for where nothing is pinned.
HOST_KEY_TYPES = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)


class ConnectionFailed(Exception):
    """A connection could not be made; the arguments are those of Reason."""

    def __init__(self, why: Why, text: str, **facts: object) -> None:
        self.why, self.reason = why, Reason(why, text, **facts)
        super().__init__(text)


class Way(Protocol):
    """Another way to a node's sshd than a connection of our own."""

    def open(self, target: Target, timeout: float) -> paramiko.Channel:
        """Return a connected stream; Trouble where there is none within `timeout` seconds."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a node's sshd is.

    Attributes:
        node: node name.
        host: address (or a name that resolves).
        port: TCP port.
        user: login; any but root needs sudo.
        way: how it is reached where the controller cannot connect to it itself.
    """

    node: str
    host: str
    port: int = 22
    user: str = "root"
    way: Way | None = field(default=None, compare=False, repr=False)

    @property
    def entry_names(self) -> tuple[str, str]:
        """The names under which known_hosts keeps this node's key: by node name and by address."""
        return entry_name(self.node, self.port), entry_name(self.host, self.port)

    def __str__(self) -> str:
        """Return ``node (host)``, with the port where it is not 22."""
        return f"{self.node} ({entry_name(self.host, self.port)})"


@dataclass(frozen=True)
class Credentials:
    """What to log in with, tried in this order.

    Attributes:
        keys: private keys.
        password: password, kept out of every repr.
    """

    keys: Sequence[paramiko.PKey] = ()
    password: str | None = None

    def __repr__(self) -> str:
        return f"Credentials(keys={len(self.keys)}, password={'set' if self.password else 'none'})"


def handshake(
    target: Target, prefer: Sequence[str] = (), timeout: float = CONNECT_TIMEOUT
) -> paramiko.Transport:
    """Return a transport that has exchanged keys but has not checked or authenticated anything.

    Args:
        target: where to connect.
        prefer: host key types to ask for first.
        timeout: seconds for TCP, again for the banner, and again for the key exchange.

    Raises:
        Trouble: where that cannot be done.
    """
    transport: paramiko.Transport | None = None
    try:
        transport = paramiko.Transport(_stream(target, timeout))
        transport.banner_timeout = timeout
        options = transport.get_security_options()
        # A pinned "ssh-rsa" key signs with SHA-2; ssh-rsa itself as a signature is SHA-1 and stays off.
        wanted = [t for p in prefer for t in (("rsa-sha2-512", "rsa-sha2-256") if p == "ssh-rsa" else (p,))]
        known = set(options.key_types)
        options.key_types = [t for t in dict.fromkeys([*wanted, *HOST_KEY_TYPES]) if t in known]
        # Twice: were it the same as the banner's, either could be the first to give up. It gives up without a word.
        transport.start_client(timeout=2 * timeout)
        transport.get_remote_server_key()
    except ConnectionFailed:
        raise
    except Exception as e:
        if transport is not None:
            transport.close()
        raise _trouble(target, e, timeout) from e
    return transport


def _stream(target: Target, timeout: float) -> socket.socket | paramiko.Channel:
    """Return a connected stream to a node's sshd."""
    if target.way is not None:
        return target.way.open(target, timeout)
    sock = socket.create_connection((target.host, target.port), timeout=timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def connect(
    target: Target,
    pinned: Sequence[paramiko.PKey],
    credentials: Credentials,
    timeout: float = CONNECT_TIMEOUT,
) -> paramiko.Transport:
    """Return an authenticated transport to a node whose host key is the pinned one.

    Args:
        target: where to connect.
        pinned: host keys accepted for it; none means that nothing is accepted.
        credentials: what to log in with.
        timeout: seconds for each step; authentication gets more while the controller is busy (`load_factor`).

    Raises:
        Trouble: refused, time-out, no route, unknown or changed host key, failed authentication.
    """
    transport = handshake(target, [k.get_name() for k in pinned], timeout)
    try:
        check_host_key(target, pinned, transport.get_remote_server_key())
        _authenticate(target, transport, credentials, timeout * load_factor())
    except ConnectionFailed:
        transport.close()
        raise
    except Exception as e:
        transport.close()
        raise _trouble(target, e, timeout) from e
    transport.set_keepalive(KEEPALIVE)
    transport.sock.settimeout(LOOK)
    return transport


def check_host_key(target: Target, pinned: Sequence[paramiko.PKey], offered: paramiko.PKey) -> None:
    """Raise Trouble unless the offered host key is one of the pinned ones."""
    shown = f"{offered.get_name()} {fingerprint(offered)}"
    if not pinned:
        raise ConnectionFailed(
            Why.HOST_KEY_UNKNOWN,
            f"host key of {target} is not pinned; it offers {shown}: run `avadm bootstrap`",
            offered=shown,
        )
    if offered not in pinned:
        held = ", ".join(f"{k.get_name()} {fingerprint(k)}" for k in pinned)
        raise ConnectionFailed(
            Why.HOST_KEY_CHANGED,
            f"host key changed: {target} has {held} pinned and offers {shown}",
            pinned=held,
            offered=shown,
        )


def load_factor() -> float:
    """Return how many times as long to wait on this machine now: its load per core, from 1 to `MAX_LOAD_FACTOR`."""
    try:
        load = os.getloadavg()[0]
    except OSError:
        return 1.0
    return min(max(load / len(os.sched_getaffinity(0)), 1.0), MAX_LOAD_FACTOR)


def _authenticate(
    target: Target, transport: paramiko.Transport, credentials: Credentials, timeout: float
) -> None:
    """Log in with the first credential that the server takes; it has `timeout` seconds to answer each."""
    transport.auth_timeout = timeout
    ways: list[tuple[str, Callable[[], object]]] = [
        (f"publickey {k.get_name()}", partial(transport.auth_publickey, target.user, k))
        for k in credentials.keys
    ]
    if credentials.password is not None:
        ways.append(("password", partial(transport.auth_password, target.user, credentials.password)))
    allowed: list[str] = []
    tried: list[str] = []
    for name, way in ways:
        if not transport.is_active():
            break  # the server hung up: too many attempts
        tried.append(name)
        try:
            way()
        except paramiko.BadAuthenticationType as e:
            allowed = e.allowed_types
        except paramiko.AuthenticationException as e:
            # paramiko has no class of its own for this. No other way is tried: the server still owes the answer to this one.
            if "timeout" in str(e):
                text = f"time-out: {target} did not answer the login of {target.user} by {name} within {timeout:g} s"
                raise ConnectionFailed(
                    Why.AUTH_TIMEOUT, text, user=target.user, by=name, timeout=timeout
                ) from e
        if transport.is_authenticated():
            return
    offers = f"; the server offers {', '.join(allowed)}" if allowed else ""
    by = " or ".join(tried) or "nothing"
    text = f"authentication failed: {target} did not let {target.user} in by {by}{offers}"
    raise ConnectionFailed(Why.AUTH, text, user=target.user, by=by)


def _trouble(target: Target, e: Exception, timeout: float) -> ConnectionFailed:
    """Return the reason behind what a socket or paramiko raised."""
    if isinstance(e, ConnectionRefusedError):
        text = f"connection refused: nothing listens on {target}, port {target.port}"
        return ConnectionFailed(Why.REFUSED, text, port=target.port)
    if isinstance(e, TimeoutError) or "No existing session" in str(e):
        return ConnectionFailed(
            Why.TIMEOUT, f"time-out: {target} did not answer within {timeout:g} s", timeout=timeout
        )
    if isinstance(e, socket.gaierror):
        return ConnectionFailed(Why.NAME, f"unknown name: {target} does not resolve ({e.strerror})")
    if isinstance(e, OSError) and e.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return ConnectionFailed(Why.NO_ROUTE, f"no route: {target} cannot be reached ({e.strerror})")
    if isinstance(e, paramiko.SSHException) and "banner" in str(e).lower():
        text = f"no ssh: {target}, port {target.port}, sent no ssh banner"
        return ConnectionFailed(Why.NO_SSH, text, port=target.port)
    text = str(e) or type(e).__name__
    return ConnectionFailed(Why.PROTOCOL, f"ssh failed: {target}: {text}")
