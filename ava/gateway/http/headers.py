"""Which headers pass the gate, and which requests may come from another page than the workbench's own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from multidict import CIMultiDict, CIMultiDictProxy

COOKIE, STATE = "__Host-ava-bench", "__Host-ava-state"
"""The prefix makes browsers insist on Secure, on no Domain and on Path=/: no other origin can set them."""
_HOP = frozenset(
    {"connection", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"}
)
_HOP |= {"transfer-encoding", "upgrade"}
_OURS = frozenset({"cookie", "authorization", "x-forwarded-user", "forwarded"})
_WEBSOCKET = frozenset(
    f"sec-websocket-{name}" for name in ("key", "version", "extensions", "protocol", "accept")
)
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def inward(
    headers: CIMultiDictProxy[str], token: str, origin: str, *, websocket: bool = False
) -> CIMultiDict[str]:
    """Return the headers that Jupyter gets: without the gate's own cookies, with the workbench's token."""
    named = _named(headers.getall("Connection", []))
    leave = _HOP | _OURS | named | (_WEBSOCKET if websocket else frozenset())
    found = CIMultiDict((k, v) for k, v in headers.items() if k.lower() not in leave)
    cookies = own_cookies(headers.getall("Cookie", []))
    if cookies:
        found["Cookie"] = cookies
    found["Authorization"] = f"token {token}"
    found["X-Forwarded-Proto"] = "https"
    found["Host"] = origin.removeprefix("https://")
    return found


def outward(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """Return the headers that the browser gets: a workbench sets no cookie of the gate's, and none for other origins."""
    named = _named(headers.getall("Connection", []))
    found: CIMultiDict[str] = CIMultiDict()
    for key, value in headers.items():
        if key.lower() in _HOP | named:
            continue
        if key.lower() == "set-cookie" and not _may_set(value):
            continue
        found.add(key, value)
    found.setdefault("X-Content-Type-Options", "nosniff")
    found.setdefault("X-Frame-Options", "SAMEORIGIN")
    found.setdefault("Referrer-Policy", "same-origin")
    return found


def own_cookies(given: Iterable[str]) -> str:
    """Return the cookies that the workbench itself has set."""
    pairs = (pair.strip() for text in given for pair in text.split(";"))
    return "; ".join(p for p in pairs if p and not p.lower().startswith("__host-ava"))


def cookie(given: Iterable[str], name: str) -> str:
    """Return a cookie of the gate's; empty where there is none, or more than one."""
    pairs = (pair.strip().partition("=") for text in given for pair in text.split(";"))
    found = [value for key, _, value in pairs if key == name]
    return found[0] if len(found) == 1 else ""


def from_here(method: str, headers: CIMultiDictProxy[str], origin: str, *, websocket: bool) -> bool:
    """Whether a request comes from the workbench's own page, or changes nothing and shows itself to no one else.

    Other workbenches and the site are the same "site" to a browser, so that its cookies' SameSite does not tell them apart.
    """
    reply = headers.get("Origin")
    if reply is not None and reply != origin:
        return False
    if websocket or method not in SAFE:
        return reply is not None or headers.get("Sec-Fetch-Site") == "same-origin"
    within = headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none")
    return within or (
        headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
    )


def _named(connection: Iterable[str]) -> frozenset[str]:
    return frozenset(word.strip().lower() for text in connection for word in text.split(","))


def _may_set(text: str) -> bool:
    """Whether a workbench may set a cookie.

    Parsed as browsers do (RFC 6265, 5.2): at every semicolon, quoted or not. Python's SimpleCookie stops at the first character
    that it does not know, and would miss a Domain after it.
    """
    pair, *attributes = text.split(";")
    name, equals, _ = pair.partition("=")
    name = name.strip()
    if not equals or not name or name.lower().startswith("__host-ava") or _CONTROL.search(text):
        return False
    return all(a.partition("=")[0].strip().lower() != "domain" for a in attributes)
