"""A hostile program at the platform's front door: paths, headers, framing, login and tokens; none may get in.

evidence/isolation.md has the table of all that was tried.
"""

import base64
import contextlib
import socket
import time
import uuid

import pytest

from ava.client import ApiError
from tests.lab.ava.raw_door import NO, Door

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(
    "target",
    [
        "/metrics",
        "/api/v1/../../metrics",
        "/api/v1/%2e%2e/%2e%2e/metrics",
        "//metrics",
        "/api/v1/..;/metrics",
        "/internal/doors",
        "/api/internal/doors",
        "/doors/alive",
        "/api/v1/services/caller",
        "/docs",
        "/redoc",
        "/debug/pprof/",
        "/dashboard/",
        "/api/rawdata",
        "/ping",
        "/.git/config",
        "/static/../settings.py",
        "/static/%2e%2e/%2e%2e/settings.py",
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/static/%00",
        "https://169.254.169.254/latest/meta-data/",
        "http://127.0.0.1:10250/pods",
    ],
)
def test_no_path_leads_behind_the_door(eve, target):
    status, headers, content = eve.ask("GET", target)
    assert status in NO | {301, 302, 303, 307, 308}, (status, content[:200])
    assert headers.get("Location", "/").startswith(("/", f"https://{eve.host}/")), headers
    for word in (b"process_cpu_seconds", b"root:x:0", b"openapi", b"routers", b"goroutine", b"def "):
        assert word not in content


def test_headers_are_no_user_s_identity(eve, people, platform, authority):
    stranger = Door(platform, authority, "")
    admin = people.admin.me().name
    for headers in [
        {"X_Forwarded_User": admin},
        {"X_Remote_User": admin},
        {"X_Auth_Request_User": admin},
        {"X_Original_URL": "/metrics"},
        {"X_Rewrite_URL": "/metrics"},
        {"X_HTTP_Method_Override": "DELETE"},
        {"Authorization": "Basic " + base64.b64encode(f"{admin}:{platform.password}".encode()).decode()},
        {"Authorization": "Bearer null"},
        {"Authorization": "Bearer " + "A" * 60_000},
        {"Cookie": "__Host-ava=" + "a" * 43},
        {"Cookie": f"__Host-ava={eve.token}"},
    ]:
        status, _, content = stranger.ask("GET", "/api/v1/users", token=False, **headers)
        assert status in {400, 401, 403, 431}, (headers, status, content[:200])


def test_the_address_in_the_audit_log_is_not_the_users_to_choose(eve, people):
    mark = f"gone-{uuid.uuid4().hex[:8]}"
    eve.ask(
        "DELETE",
        f"/api/v1/definitions/{mark}",
        X_Forwarded_For="203.0.113.77",
        X_Real_Ip="203.0.113.77",
        Forwarded="for=203.0.113.77",
    )
    eve.ask(
        "POST", "/api/v1/groups", {"name": mark, "quota": {}}, X_Forwarded_For="203.0.113.77, 203.0.113.77"
    )
    rows = [r for r in people.admin.audit(most=200) if people.eve.name == r.who]
    assert rows
    assert "203.0.113.77" not in {r.address for r in rows}


def test_requests_are_not_smuggled(eve):
    """Two lengths, a length beside chunks, folded and broken headers: refused, or read once."""
    head = f"POST /api/v1/groups HTTP/1.1\r\nHost: {eve.host}\r\nAuthorization: Bearer {eve.token}\r\n"
    hidden = f"GET /api/v1/audit HTTP/1.1\r\nHost: {eve.host}\r\n\r\n"
    for headers in [
        "Content-Length: 4\r\nContent-Length: 90\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Content-Length: +4\r\n",
        "X: a\r\n b\r\nContent-Length: 0\r\n",
        "X: a\x00b\r\n",
    ]:
        status, _, content = eve.send((head + headers + "\r\n0\r\n\r\n" + hidden).encode("latin-1"))
        assert status in NO, (headers, status, content[:200])
    status, _, _ = eve.send(
        f"GET /api/v1/groups HTTP/1.1\r\nHost: {eve.host}\r\nHost: other\r\n\r\n".encode()
    )
    assert status == 400


def test_a_page_elsewhere_changes_nothing_by_a_browser(people, platform):
    browser, site = people.eve.browser, people.eve.site
    for headers in [
        {},
        {"x_csrf_token": ""},
        {"x_csrf_token": "0" * 64},
        {"origin": "https://evil.example", "x_csrf_token": "x"},
    ]:
        answer = browser.ask(
            "POST", f"{site}/api/v1/tokens", json={"label": "stolen", "days": 1}, follow=False, **headers
        )
        assert answer.status_code == 403, answer.text
    answer = browser.ask(
        "GET",
        f"{site}/api/v1/sessions/current",
        follow=False,
        origin="https://evil.example",
        accept="application/json",
    )
    assert "access-control-allow-origin" not in answer.headers
    assert "stolen" not in {t.label for t in people.eve.ava.tokens()}


@pytest.mark.parametrize(
    "following",
    [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "/%09/evil.example",
        "javascript:alert(1)",
        "/api/v1/tokens",
    ],
)
def test_a_login_leads_nowhere_else(people, platform, authority, following):
    eve = Door(platform, authority, "")
    status, _, content = eve.ask(
        "GET", f"/login?next={following.replace(' ', '%20')}", token=False, Accept="text/html"
    )
    assert status in {200, 422, 400}
    assert (
        b'value="//evil' not in content
        and b'value="https://evil' not in content
        and b'value="javascript' not in content
    )


@pytest.mark.parametrize("scopes", [["read"], ["registry"]])
def test_a_token_with_a_scope_is_no_more_than_its_scope(people, platform, authority, scopes):
    token = people.eve.ava.make_token("narrow", days=1, scopes=scopes)
    door = Door(platform, authority, token.token)
    for method, path, body in [
        ("POST", "/api/v1/tokens", {"label": "wide", "days": 1}),
        ("PUT", "/api/v1/users/me/password", {"new": "another long one", "current": platform.password}),
        ("PUT", "/api/v1/keys/ssh/thief", {"value": "ssh-ed25519 AAAA"}),
        ("POST", "/api/v1/data-sets", {"name": "mine"}),
        ("POST", "/api/v1/runs", {"name": "x", "spec": {}}),
        ("PATCH", "/api/v1/users/me", {"email": "x@example.org"}),
        ("DELETE", f"/api/v1/tokens/{token.id}x", None),
    ]:
        status, _, content = door.ask(method, path, body)
        assert status in {401, 403, 404}, (path, status, content[:200])
    with contextlib.suppress(ApiError):
        people.eve.ava.end_token(token.id)
    assert door.ask("GET", "/api/v1/groups")[0] == 401, "an ended token"


def test_a_slow_client_does_not_hold_the_door(eve, people):
    """Two hundred connections that send a letter a second, and everybody else is served."""
    held = []
    try:
        for _ in range(200):
            plain = socket.create_connection((eve.address, 443), timeout=10)
            encrypted = eve.trust.wrap_socket(plain, server_hostname=eve.host)
            encrypted.sendall(
                f"POST /api/v1/runs HTTP/1.1\r\nHost: {eve.host}\r\nContent-Length: 1000\r\n\r\n{{".encode()
            )
            held.append(encrypted)
        began = time.monotonic()
        for _ in range(5):
            assert people.ann.ava.me().name == people.ann.name
        assert time.monotonic() - began < 30
    finally:
        for one in held:
            one.close()
