"""Reading files, running programs and asking URLs, within a time."""

from __future__ import absolute_import

import os
import subprocess

from ...opener import opener_for

SHORT = 20  # seconds that one program may take
LONG_LINE = 300  # characters of a line that are kept


class Failed(Exception):
    """A part could not look."""


def slurp(path):
    """Return a file's text, None where it is not available."""
    try:
        with open(path) as source:
            text = source.read()
            # Python 2 gives bytes, which JSON takes only if they are UTF-8.
            return text if isinstance(text, type("")) else text.decode("utf-8", "replace")
    except (OSError, IOError, UnicodeDecodeError):
        return None


def call(argv, seconds=SHORT, stdin=None):
    """Return (exit status, stdout, stderr) of a program that is killed after some seconds."""
    environment = dict(os.environ, LC_ALL="C", TZ="UTC", HOME=os.environ.get("HOME", "/root"))
    with open(os.devnull) as nothing:
        process = subprocess.Popen(
            ["timeout", "-s", "KILL", str(seconds)] + list(argv),
            stdin=nothing if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        out, err = process.communicate(stdin)
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def must(argv, seconds=SHORT):
    """Return a program's output; Failed where it is not there or fails."""
    code, out, err = call(argv, seconds)
    if code != 0:
        messages = (err.strip() or out.strip()).splitlines()[-1:] or ["exit %d" % code]
        slow = " (killed after %d s)" % seconds if code in (137, -9) else ""
        raise Failed("%s: %s%s" % (argv[0], messages[0][:LONG_LINE], slow))
    return out


def fetch(url, seconds=8, tls=None):
    """Return what a URL answers, past every proxy; Failed where it does not. Files of ``tls`` are shown where it is given."""
    try:
        return opener_for(tls).open(url, timeout=seconds).read().decode("utf-8", "replace")
    except (OSError, IOError, ValueError) as error:
        raise Failed("%s: %s" % (url, error))
