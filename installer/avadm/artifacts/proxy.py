"""The HTTP proxy of builds: variables that each program understands, and Maven's settings, which read no variables."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit
from xml.sax.saxutils import escape

PROXIES = ("http_proxy", "https_proxy")
NAMES = (*PROXIES, "no_proxy")


def environment(own: Mapping[str, str], site: Mapping[str, str]) -> dict[str, str]:
    """Return the proxy variables of a build, each in both cases: apt reads small letters alone, others capitals alone.

    Args:
        own: the environment of the command; where it names a proxy, nothing of the site's is used.
        site: the variables of the site file's proxy, in small letters; empty where it has none.
    """
    of = {name: own.get(name) or own.get(name.upper()) or "" for name in NAMES}
    chosen = of if any(of[name] for name in PROXIES) else site
    return {spelled: value for name, value in chosen.items() if value for spelled in (name, name.upper())}


def maven_settings(environment: Mapping[str, str]) -> str:
    """Return the element `proxies` of Maven's settings; "" without a proxy."""
    past = escape("|".join(_maven_exceptions(environment.get("no_proxy", ""))))
    made = ""
    for name in PROXIES:
        parts = urlsplit(environment.get(name, ""))
        if not parts.hostname:
            continue
        port = parts.port or (443 if parts.scheme == "https" else 80)
        made += (
            f"    <proxy>\n      <id>avadm-{name}</id>\n      <active>true</active>\n"
            f"      <protocol>{name.partition('_')[0]}</protocol>\n"
            f"      <host>{escape(parts.hostname)}</host>\n      <port>{port}</port>\n{_login(parts)}"
            f"      <nonProxyHosts>{past}</nonProxyHosts>\n    </proxy>\n"
        )
    return f"  <proxies>\n{made}  </proxies>\n" if made else ""


def _login(parts: SplitResult) -> str:
    report = {"username": parts.username, "password": parts.password}
    return "".join(f"      <{k}>{escape(unquote(v))}</{k}>\n" for k, v in report.items() if v)


def _maven_exceptions(text: str) -> list[str]:
    """Return entries of NO_PROXY as Java's patterns; it knows no networks."""
    entries = [e.strip() for e in text.split(",") if e.strip() and "/" not in e]
    return [pattern for e in entries for pattern in ((f"*{e}",) if e.startswith(".") else (e, f"*.{e}"))]
