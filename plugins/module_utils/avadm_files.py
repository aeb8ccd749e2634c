# Runs on nodes: python 2.7 and 3.
"""Small files of a node: whether one differs from what it shall be, and how it is written."""

from __future__ import absolute_import, division, print_function

import base64
import grp
import io
import os
import pwd
import shlex
import stat
import tempfile

from ansible.module_utils._text import to_bytes, to_text

OPTIONS = {
    "path": {"type": "path", "required": True},
    "content": {"type": "str"},
    "secret": {"type": "str", "no_log": True},
    "base64": {"type": "str", "no_log": True},
    "link": {"type": "str"},
    "owner": {"type": "str"},
    "mode": {"type": "str", "default": "0644"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


class FilesError(Exception):
    """A file cannot be written; the text is for people."""


def read(path):
    """Return a file's bytes, or None where there is no file."""
    if not os.path.lexists(path):
        return None
    with io.open(path, "rb") as stream:
        return stream.read()


def wanted_bytes(entry):
    """Return the bytes that a file shall have."""
    if entry.get("base64"):
        return base64.b64decode(entry["base64"])
    content = to_bytes(entry.get("secret") or entry["content"] or "")
    return content if not content or content.endswith(b"\n") else content + b"\n"


def mode_of(path):
    """Return a file's permission bits."""
    return stat.S_IMODE(os.stat(path).st_mode)


def owner_of(entry):
    """Return the (uid, gid) that a file shall have; None where that is left open. KeyError for who is not there."""
    if not entry.get("owner"):
        return None
    user, _colon, group = entry["owner"].partition(":")
    account = pwd.getpwnam(user)
    return account.pw_uid, grp.getgrnam(group).gr_gid if group else account.pw_gid


def owned(path, owner):
    """Return whether a file has this (uid, gid), or none is asked for."""
    state = os.stat(path)
    return owner is None or (state.st_uid, state.st_gid) == owner


def difference(entry):
    """Return the before and after texts of a file that differs, else None."""
    if entry.get("link") and entry["state"] == "present":
        have = os.readlink(entry["path"]) if os.path.islink(entry["path"]) else ""
        return None if have == entry["link"] else (to_bytes(have), to_bytes(entry["link"]))
    before = read(entry["path"])
    if entry["state"] == "absent":
        return None if before is None else (before, b"")
    after = wanted_bytes(entry)
    if (
        before == after
        and mode_of(entry["path"]) == int(entry["mode"], 8)
        and owned(entry["path"], owner_of(entry))
    ):
        return None
    return (before or b"", after)


class Files(object):
    """Files as they are to be.

    Args:
        module: the Ansible module, for its folder, its moves and the programs that check a file.
        check: whether nothing is written.
    """

    def __init__(self, module, check):
        self.module, self.check = module, check
        self.paths, self.diffs = [], []

    def bring(self, entries):
        """Write or remove those that differ, in this order; their paths and differences are remembered."""
        for entry in entries:
            try:
                found = difference(entry)
                if found is None:
                    continue
                if not self.check:
                    self.write(entry, found[1])
            except (IOError, OSError) as error:
                raise FilesError(
                    "%s could not be written: %s. Remedy: see that its file system is writable and not full."
                    % (entry["path"], error)
                )
            except KeyError as error:
                raise FilesError(
                    "%s has no owner: %s. Remedy: install the package that makes this user or group."
                    % (entry["path"], error.args[0])
                )
            self.paths.append(entry["path"])
            if entry.get("secret") is None and entry.get("base64") is None:
                self.tell(entry["path"], *found)

    def tell(self, path, before, after):
        """Remember a difference."""
        self.diffs.append(
            {
                "before": to_text(before, errors="replace"),
                "after": to_text(after, errors="replace"),
                "before_header": path,
                "after_header": path,
            }
        )

    def write(self, entry, content):
        """Write or remove one file."""
        path = entry["path"]
        if entry["state"] == "absent":
            os.unlink(path)
            return
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o755)
        if entry.get("link"):
            self.link(entry["link"], path)
            return
        handle, made = tempfile.mkstemp(dir=self.module.tmpdir)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(made, int(entry["mode"], 8))
        owner = owner_of(entry)
        self.validate(entry, made)
        # unsafe_writes acts only where the rename is refused (a bind-mounted file): then it is written in place.
        # What is new there is everybody's as far as the umask lets it, until its mode is set.
        umask = os.umask(0o077)
        try:
            self.module.atomic_move(made, path, unsafe_writes=True)
        finally:
            os.umask(umask)
        if owner is not None:
            os.chown(path, *owner)
        os.chmod(path, int(entry["mode"], 8))

    def link(self, target, path):
        """Make a symbolic link, in the place of whatever file or link is there."""
        made = "%s.avadm-%d" % (path, os.getpid())
        os.symlink(target, made)
        try:
            os.rename(made, path)
        except OSError:
            os.unlink(made)
            raise

    def validate(self, entry, made):
        """Have a program judge a file before it takes its place."""
        if not entry.get("validate"):
            return
        argv = [word.replace("%s", made) for word in shlex.split(entry["validate"])]
        rc, out, err = self.module.run_command(argv)
        if rc != 0:
            raise FilesError(
                "%s was not written: `%s` refuses it: %s Remedy: see what it is made from."
                % (entry["path"], entry["validate"], (out + err).strip()[-1000:])
            )
