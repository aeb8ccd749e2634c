"""The way to the platform: its name means the ingress' address, and its certificate is verified against that name."""

from __future__ import annotations

import ssl

import httpx

from ava.client import Client
from ava.client.transport import KEEP_ALIVE, TIMEOUT
from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.measuring.targets import PlatformTarget

AUTHORITY = "platform-authority"
"""Under which the authority's certificate, PEM, is left for the run's other checks."""


class ByAddress(httpx.HTTPTransport):
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


def target(ctx: Context) -> PlatformTarget:
    """Return what is measured; MeasureError where the site has no platform."""
    if ctx.target.platform is None:
        raise MeasureError("the site has no platform")
    return ctx.target.platform


def authority(ctx: Context) -> None:
    """Read the certificate of the ingress' authority from the master; MeasureError where that fails."""
    platform = target(ctx)
    done = ctx.must(ctx.rec.run(platform.master, f"cat {platform.authority}", "authority"))
    ctx.shared[AUTHORITY] = done.stdout


def client(ctx: Context) -> Client:
    """Return a client without a log-in; the authority's certificate must have been read."""
    platform = target(ctx)
    try:
        context = ssl.create_default_context(cadata=ctx.shared[AUTHORITY])
    except (KeyError, ssl.SSLError, ValueError) as error:
        raise MeasureError(f"{platform.master}: {platform.authority} is no certificate: {error}") from error
    http = httpx.Client(
        base_url=f"https://{platform.host}",
        transport=ByAddress(platform.address, context),
        timeout=TIMEOUT,
        trust_env=False,
        follow_redirects=False,
    )
    return Client(f"https://{platform.host}", http=http)
