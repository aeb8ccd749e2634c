# Runs on nodes: python 2.7 and 3.
"""Marks that something was bootstrapped: anyone who holds one and finds no data has lost them, and never makes new ones.

One shape for all that is made where nothing is there: a file outside the data's folder (so that it stays where their
disk is not mounted), and a line in the site's state (so that it holds for a node that was reinstalled), which is
handed to the roles as a mapping of node to identity. A mark is written once what was bootstrapped works, never before.
"""

from __future__ import absolute_import, division, print_function

import io
import json
import os
import time

FOLDER = "/var/lib/avadm/founded"
UNKNOWN = "unknown"
"""The identity of a mark that cannot be read: it is a mark all the same."""


def path_of(name, folder=FOLDER):
    """Return the file of a mark."""
    return os.path.join(folder, name + ".json")


def identity(name, folder=FOLDER):
    """Return what was bootstrapped here by this name; None where nothing was."""
    try:
        with io.open(path_of(name, folder), encoding="utf-8") as stream:
            return str(json.load(stream)["identity"])
    except (IOError, OSError):
        return UNKNOWN if os.path.lexists(path_of(name, folder)) else None
    except (ValueError, KeyError, TypeError):
        return UNKNOWN


def known(name, node, recorded, folder=FOLDER):
    """Return what was bootstrapped on this node, by its own mark or the state's (node to identity); None for nothing."""
    here = identity(name, folder)
    if here in (None, UNKNOWN):
        return (recorded or {}).get(node) or here
    return here


def keep(name, what, folder=FOLDER, check_mode=False, now=time.time):
    """Write a mark so that it outlives a power cut; return whether it was not there."""
    if identity(name, folder) == what:
        return False
    if check_mode:
        return True
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o700)
    made = path_of(name, folder) + ".new"
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as stream:
        json.dump({"name": name, "identity": what, "when": int(now())}, stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.rename(made, path_of(name, folder))
    opened = os.open(folder, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)
    return True


def lost(what, place, detail, remedy):
    """Return the text of a refusal: what was bootstrapped has no data now."""
    return (
        "%s was bootstrapped before (%s) and has lost its data: %s is empty now. It is not recreated: the data may only be"
        " away. Remedy: see first that its disk is mounted, and move back what was moved. %s"
        % (what, detail, place, remedy)
    )
