"""The platform's own command line, as a user's machine has it, for acceptance: run as a program of its own.

usage: python -m avadm_validation.suites.platform.command_line VERB …

Standard input: JSON with host, address, authority (PEM) and token; nothing of it is in the arguments or the environment, and the
token lies in a file of root's alone for as long as the program runs. The controller need not know the platform's name.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from ava.cli import main as cli
from ava.cli.app import App
from ava.client import Client
from ava.client.pinned_host import http_pinned


def main() -> int:
    """Run a verb; return its exit status."""
    given = json.load(sys.stdin)

    def connect(server: str, token: str | None = None, ca: Any = None) -> Client:
        return Client(
            server, token=token, http=http_pinned(given["host"], given["address"], given["authority"])
        )

    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder
        file = Path(folder) / "token"
        file.touch(0o600)
        file.write_text(given["token"], encoding="ascii")
        options = ["--server", f"https://{given['host']}", "--token-file", str(file)]
        return cli.run([*options, *sys.argv[1:]], App(connect=connect))


if __name__ == "__main__":
    sys.exit(main())
