"""How a store is asked: over HTTPS, or through ssh by a program on its own node."""

from __future__ import annotations

import base64
import json
import shlex
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from avadm.remote.fleet import Fleet

TIMEOUT_S = 40.0
"""The stores end a search after 30 s."""
QUERY = "/select/logsql/query"

_PROGRAM = """
import base64, io, json, ssl, sys
try:
    from urllib.request import Request, build_opener, HTTPSHandler, ProxyHandler
    from urllib.parse import urlencode
except ImportError:
    from urllib2 import Request, build_opener, HTTPSHandler, ProxyHandler
    from urllib import urlencode
word = io.open("/etc/avadm/logs/store.password").read().strip()
head = base64.b64encode((JOB["user"] + ":" + word).encode()).decode()
context = ssl.create_default_context(cafile="/etc/avadm/logs/ca.crt")
request = Request(JOB["url"] + JOB["path"], urlencode(JOB["params"]).encode(), {"Authorization": "Basic " + head})
try:
    data = build_opener(ProxyHandler({}), HTTPSHandler(context=context)).open(request, timeout=JOB["timeout"]).read()
except Exception as error:
    body = getattr(error, "read", lambda: b"")()
    sys.exit("%s: %s" % (error, body[:300].decode("utf-8", "replace")))
getattr(sys.stdout, "buffer", sys.stdout).write(data)
"""


class StoreUnreachable(Exception):
    """A store did not answer, or refused; the text says why."""


class Transport(Protocol):
    """A way to one store."""

    @property
    def name(self) -> str:
        """The store's name."""

    def ask(self, path: str, params: Mapping[str, str]) -> str:
        """Return what the store answers to a POST; StoreUnreachable."""


@dataclass(frozen=True, slots=True)
class HttpStore:
    """A store that is reached over the network, as the platform's programs do.

    Attributes:
        name: the store's name.
        url: ``https://ADDRESS:PORT``.
        user: name that it wants.
        password: password that it wants.
        authority: certificate of the stores' authority, PEM; None for plain HTTP.
    """

    name: str
    url: str
    user: str
    password: str
    authority: str | None

    def ask(self, path: str, params: Mapping[str, str]) -> str:
        """Return what the store answers; StoreUnreachable."""
        word = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        body = urllib.parse.urlencode(params).encode()
        request = urllib.request.Request(  # noqa: S310  the URL is the site file's
            self.url + path, data=body, headers={"Authorization": f"Basic {word}"}
        )
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if self.authority is not None:
            context = ssl.create_default_context(cadata=self.authority)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=TIMEOUT_S) as answer:
                return str(answer.read().decode("utf-8", "replace"))
        except urllib.error.HTTPError as error:
            text = error.read(300).decode("utf-8", "replace")
            raise StoreUnreachable(f"HTTP {error.code}: {text}") from error
        except (OSError, ValueError) as error:
            raise StoreUnreachable(str(error)) from error


@dataclass(frozen=True, slots=True)
class SshStore:
    """A store that is asked on its own node, as `avadm logs` does: the controller needs no way to it but ssh.

    Attributes:
        name: the store's node.
        url: ``https://ADDRESS:PORT``, as the node reaches it.
        user: name that it wants; the password is read on the node.
        fleet: the ssh fan-out.
        python: interpreter on the node.
    """

    name: str
    url: str
    user: str
    fleet: Fleet
    python: str

    def ask(self, path: str, params: Mapping[str, str]) -> str:
        """Return what the store answers; StoreUnreachable."""
        job = {
            "url": self.url,
            "user": self.user,
            "path": path,
            "params": dict(params),
            "timeout": TIMEOUT_S - 5,
        }
        program = f"import json\nJOB = json.loads({json.dumps(json.dumps(job))})\n{_PROGRAM}"
        result = self.fleet.run(
            self.name, f"{shlex.quote(self.python)} -", timeout=TIMEOUT_S, stdin=program.encode()
        )
        if not result.ok:
            reply = result.stderr.strip().splitlines()
            raise StoreUnreachable(result.error or (reply[-1] if reply else f"exit status {result.rc}"))
        return result.stdout
