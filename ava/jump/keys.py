"""OpenSSH's AuthorizedKeysCommand on the ssh gateway: asks the API what a key may reach, and prints that line.

``keys.py URL SECRET-FILE KIND KEY``. Standard library alone, so that a log-in does not wait for imports. Nothing is printed,
and so nobody gets in, where the API does not answer or does not know the key.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

SECONDS = 8


def ask(url: str, secret: str, key: str) -> str:
    """Return the lines of authorized_keys for a key; OSError or ValueError where the API does not answer."""
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    body = json.dumps({"key": key}).encode()
    request = urllib.request.Request(f"{url}/door/keys", body, headers)  # noqa: S310 - the gateway's own settings
    # A proxy of the environment has nothing to do with the cluster's own names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=SECONDS) as answer:
        return str(answer.read(2**20).decode("ascii"))


def main(argv: list[str]) -> int:
    """Print what a key may reach."""
    url, file, kind, key = argv
    try:
        said = ask(url, Path(file).read_text(encoding="ascii").strip(), f"{kind} {key}")
    except (OSError, ValueError) as error:
        # urllib's errors are OSErrors; none names the secret.
        print(f"ava: the platform does not say what this key may reach: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(said)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
