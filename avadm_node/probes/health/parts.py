"""Runs the parts that are asked for, all at once."""

from __future__ import absolute_import

# Python 2.7 loads it when a time is first read, which fails in a thread while another thread imports something.
import _strptime  # noqa: F401
import threading
import time
from importlib import import_module

from .system import LONG_LINE, Failed


def part(name, modules):
    """Return the function of a part's name, which takes the parameters and returns what is JSON-ready, or raises.

    Args:
        modules: part to the module beside this one that has it, named as the component whose checks judge what it returns.
    """
    if name not in modules:
        raise Failed("no part is called %s" % name)
    return getattr(import_module("." + modules[name], __package__), name)


def ask(params):
    """Run the parts (name to seconds) of ``modules``; one that fails or does not end hides no other."""
    begun = time.time()
    found, errors = {}, {}

    def failed(name, error):
        # Not str(error): python 2 cannot write every text as bytes.
        text = error.args[0] if isinstance(error, Failed) and error.args else repr(error)
        errors[name] = text[:LONG_LINE]

    def take(name, function):
        try:
            found[name] = function(params)
        except Exception as error:
            failed(name, error)

    # Before any thread runs: in Python 2.7 threads that import wait for each other.
    functions = {}
    for name in sorted(params["parts"]):
        try:
            functions[name] = part(name, params["modules"])
        except Exception as error:
            failed(name, error)
    threads = []
    for name in sorted(functions):
        thread = threading.Thread(target=take, args=(name, functions[name]))
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
