"""OpenSSH's AuthorizedKeysCommand on the ssh gateway: asks the API what a key may reach, and prints that line.

``keys.py URL SECRET-FILE FOLDER KIND KEY``. Standard library alone, so that a login does not wait for imports. Nothing is
printed, and so no one gets in, where the API does not answer or does not know the key. What a connection may reach is kept in
FOLDER under the number of sshd's process for it, by which connections.py ends it later.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

SECONDS = 8
_OPENS = re.compile(r'permitopen="wb-([a-z0-9]+)\.')


def ask(url: str, secret: str, key: str) -> str:
    """Return the lines of authorized_keys for a key; OSError or ValueError where the API does not answer."""
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    body = json.dumps({"key": key}).encode()
    request = urllib.request.Request(f"{url}/door/keys", body, headers)  # noqa: S310 - the gateway's own settings
    # A proxy of the environment has nothing to do with the cluster's own names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=SECONDS) as answer:
        return str(answer.read(2**20).decode("ascii"))


def record(folder: Path, process: int, key: str, reply: str) -> None:
    """Keep what the connection of a process may reach; OSError where that cannot be kept.

    sshd asks about each key that is offered, and again about the one that is proven, last: that one stays.
    """
    if process <= 1:
        raise OSError("sshd has closed this connection")
    new = folder / f".{process}"
    new.write_text(json.dumps({"key": key, "definitions": _OPENS.findall(reply)}), encoding="ascii")
    new.rename(folder / str(process))


def main(argv: list[str]) -> int:
    """Print what a key may reach."""
    url, file, folder, kind, key = argv
    try:
        reply = ask(url, Path(file).read_text(encoding="ascii").strip(), f"{kind} {key}")
        if reply:
            record(Path(folder), os.getppid(), f"{kind} {key}", reply)
    except (OSError, ValueError) as error:
        # urllib's errors are OSErrors; none names the secret.
        print(f"ava: the platform does not say what this key may reach: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(reply)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
