"""An sshd of the tests' own, in process: real protocol, commands run by this machine's shell."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import paramiko
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def new_key(path: Path) -> paramiko.PKey:
    """Write a new ed25519 private key and return it."""
    raw = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    path.write_bytes(raw)
    path.chmod(0o600)
    return paramiko.PKey.from_path(path)


@dataclass
class Server(paramiko.ServerInterface):
    """Answers on 127.0.0.1; `close` ends it.

    Attributes:
        host_key: what it shows of itself.
        accept: public keys let in.
        password: password let in, or None for no password logins.
        env: environment of the commands.
        commands: the lines that were run, in order.
        auth_delays: seconds that each authentication waits for its answer, one after the other; then none.
        sessions: channels at once that it takes, as sshd's MaxSessions; ``refused`` counts those beyond.
    """

    host_key: paramiko.PKey
    accept: list[paramiko.PKey] = field(default_factory=list)
    password: str | None = None
    env: dict[str, str] | None = None
    commands: list[str] = field(default_factory=list)
    auth_delays: list[float] = field(default_factory=list)
    sessions: int = 100
    refused: int = 0
    running: int = 0

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.transports: list[paramiko.Transport] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.host_key)
            with contextlib.suppress(Exception):
                transport.start_server(event=threading.Event(), server=self)
                self.transports.append(transport)

    def drop_connections(self) -> None:
        """Cut every connection, as a crash of the node would."""
        for transport in self.transports:
            transport.close()
        self.transports = []

    def close(self) -> None:
        """Stop listening and cut every connection."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the accept
        self._socket.close()
        self.drop_connections()

    def get_allowed_auths(self, username: str) -> str:
        return "publickey" if self.password is None else "publickey,password"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        self._delay()
        good = key in self.accept or key.get_base64() in self._authorized()
        return paramiko.AUTH_SUCCESSFUL if good else paramiko.AUTH_FAILED

    def _delay(self) -> None:
        if self.auth_delays:
            time.sleep(self.auth_delays.pop(0))

    def _authorized(self) -> str:
        path = Path((self.env or {}).get("HOME", "/nonexistent")) / ".ssh" / "authorized_keys"
        return path.read_text() if path.exists() else ""

    def check_auth_password(self, username: str, password: str) -> int:
        self._delay()
        good = self.password is not None and password == self.password
        return paramiko.AUTH_SUCCESSFUL if good else paramiko.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if self.running >= self.sessions:
            self.refused += 1
            return paramiko.OPEN_FAILED_CONNECT_FAILED  # as OpenSSH says it
        self.running += 1
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        self.commands.append(command.decode())
        threading.Thread(target=self._execute, args=(channel, command.decode()), daemon=True).start()
        return True

    def _execute(self, channel: paramiko.Channel, command: str) -> None:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
        )

        def feed() -> None:
            with contextlib.suppress(OSError):
                while data := channel.recv(65536):
                    process.stdin.write(data)
                process.stdin.close()

        def copy(source, send) -> None:
            with contextlib.suppress(OSError):
                while data := source.read1(65536):
                    send(data)

        pumps = [
            threading.Thread(target=copy, args=(process.stdout, channel.sendall), daemon=True),
            threading.Thread(target=copy, args=(process.stderr, channel.sendall_stderr), daemon=True),
        ]
        threading.Thread(target=feed, daemon=True).start()
        for pump in pumps:
            pump.start()
        rc = process.wait()
        for pump in pumps:
            pump.join()
        self.running -= 1
        with contextlib.suppress(OSError):
            channel.send_exit_status(rc)
            channel.close()
