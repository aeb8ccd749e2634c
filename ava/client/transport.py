"""Requests to the API: certificates are verified, errors come back as the problems that they are, what is safe is repeated."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import tenacity

from ava.domain.problems import ApiError, Problem

PREFIX = "/api/v1"
TRIES = 4
TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_AGAIN = frozenset({429, 503})
AWAY = frozenset({502, 503, 504})
"""Statuses of a server, or of what it asks, that may answer when it is asked again."""
KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 3), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
)
"""Options of connections: an address that moved to another node is noticed within 15 s, also by who waits for an answer."""
LONGEST_WAIT = 30.0
"""Seconds that are waited for a server that says when to come again."""


class Unreachable(ApiError):
    """The API did not answer; whether a change was made is not known."""

    def __init__(self, where: str, found: str) -> None:
        problem = Problem(
            "unreachable",
            "Cannot connect to the AVA server.",
            where,
            found,
            "an answer",
            "Check the address (--server), the network and, for certificates, --ca FILE.",
        )
        super().__init__(503, problem)


def http_client(server: str, ca: Path | None = None) -> httpx.Client:
    """Return connections to a server.

    Args:
        server: ``https://HOST[:PORT]``; plain http is refused but for this machine.
        ca: certificates of the authority that signed the server's; None: those of the system.

    Raises:
        ApiError: the address is none, or the certificates cannot be read.
    """
    url = httpx.URL(server)
    local = url.scheme == "http" and url.host in ("127.0.0.1", "localhost", "::1")
    if (url.scheme != "https" and not local) or not url.host or url.path not in ("", "/") or url.userinfo:
        raise ApiError(
            400,
            Problem(
                "server-invalid",
                "Invalid server URL.",
                "--server",
                server,
                "https://HOST[:PORT]",
                "Correct it.",
            ),
        )
    try:
        context = (
            ssl.create_default_context(cafile=str(ca) if ca else None) if url.scheme == "https" else False
        )
    except (OSError, ssl.SSLError) as error:
        raise ApiError(
            400,
            Problem(
                "ca-invalid",
                "The certificates cannot be read.",
                "--ca",
                f"{ca}: {error}",
                "PEM certificates",
                "Name another file.",
            ),
        ) from error
    transport = httpx.HTTPTransport(verify=context, trust_env=False, socket_options=KEEP_ALIVE)
    return httpx.Client(
        base_url=server, transport=transport, timeout=TIMEOUT, trust_env=False, follow_redirects=False
    )


class Transport:
    """Sends requests; ``token`` goes along with each."""

    def __init__(self, http: httpx.Client, token: str | None = None) -> None:
        self.http, self.token = http, token

    def headers(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the headers of a request."""
        own = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return own | dict(more or {})

    def send(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool | None = None,
    ) -> httpx.Response:
        """Return the answer to a request.

        Args:
            method: HTTP's.
            path: below /api/v1.
            json: body.
            params: query; None and False are left out.
            headers: more of them.
            again: whether it may be sent twice; None: whether the method says so. A creation with a key may.

        Raises:
            ApiError: what the server has against it.
            Unreachable: no answer.
        """
        safe = method in ("GET", "PUT") if again is None else again
        query = {k: _text(v) for k, v in (params or {}).items() if v is not None and v is not False}

        def once() -> httpx.Response:
            try:
                answer = self.http.request(
                    method, PREFIX + path, json=json, params=query or None, headers=self.headers(headers)
                )
            except httpx.TransportError as error:
                raise Unreachable(str(self.http.base_url), _cause(error)) from error
            if answer.is_error:
                raise refusal(answer)
            return answer

        if not safe:
            return once()
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(_passes),
            stop=tenacity.stop_after_attempt(TRIES),
            wait=_wait,
            reraise=True,
        )(once)


class _Answered(ApiError):
    """A refusal with the time after which to come again, seconds."""

    after: float = 0.0


def refusal(answer: httpx.Response) -> ApiError:
    """Return what an answer that is an error says; also where something else than AVA has answered."""
    try:
        body = answer.json()
        found = [
            Problem(**{k: str(p.get(k, "")) for k in ("code", "what", "where", "found", "wanted", "remedy")})
            for p in body["problems"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        found = []
    made = _Answered(
        answer.status_code,
        *(
            found
            or [
                Problem(
                    "no-problem-document",
                    "The reply is not from AVA.",
                    str(answer.url.copy_with(query=None)),
                    _shown(answer),
                    "a reply of AVA",
                    "AVA has no process that is ready, or does not answer in time: try again in a minute."
                    if answer.status_code in AWAY
                    else "Check the address; a proxy in between may have answered.",
                )
            ]
        ),
    )
    after = answer.headers.get("retry-after", "")
    made.after = float(after) if after.isdigit() else 0.0
    return made


def _shown(answer: httpx.Response) -> str:
    """Return what answered: the status, the server's name and the first words, of printable characters alone."""
    server = answer.headers.get("server", "")
    try:
        words = " ".join(answer.text[:2000].split())
    except (UnicodeDecodeError, LookupError, httpx.ResponseNotRead):
        words = ""
    found = f"status {answer.status_code}{f' {answer.reason_phrase}' if answer.reason_phrase else ''}"
    found += f", server {server}" if server else ", no server header"
    found += f": {words}" if words else ", without a body"
    return "".join(c if c.isprintable() else "?" for c in found)[:200]


def _text(value: Any) -> str:
    return "true" if value is True else str(value)


def _passes(error: BaseException) -> bool:
    if isinstance(error, _Answered):
        return error.status in _AGAIN and error.after <= LONGEST_WAIT
    # A certificate that is not trusted is none the second time either.
    return isinstance(error, Unreachable) and "certificate" not in str(error.problems[0].found)


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    plain = tenacity.wait_random_exponential(multiplier=0.2, max=5)(state)
    return max(plain, error.after) if isinstance(error, _Answered) else plain


def _cause(error: httpx.TransportError) -> str:
    text = str(error).strip() or type(error).__name__
    return text[:300]
