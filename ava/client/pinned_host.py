"""A way to a server whose name this machine cannot resolve: one address is connected to, the certificate is the name's."""

from __future__ import annotations

import ssl

import httpx

from ava.client.transport import KEEP_ALIVE, TIMEOUT


class PinnedHost(httpx.HTTPTransport):
    """Connects to one address whatever the URL's host is; the server's certificate must be that host's.

    Args:
        address: where to connect to.
        context: what is trusted.
    """

    def __init__(self, address: str, context: ssl.SSLContext) -> None:
        super().__init__(verify=context, trust_env=False, socket_options=KEEP_ALIVE)
        self._address = address

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        # Host and the name that the certificate must have stay those of the URL that was asked for.
        there = httpx.Request(
            request.method,
            request.url.copy_with(host=self._address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": request.url.host},
        )
        return super().handle_request(there)


def http_pinned(host: str, address: str, authority: str) -> httpx.Client:
    """Return connections to ``https://HOST`` at an address.

    Args:
        host: the name that the certificate must have.
        address: where to connect to.
        authority: certificates of the authority, PEM.

    Raises:
        ssl.SSLError, ValueError: these are no certificates.
    """
    return httpx.Client(
        base_url=f"https://{host}",
        transport=PinnedHost(address, ssl.create_default_context(cadata=authority)),
        timeout=TIMEOUT,
        trust_env=False,
        follow_redirects=False,
    )
