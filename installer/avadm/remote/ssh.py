"""The ssh fan-out: one kept connection per node, commands as root on many nodes at once."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Self

import paramiko

from avadm.remote import channel
from avadm.remote.connect import CONNECT_TIMEOUT, ConnectionFailed, Credentials, Target, connect
from avadm.remote.fleet import Result
from avadm.remote.hostkeys import KnownHosts
from avadm.remote.jump import JumpHost
from avadm.remote.keyfile import load_key
from avadm.remote.reason import Reason, Why

if TYPE_CHECKING:
    from avadm.site.load import SiteFile

UNREACHABLE = 255
TIMED_OUT = 124
KILLED = 137
SESSIONS = 8  # commands at once on one connection; sshd allows 10 (MaxSessions), if no one made it fewer
PATIENCE = 30.0  # seconds, at least, that a refused channel is tried again
REFUSED_PAUSE = 0.2  # seconds between two tries


class SshFleet:
    """Commands and files on nodes over ssh; implements `avadm.remote.fleet.Fleet`.

    Args:
        nodes: a loaded site file, which names its key and its pinned host keys itself, or explicit targets.
        known_hosts: file of pinned host keys; no other key is accepted.
        key: private key file, or None for credentials alone.
        credentials: what to log in with instead of the key file (bootstrap).
        limit: connections that are being set up at once; commands run on all nodes of a call at once.
        connect_timeout: seconds for each step of a connection.
    """

    def __init__(
        self,
        nodes: SiteFile | Iterable[Target],
        *,
        known_hosts: Path | None = None,
        key: Path | None = None,
        credentials: Credentials | None = None,
        limit: int = 32,
        connect_timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        if not isinstance(nodes, Iterable):
            key, known_hosts, nodes = nodes.ssh_key, nodes.known_hosts, targets(nodes)
        self._nodes = {t.node: _Node(t) for t in nodes}
        self._known = KnownHosts(known_hosts)
        self._key = key
        self._credentials = credentials
        self._connecting = threading.BoundedSemaphore(limit)
        self._connect_timeout = connect_timeout
        self._lock = threading.Lock()

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes, in the order given."""
        return list(self._nodes)

    def join(self, targets: Iterable[Target]) -> None:
        """Reach further nodes too, with the host keys that are pinned by now; those it has stay as they are."""
        self._known.reload()
        for target in targets:
            self._nodes.setdefault(target.node, _Node(target))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def run(self, node: str, command: str, *, timeout: float = 60.0, stdin: bytes | None = None) -> Result:
        """Run one shell command as root on one node.

        Args:
            node: node name; KeyError where the fleet has none of that name.
            command: POSIX shell text; at most about 100 KiB (pass more through stdin).
            timeout: seconds; then the command is ended on the node and rc is 124.
            stdin: what the command reads; empty where None.
        """
        held = self._nodes[node]
        closed = held.closed
        started, clock = time.time(), time.monotonic()

        def result(rc: int, out: bytes = b"", err: bytes = b"", error: Reason | None = None) -> Result:
            texts = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
            return Result(node, command, rc, *texts, started, time.monotonic() - clock, error)

        line = channel.wrap(command, held.target.user, timeout)
        tries, until = 0, time.monotonic() + max(timeout, PATIENCE)
        with held.sessions:
            while True:
                tries += 1
                try:
                    transport = self._transport(held, closed)
                    # A connection that had to be made first is not part of what the command took.
                    started, clock = time.time(), time.monotonic()
                    got = channel.execute(transport, line, timeout=timeout + channel.LATE, stdin=stdin)
                except ConnectionFailed as e:
                    if e.why is Why.AUTH_TIMEOUT and tries < 2:
                        continue  # on a new connection: a busy sshd or controller, no refusal
                    return result(UNREACHABLE, error=e.reason)
                except channel.ChannelRefused as e:
                    # A channel is free again when one of the others' commands ends: theirs are not cut off for it.
                    if time.monotonic() >= until:
                        text = f"{held.target} opens no channel: {e} (sshd's MaxSessions)"
                        return result(UNREACHABLE, error=Reason(Why.NO_CHANNEL, text))
                    time.sleep(REFUSED_PAUSE)
                    tries -= 1
                    continue
                except channel.NotSent as e:
                    held.drop()
                    if tries >= 2:
                        return result(UNREACHABLE, error=lost("connection lost", held.target, e))
                    continue
                except channel.Lost as e:
                    held.drop()
                    return result(
                        UNREACHABLE, error=lost("connection lost while the command ran", held.target, e)
                    )
                late = time.monotonic() - clock >= timeout
                if got.rc is None or (late and got.rc in (TIMED_OUT, KILLED)):
                    return result(TIMED_OUT, got.stdout, got.stderr, late_reason(timeout))
                return result(got.rc, got.stdout, got.stderr, channel.refused_root(held.target.user, got))

    def map(
        self, commands: Mapping[str, str], *, timeout: float = 60.0, stdin: bytes | None = None
    ) -> dict[str, Result]:
        """Run one command per node, all nodes at once; results in the order of the commands."""
        if not commands:
            return {}
        # A thread per node, not a bounded pool: load generators must run at the same time on every node.
        with ThreadPoolExecutor(len(commands), thread_name_prefix="ssh") as pool:
            futures = {
                node: pool.submit(self.run, node, command, timeout=timeout, stdin=stdin)
                for node, command in commands.items()
            }
            try:
                return {node: future.result() for node, future in futures.items()}
            except BaseException:
                # ctrl-C: the pool would wait for the slowest node.
                self.close(commands)
                raise

    def put(self, node: str, content: bytes, path: str, *, mode: int = 0o644) -> Result:
        """Write a file on a node as root: all of it or nothing, and private until its mode is set."""
        target = shlex.quote(path)
        command = (
            f'umask 077; t=$(mktemp {target}.XXXXXX) || exit 1; trap \'rm -f "$t"\' EXIT; cat > "$t" && '
            f'[ "$(wc -c < "$t")" -eq {len(content)} ] && chmod {mode:o} "$t" && mv -fT "$t" {target}'
        )
        # 1 MiB/s is far below any management network.
        return self.run(node, command, timeout=60.0 + len(content) / 2**20, stdin=content)

    def close(self, nodes: Iterable[str] | None = None) -> None:
        """Drop the connections of these nodes, or all, which ends what runs; the next command connects again."""
        chosen = [self._nodes[n] for n in (self._nodes if nodes is None else nodes)]
        # First all of them: what waits for its turn to connect then gives up at once.
        for held in chosen:
            held.closed += 1
        for held in chosen:
            held.drop()

    def _transport(self, held: _Node, closed: int) -> paramiko.Transport:
        """Return the node's kept connection, made where there is none and it was not closed since."""
        with held.lock:
            if held.transport is not None and held.transport.is_active():
                return held.transport
            credentials = self._login()
            with self._connecting:
                if held.closed != closed:
                    raise ConnectionFailed(
                        Why.CLOSED, f"stopped: the connection to {held.target} was closed by us"
                    )
                pinned = self._known.lookup(*held.target.entry_names)
                held.transport = connect(held.target, pinned, credentials, self._connect_timeout)
            return held.transport

    def _login(self) -> Credentials:
        """Return what to log in with, reading the key file once."""
        with self._lock:
            if self._credentials is None:
                self._credentials = Credentials([load_key(self._key)] if self._key else [])
            return self._credentials


def late_reason(timeout: float) -> Reason:
    """Return the reason of a command that did not end within its time."""
    return Reason(Why.LATE, f"time-out: not done after {timeout:g} s", timeout=timeout)


def lost(when: str, target: Target, error: Exception) -> Reason:
    """Return the reason of a connection that broke off."""
    return Reason(Why.LOST, f"{when}: {target}: {error}", when=when)


class _Node:
    """One node's connection, and how often it was closed by the fleet's user."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.closed = 0
        self.transport: paramiko.Transport | None = None
        self.lock = threading.Lock()
        self.sessions = threading.BoundedSemaphore(SESSIONS)

    def drop(self) -> None:
        """Close the connection, if any."""
        with self.lock:
            if self.transport is not None:
                self.transport.close()
                self.transport = None


def targets(site_file: SiteFile, names: Sequence[str] | None = None) -> list[Target]:
    """Return where the site's nodes (or those of these names) are reached; AvadmError for a jump host's bad key."""
    site, way = site_file.site, JumpHost.of(site_file)
    return [
        Target(n.name, str(n.address), site.ssh.port, site.ssh.user, way)
        for n in site.nodes
        if names is None or n.name in names
    ]
