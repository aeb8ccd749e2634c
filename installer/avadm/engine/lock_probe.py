"""Takes, keeps, shows or gives back the site's lock on a node, and tells of the kept state; Python 2.7 and 3.

Sent through ssh's stdin behind a line ``PARAMS = "..."`` (JSON: folder, verb, owner, token); prints one JSON object.
"""

import io
import json
import os
import sys
import tempfile
import time


class Store(object):
    """The site's folder on this node: ``lock`` and ``state.json``, both for root alone."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = os.path.join(folder, "lock")

    def holder(self):
        """Return who holds the lock, with the age of the last heartbeat in seconds; None where it is free."""
        try:
            with io.open(self.lock, encoding="utf-8") as source:
                owner = json.loads(source.read())
            return dict(owner, beat_age=round(max(0.0, time.time() - os.stat(self.lock).st_mtime), 1))
        except (IOError, OSError):
            return None
        except ValueError:
            return {"token": "?", "beat_age": None}

    def take(self, owner):
        """Make the lock with its content, which fails where there is one; return who held it before."""
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder, 0o700)
        os.chmod(self.folder, 0o700)
        # mkstemp makes it with O_EXCL and 0600; a link to a name that exists fails, so that nobody sees half a lock.
        handle, made = tempfile.mkstemp(prefix=".lock-", dir=self.folder)
        try:
            with os.fdopen(handle, "w") as target:
                target.write(json.dumps(owner))
                target.flush()
                os.fsync(target.fileno())
            try:
                os.link(made, self.lock)
            except OSError:
                found = self.holder()
                if found is None:
                    raise
                return found
        finally:
            os.unlink(made)
        return None

    def release(self, token):
        """Remove the lock if it is that of the token; return whether it was."""
        found = self.holder()
        if found is None or found.get("token") != token:
            return False
        os.unlink(self.lock)
        return True

    def beat(self, token):
        """Set the lock's time to now if it is that of the token; return whether it is."""
        found = self.holder()
        if found is None or found.get("token") != token:
            return False
        os.utime(self.lock, None)
        return True

    def kept(self):
        """Return the serial of the state that is kept here; None where there is none."""
        try:
            with io.open(os.path.join(self.folder, "state.json"), encoding="utf-8") as source:
                return json.loads(source.read())["ledger"]["serial"]
        except (IOError, OSError, ValueError, KeyError, TypeError):
            return None


def main(params):
    """Do what was asked and tell what is now."""
    store = Store(params["folder"])
    done, verb = None, params["verb"]
    if verb == "take":
        # Who is broken is named: a lock that changed hands meanwhile stays.
        if params["token"]:
            store.release(params["token"])
        found = store.take(params["owner"])
        return {"done": found is None, "holder": found, "serial": store.kept()}
    if verb == "release":
        done = store.release(params["token"])
    elif verb == "beat":
        done = store.beat(params["token"])
    return {"done": done, "holder": store.holder(), "serial": store.kept()}


if "PARAMS" in globals():  # the line in front of this file sets it
    sys.stdout.write(json.dumps(main(json.loads(PARAMS))) + "\n")  # noqa: F821
