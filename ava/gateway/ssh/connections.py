"""Run the ssh gateway's sshd, and close connections whose owners may no longer come in.

``connections.py URL SECRET-FILE FOLDER COMMAND...``. sshd asks about a key once, when a connection begins, and a connection may
last for days: so the API is asked about all of them every few seconds. keys.py keeps in FOLDER which key opened which one.
Standard library alone, as keys.py. When sshd or this program ends, so does the container, and all connections with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

EVERY = 5.0
"""Seconds between two questions."""
DEAF = 180.0
"""Seconds without an answer of the API after which all connections are closed; the database's failover takes 30."""
SECONDS = 8
SIGNALS = {signal.SIGCHLD, signal.SIGTERM}
AT_ONCE, BYTES = 200, 2**18
"""Connections, and bytes of them, in one question."""


class Connections:
    """Connections of an sshd.

    Args:
        url: the API's internal port.
        secret: file with what the gateway shows there.
        folder: where keys.py keeps which key opened which connection.
        server: process number of the sshd that listens.
    """

    def __init__(self, url: str, secret: Path, folder: Path, server: int) -> None:
        self._url, self._secret, self._folder, self._server = url, secret, folder, server
        self._heard = time.monotonic()

    def look(self) -> int:
        """Close what may not stay; return how many were closed.

        Raises what keeps the API from answering; after DEAF seconds of that all connections are closed.
        """
        there = self.open()
        try:
            stay = {process: reply for some in _parts(there) for process, reply in self._ask(some).items()}
        except Exception:
            if time.monotonic() - self._heard > DEAF:
                self.close(list(there), f"the API has not answered for {DEAF:.0f} s")
            raise
        self._heard = time.monotonic()
        return self.close([process for process, well in stay.items() if not well], "no longer allowed")

    def open(self) -> dict[int, dict[str, Any]]:
        """Return key and workbenches of each connection that is open, and forget those that are not."""
        found = {}
        for path in self._folder.iterdir():
            if not path.name.isdigit():
                continue
            process = int(path.name)
            if parent(process) != self._server:
                path.unlink(missing_ok=True)
                continue
            try:
                found[process] = json.loads(path.read_text(encoding="ascii"))
            except (OSError, ValueError):
                # Nothing is known of it: it may not stay.
                found[process] = {"key": "", "definitions": []}
        return found

    def close(self, processes: Sequence[int], why: str) -> int:
        """Close connections; return how many."""
        for process in processes:
            # sshd's process of a connection leads a session of its own, with the process that serves the user in it.
            with contextlib.suppress(ProcessLookupError):
                if parent(process) == self._server and os.getpgid(process) == process:
                    os.killpg(process, signal.SIGKILL)
            (self._folder / str(process)).unlink(missing_ok=True)
        if processes:
            print(f"ava: {len(processes)} ssh connections closed: {why}", file=sys.stderr, flush=True)
        return len(processes)

    def _ask(self, some: dict[int, dict[str, Any]]) -> dict[int, bool]:
        """Return for each connection whether it may stay; one that the API takes for no connection may not."""
        try:
            reply = self._post({"connections": list(some.values())})["stay"]
        except urllib.error.HTTPError as error:
            if error.code not in (413, 422):
                raise
            if len(some) == 1:
                return dict.fromkeys(some, False)
            return {k: v for one in some.items() for k, v in self._ask(dict([one])).items()}
        return dict(zip(some, (bool(one) for one in reply), strict=True))

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        secret = self._secret.read_text(encoding="ascii").strip()
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        # The gateway's own settings name the API.
        request = urllib.request.Request(  # noqa: S310
            f"{self._url}/door/connections", json.dumps(body).encode(), headers
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=SECONDS) as answer:
            found = json.loads(answer.read(2**20))
        if isinstance(found, dict) and isinstance(found.get("stay"), list):
            return found
        raise ValueError("the API's answer has no list `stay`")


def parent(process: int) -> int:
    """Return the number of a process' parent; 0 where there is no such process."""
    try:
        # The name before it, in brackets, may hold anything.
        return int(Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _parts(there: dict[int, dict[str, Any]]) -> Iterator[dict[int, dict[str, Any]]]:
    """Yield all connections in parts of a size that one question may have; one empty part where there is none."""
    part: dict[int, dict[str, Any]] = {}
    size = 0
    for process, one in there.items():
        length = len(json.dumps(one))
        if part and (len(part) >= AT_ONCE or size + length > BYTES):
            yield part
            part, size = {}, 0
        part[process] = one
        size += length
    yield part


def main(argv: Sequence[str]) -> int:
    """Run sshd, and look every few seconds; return its exit status."""
    url, secret, folder, *command = argv
    kept = Path(folder)
    kept.mkdir(mode=0o700, exist_ok=True)
    for path in kept.iterdir():
        path.unlink()  # of the container before this one
    server = subprocess.Popen(command)
    # After the start: sshd would inherit them.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    it = Connections(url, Path(secret), kept, server.pid)
    while True:
        came = signal.sigtimedwait(SIGNALS, EVERY)
        if came is not None and came.si_signo == signal.SIGTERM:
            server.terminate()
        status = server.poll()
        if status is not None:
            return status
        if came is not None:
            continue
        try:
            it.look()
        except Exception as error:  # whatever it is, the next look may succeed
            print(
                f"ava: it is not known which ssh connections may stay: {error}", file=sys.stderr, flush=True
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
