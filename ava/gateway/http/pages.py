"""The few words that the gate itself shows."""

from __future__ import annotations

from html import escape

from aiohttp import web

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Strict-Transport-Security": "max-age=31536000",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Workbench</title>{more}
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:4rem auto;max-width:36rem;padding:0 1rem}}</style></head>
<body><h1>Workbench</h1><p>{words}</p></body></html>
"""


def plain(words: str) -> web.Response:
    """Return a page with a sentence."""
    return web.Response(text=_PAGE.format(words=escape(words), more=""), content_type="text/html")


def waits(words: str) -> web.Response:
    """Return a page with a sentence that asks again by itself."""
    again = '<meta http-equiv="refresh" content="3">'
    return web.Response(text=_PAGE.format(words=escape(words), more=again), content_type="text/html")
