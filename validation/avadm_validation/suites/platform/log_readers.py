"""How a user reads a run's log: by the API's stream, in a browser, by the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from ava.client import ApiError
from ava.domain.lines import lines
from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.suites.platform import platform_client
from avadm_validation.suites.platform.tenant import Tenant

LONGEST_S = 120.0
"""Seconds that a log may take to end, once its run has had its time to begin."""
KILLED_S = 900.0
"""Seconds after which the command line is ended in any case."""
_PROGRAM = "avadm_validation.suites.platform.command_line"


class Browser:
    """A browser of somebody who is logged in: the session's cookie, no token, pages and what their scripts ask for.

    Args:
        http: connections to the platform.
    """

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def log_in(self, name: str, password: str) -> None:
        """Log in as the page's form does; MeasureError where that is refused."""
        answer = self._http.post("/api/v1/sessions", json={"name": name, "password": password})
        if answer.status_code != 201:
            raise MeasureError(f"a browser cannot log in: HTTP {answer.status_code}")

    def log_out(self) -> None:
        """End the session as far as this browser goes."""
        self._http.cookies.clear()

    def page(self, path: str) -> tuple[int, str]:
        """Return status and text of a page."""
        answer = self._http.get(path)
        return answer.status_code, answer.text

    def follow(self, run: str) -> Iterator[str]:
        """Yield the lines of a run's log as its page shows them; ApiError (without problems) where it may not."""
        query = {"format": "json", "tail": "1000", "follow": "true"}
        timeout = httpx.Timeout(30.0, connect=10.0)
        with self._http.stream("GET", f"/api/v1/runs/{run}/logs", params=query, timeout=timeout) as answer:
            if answer.is_error:
                answer.read()
                raise ApiError(answer.status_code)
            for row in filter(None, lines(answer.iter_bytes())):
                data = json.loads(row)
                if "end" in data:
                    return
                yield str(data["text"])


@contextmanager
def browser(ctx: Context, who: Tenant) -> Iterator[Browser]:
    """Have a browser in which a user is logged in."""
    with platform_client.http(ctx) as http:
        made = Browser(http)
        made.log_in(who.name, who.password)
        yield made


def by_command_line(ctx: Context, who: Tenant, run: str) -> Iterator[str]:
    """Yield what ``ava logs --follow`` prints, line by line as it does."""
    platform = platform_client.target(ctx)
    given = {
        "host": platform.host,
        "address": platform.address,
        "authority": ctx.shared[platform_client.AUTHORITY],
    }
    own = {k: v for k, v in os.environ.items() if not k.startswith(("AVA_", "XDG_"))}
    argv = [sys.executable, "-u", "-m", _PROGRAM, "logs", "--follow", run]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=own) as program:
        killer = threading.Timer(KILLED_S, program.kill)
        killer.start()
        try:
            assert program.stdin is not None and program.stdout is not None and program.stderr is not None  # noqa: S101
            program.stdin.write(json.dumps({**given, "token": who.token}))
            program.stdin.close()
            for line in program.stdout:
                yield line.rstrip("\n")
            if program.wait():
                raise MeasureError(f"ava logs: {program.stderr.read().strip()[-300:]}")
        finally:
            killer.cancel()
            program.kill()
