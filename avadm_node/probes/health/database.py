"""What the doctor asks of PostgreSQL's members."""

from __future__ import absolute_import

import json

from .system import LONG_LINE, call


def database(params):
    """What this node's Patroni says of all members."""
    url = "https://%s:%d/cluster" % (params["address"], params["database"]["port"])
    argv = ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "15"]
    code, out, err = call(argv + ["--cacert", "/etc/patroni/ca.crt", url], 20)
    if code != 0:
        reply = (err.strip().splitlines() or ["curl ended with %d" % code])[0]
        return {"said": "%s: %s" % (url, reply[:LONG_LINE]), "members": {}}
    members = json.loads(out).get("members", [])
    return {"said": "", "members": dict((m["name"], [m.get("role"), m.get("state")]) for m in members)}
