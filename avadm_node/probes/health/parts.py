"""Runs the parts that are asked for, all at once."""

from __future__ import absolute_import

# Python 2.7 loads it when a time is first read, which fails in a thread while another thread imports something.
import _strptime  # noqa: F401
import threading
import time

from . import (
    addons,
    alluxio,
    ava,
    base,
    ceph,
    cephfs,
    database,
    database_backup,
    etcd,
    gpu,
    logs,
    masters,
    monitoring,
    nodes,
    objects,
    packet_filter,
)
from .system import LONG_LINE, Failed

MODULES = (
    addons,
    alluxio,
    ava,
    base,
    ceph,
    cephfs,
    database,
    database_backup,
    etcd,
    gpu,
    logs,
    masters,
    monitoring,
    nodes,
    objects,
    packet_filter,
)
"""Each is named as the component whose checks judge what its parts return."""


def part(name):
    """Return the function of a part's name, which takes the parameters and returns what is JSON-ready, or raises."""
    for module in MODULES:
        if hasattr(module, name):
            return getattr(module, name)
    raise Failed("no part is called %s" % name)


def ask(params):
    """Run the parts (name to seconds); one that fails or does not end hides no other."""
    begun = time.time()
    found, errors = {}, {}

    def take(name):
        try:
            found[name] = part(name)(params)
        except Exception as error:
            # Not str(error): python 2 cannot write every text as bytes.
            text = error.args[0] if isinstance(error, Failed) and error.args else repr(error)
            errors[name] = text[:LONG_LINE]

    threads = []
    for name in sorted(params["parts"]):
        thread = threading.Thread(target=take, args=(name,))
        thread.daemon = True
        thread.start()
        threads.append((name, thread))
    for name, thread in threads:
        thread.join(max(0.0, begun + params["parts"][name] - time.time()))
    for name, thread in threads:
        if thread.is_alive() and name not in found:
            errors[name] = "no answer within %d s" % params["parts"][name]
    return {
        "parts": dict((n, found[n]) for n in params["parts"] if n in found and n not in errors),
        "errors": dict(errors),
    }
