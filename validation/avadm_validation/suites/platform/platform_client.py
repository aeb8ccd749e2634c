"""The way to the platform: its name means the ingress' address, and its certificate is verified against that name."""

from __future__ import annotations

import ssl

import httpx

from ava.client import Client
from ava.client.pinned_host import http_pinned
from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.measuring.targets import PlatformTarget

AUTHORITY = "platform-authority"
"""Under which the authority's certificate, PEM, is left for the run's other checks."""


def target(ctx: Context) -> PlatformTarget:
    """Return what is measured; MeasureError where the site has no platform."""
    if ctx.target.platform is None:
        raise MeasureError("the site has no platform")
    return ctx.target.platform


def authority(ctx: Context) -> None:
    """Take the authority of a site's own certificate, or read the ingress' from the master; MeasureError where that fails."""
    platform = target(ctx)
    if platform.trusted is not None:
        ctx.shared[AUTHORITY] = platform.trusted
        return
    done = ctx.must(ctx.rec.run(platform.master, f"cat {platform.authority}", "authority"))
    ctx.shared[AUTHORITY] = done.stdout


def http(ctx: Context) -> httpx.Client:
    """Return connections to the platform; the authority's certificate must have been read."""
    platform = target(ctx)
    try:
        return http_pinned(platform.host, platform.address, ctx.shared[AUTHORITY])
    except (KeyError, ssl.SSLError, ValueError) as error:
        raise MeasureError(f"{platform.master}: {platform.authority} is no certificate: {error}") from error


def client(ctx: Context) -> Client:
    """Return a client without a login."""
    return Client(f"https://{target(ctx).host}", http=http(ctx))
