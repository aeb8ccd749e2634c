"""Reading files, running programs, and doing several things at once."""

from __future__ import absolute_import

import os
import subprocess
import threading


def read(path):
    with open(path) as source:
        return source.read()


def slurp(path):
    """Return a file's text, None where the kernel has no answer (a link that is down has no speed)."""
    try:
        with open(path) as source:
            return source.read().strip()
    except (OSError, IOError):
        return None


def call(*argv):
    """Return (exit status, stdout, stderr) of a program."""
    environment = dict(os.environ, LC_ALL="C", DEBIAN_FRONTEND="noninteractive")
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    out, err = process.communicate()
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def at_once(function, things):
    """Return thing to function(thing), all at the same time; an exception becomes its text."""
    results = {}

    def one(thing):
        try:
            results[thing] = function(thing)
        except Exception as error:
            results[thing] = "%s: %s" % (type(error).__name__, error)

    threads = [threading.Thread(target=one, args=(thing,)) for thing in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
