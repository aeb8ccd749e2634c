"""Takes, keeps, shows or gives back the site's lock on a node, and tells of the kept state."""

from __future__ import absolute_import

import contextlib
import fcntl
import io
import json
import os
import tempfile
import time

PATIENCE = 10.0  # seconds for which another command on the same lock is waited for
DAY = 86400.0


class Store(object):
    """The site's folder on this node: ``lock`` and ``state.json``, both for root alone."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = os.path.join(folder, "lock")

    @contextlib.contextmanager
    def alone(self):
        """Be the only command that changes the lock: what is read stays so until it is removed or replaced."""
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder, 0o700)
        os.chmod(self.folder, 0o700)
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            until = time.time() + PATIENCE
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except (IOError, OSError):
                    if time.time() > until:
                        raise
                    time.sleep(0.02)
            self._sweep()
            yield
        finally:
            os.close(handle)

    def _sweep(self):
        """Remove what killed commands and abandoned runs left here a day ago."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            if name.startswith((".lock-", ".gone-")) and os.stat(path).st_mtime < time.time() - DAY:
                os.unlink(path)

    def _gone(self, token):
        return os.path.join(self.folder, ".gone-%s" % "".join(c for c in token if c.isalnum()))

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
        if os.path.exists(self._gone(owner["token"])):
            raise IOError("this run has given the lock up already")
        # mkstemp makes it with O_EXCL and 0600; a link to a name that exists fails, so that no one sees half a lock.
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

    def abandon(self, token):
        """Release the lock, and refuse it to the token from now on: its take may still be on its way here."""
        os.close(os.open(self._gone(token), os.O_WRONLY | os.O_CREAT, 0o600))
        return self.release(token)

    def beat(self, token):
        """Set the lock's time to now if it is that of the token; return whether it is."""
        found = self.holder()
        if found is None or found.get("token") != token:
            return False
        os.utime(self.lock, None)
        return True

    def kept(self):
        """Return serial and lock's nodes of the state that is kept here; None where there is none."""
        try:
            with io.open(os.path.join(self.folder, "state.json"), encoding="utf-8") as source:
                state = json.loads(source.read())["ledger"]
            return {"serial": state["serial"], "keepers": state.get("keepers")}
        except (IOError, OSError, ValueError, KeyError, TypeError, AttributeError):
            return {"serial": None, "keepers": None}


def do(params):
    """Do what was asked and tell what is now."""
    store = Store(params["folder"])
    done, verb, found = None, params["verb"], None
    if verb == "show":
        found = store.holder()
    else:
        with store.alone():
            if verb == "take":
                # Who is broken is named: a lock that changed hands meanwhile stays.
                if params["token"]:
                    store.release(params["token"])
                found = store.take(params["owner"])
                done = found is None
            else:
                done = getattr(store, {"beat": "beat", "abandon": "abandon"}.get(verb, "release"))(
                    params["token"]
                )
                found = store.holder()
    return dict(store.kept(), done=done, holder=found)
