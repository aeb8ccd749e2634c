"""The clients of the site's Prometheus servers."""

from __future__ import annotations

import ssl
from functools import cache

import httpx

from ava.services.config import LogStore

PATIENCE = httpx.Timeout(5.0)


@cache
def client(server: LogStore) -> httpx.Client:
    """Return the client of a server; its certificates are read once."""
    verify: ssl.SSLContext | bool = True
    if server.ca is not None:
        verify = ssl.create_default_context(cafile=str(server.ca))
        if server.certificate is not None and server.key is not None:
            verify.load_cert_chain(server.certificate, server.key)
    auth = None
    if server.user is not None and server.passfile is not None:
        auth = httpx.BasicAuth(server.user, server.passfile.read_text(encoding="utf-8").strip())
    return httpx.Client(base_url=server.url, verify=verify, auth=auth, timeout=PATIENCE, trust_env=False)
