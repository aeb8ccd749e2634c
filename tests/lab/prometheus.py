"""Asking the lab's Prometheus servers: on their node, with what it shows where they ask for a certificate (not on Debian 11)."""

import json
import shlex
import urllib.parse

FILES = "/etc/prometheus/tls/metrics"


def guarded(lab, node):
    """Tell whether a node's Prometheus asks for certificates."""
    return lab.host(node).file(f"{FILES}.crt").exists


def url(lab, node):
    """Return the beginning of its URLs."""
    return f"{'https' if guarded(lab, node) else 'http'}://{lab.node(node)['address']}:9090"


def curl(lab, node):
    """Return the beginning of a command that asks on a node that has a Prometheus."""
    shown = f" --cacert {FILES}.ca --cert {FILES}.crt --key {FILES}.key" if guarded(lab, node) else ""
    return f"curl -sf -m 20 --noproxy '*'{shown}"


def get(lab, node, path, **query):
    """Return what a node's Prometheus says at a path of its API."""
    asked = f"{url(lab, node)}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
    return json.loads(lab.sh(node, f"{curl(lab, node)} {shlex.quote(asked)}"))


def query(lab, node, expr):
    """Return the result of an instant query: a list of {metric, value}."""
    return get(lab, node, "/api/v1/query", query=expr)["data"]["result"]
