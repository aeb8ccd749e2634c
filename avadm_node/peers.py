"""What a node knows of the site's other nodes: /etc/hosts, and the rules of its packet filter."""

from __future__ import absolute_import

import errno
import json
import os
import subprocess
import tempfile

PROGRAM = "/usr/local/sbin/avadm-packet-filter"


def hosts(given):
    """Write a file that is there already; return whether that changed it.

    Args:
        given: ``path`` and ``content``, a text.
    """
    path, content = given["path"], given["content"].encode("utf-8")
    with open(path, "rb") as source:
        if source.read() == content:
            return {"changed": False}
    there = os.stat(path)
    handle, new = tempfile.mkstemp(prefix=".avadm-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as target:
            target.write(content)
            target.flush()
            os.fsync(target.fileno())
        os.chown(new, there.st_uid, there.st_gid)
        os.chmod(new, there.st_mode & 0o7777)
        os.rename(new, path)
    except (IOError, OSError) as error:
        os.unlink(new)
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
        # A mount of its own, as in containers: a rename cannot replace it.
        with open(path, "wb") as target:
            target.write(content)
    return {"changed": True}


def rules(given):
    """Load rules of the packet filter; return whether that changed them, and whether the node will take them back.

    Args:
        given: ``rules``, the text, and ``seconds``, after which they are taken back unless `keep` comes before.
    """
    with tempfile.NamedTemporaryFile(suffix=".nft") as source:
        source.write(given["rules"].encode("utf-8"))
        source.flush()
        reply = _run_filter("try", source.name, str(given["seconds"]))
    return {"changed": bool(reply["changed"]), "armed": bool(reply["armed"])}


def keep(given):
    """Keep the rules that were loaded last; ``given`` is empty."""
    return _run_filter("keep")


def _run_filter(*words):
    """Return what the packet filter's program prints; RuntimeError with its complaint where it refuses."""
    process = subprocess.Popen((PROGRAM,) + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate()
    if process.returncode:
        raise RuntimeError("%s: %s" % (words[0], (err or out).decode("utf-8", "replace").strip()))
    return json.loads(out.decode("utf-8"))
