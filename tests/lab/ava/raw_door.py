"""The platform's front door for programs that obey no rule: bytes as they are, targets that no one tidies up."""

import contextlib
import http.client
import json
import socket
import ssl
import time

import pytest

NO = {400, 401, 403, 404, 405, 409, 411, 413, 415, 422, 426, 431, 501}
"""Ways of refusing; 5xx is none, and neither is 200."""
SECRET = "ann's own words"
"""What no answer to another user holds."""


class Door:
    """The platform's front door as a program that obeys no rule sees it."""

    def __init__(self, platform, authority, token):
        self.host, self.address, self.token = platform.host, platform.address, token
        self.trust = ssl.create_default_context(cafile=str(authority))

    def send(self, raw):
        """Send bytes as they are; return status, headers and body of the first answer: 400 where it is cut before."""
        with (
            socket.create_connection((self.address, 443), timeout=30) as plain,
            self.trust.wrap_socket(plain, server_hostname=self.host) as encrypted,
        ):
            answer = http.client.HTTPResponse(encrypted)
            # Who is refused may be cut off before everything is sent. Who is kept waiting is not refused.
            with contextlib.suppress(BrokenPipeError, ConnectionError, ssl.SSLEOFError):
                encrypted.sendall(raw)
            try:
                answer.begin()
            except TimeoutError:
                raise
            except (http.client.HTTPException, OSError):
                return 400, {}, b""
            try:
                content = answer.read()
            except http.client.IncompleteRead as cut:
                content = cut.partial
            return answer.status, dict(answer.getheaders()), content

    def ask(self, method, target, body=None, *, token=True, host=None, **headers):
        """Send a request with a target that no one tidies up; waits where it is reported to."""
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or self.host}", "Connection: close"]
        lines += [f"Authorization: Bearer {self.token}"] if token else []
        lines += [f"Content-Length: {len(content)}"] if content or method != "GET" else []
        lines += ["Content-Type: application/json"] if content and "content_type" not in headers else []
        lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
        raw = "\r\n".join([*lines, "", ""]).encode("utf-8") + content
        while (found := self.send(raw))[0] == 429:
            time.sleep(int(found[1].get("Retry-After", 5)))
        return found

    def refused(self, method, target, body=None, **more):
        """The request is refused, and its answer holds nothing of ann's."""
        status, _, content = self.ask(method, target, body, **more)
        assert status in NO, (status, content[:300])
        assert SECRET.encode() not in content
        return content


@pytest.fixture(scope="session")
def eve(people, platform, authority):
    """Eve's door, with a token of hers."""
    return Door(platform, authority, people.eve.ava.make_token("hostile", days=1).token)
