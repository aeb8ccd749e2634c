# Runs on nodes: python 2.7 and 3.
"""What our ceph modules share: the ``ceph`` command as JSON, and key files that no other user can read."""

from __future__ import absolute_import, division, print_function

import json
import os
import re
import tempfile
import time

ADMIN = "/etc/ceph/ceph.client.admin.keyring"


class CephError(Exception):
    """Ceph refused a command, or does not answer; the text is for people."""


class NotThere(CephError):
    """This node has no ceph yet: neither its commands nor, on a monitor node, the administrator's key."""


class Ceph(object):
    """The ``ceph`` command of this node, with the administrator's key.

    Args:
        run: callable(argv, data) -> (rc, stdout, stderr), e.g. AnsibleModule.run_command.
        connect_timeout: seconds until a cluster without quorum counts as not answering.
        dry: nothing is changed; a node that has no ceph yet is no error.
    """

    def __init__(self, run, connect_timeout=30, dry=False):
        self.run = run
        self.connect_timeout = connect_timeout
        self.dry = dry

    def text(self, *words, **options):
        """Run ``ceph WORDS`` and return its output; `data` goes to standard input (secrets belong there).

        With `with_stderr` the output includes standard error.
        """
        argv = ["ceph", "--connect-timeout", str(self.connect_timeout)] + [str(w) for w in words]
        rc, out, err = self.run(argv, options.get("data"))
        if rc != 0:
            kind = CephError if os.path.exists(ADMIN) else NotThere
            raise kind(
                "`ceph %s` failed (%d): %s" % (" ".join(argv[3:]), rc, tail(err or out) or "no output")
            )
        return out + "\n" + err if options.get("with_stderr") else out

    def all(self, commands):
        """Run several changing commands in one process, in their order, which has to be repeatable.

        Each start of ``ceph`` takes as long as several commands. It reads them from standard input, continues after one that
        is refused, and ends with 0 whatever came: what it says of each is all that tells.
        """
        out = self.text(data="".join("%s\n" % command for command in commands), with_stderr=True)
        refused = re.findall(r"^Error E.*", out, re.M)
        if refused:
            raise CephError("`ceph` refused %s: %s" % ("; ".join(commands), " | ".join(refused)))

    def json(self, *words, **options):
        """Run ``ceph WORDS --format json`` and return the parsed answer; `absent` in a dry run without ceph."""
        try:
            out = self.text(*(words + ("--format", "json")))
        except NotThere:
            if not self.dry or "absent" not in options:
                raise
            return options["absent"]
        try:
            return json.loads(out)
        except ValueError:
            raise CephError("`ceph %s` did not answer JSON: %s" % (" ".join(words), out[:200]))


def runner(module):
    """Return an AnsibleModule's run_command in the shape that Ceph wants; NotThere where there is no such command."""

    def run(argv, data=None):
        options = {"data": data, "binary_data": True, "environ_update": {"LC_ALL": "C"}}
        try:
            return module.run_command(argv, handle_exceptions=False, **options)
        except (IOError, OSError) as error:
            raise NotThere("`%s` cannot be run: %s" % (argv[0], error.strerror))

    return run


def tail(text, lines=6):
    """Return the last lines of a command's output as one line, for an error."""
    return " / ".join([line.strip() for line in text.splitlines() if line.strip()][-lines:])


def keyring(entities):
    """Return keyring text for ``[{"entity", "key", "caps": {service: caps}}]``; caps may be left out."""
    lines = []
    for one in entities:
        lines += ["[%s]" % one["entity"], "\tkey = %s" % one["key"]]
        lines += [
            '\tcaps %s = "%s"' % (service, caps) for service, caps in sorted((one.get("caps") or {}).items())
        ]
    return "\n".join(lines) + "\n"


class SecretFile(object):
    """A temporary file (0600) that holds a secret while a command needs it."""

    def __init__(self, text, uid=-1, gid=-1):
        self.text, self.uid, self.gid = text, uid, gid
        self.path = ""

    def __enter__(self):
        handle, self.path = tempfile.mkstemp(prefix="avadm-")  # mkstemp makes it 0600
        with os.fdopen(handle, "w") as file:
            file.write(self.text)
        if self.uid >= 0:
            os.chown(self.path, self.uid, self.gid)
        return self.path

    def __exit__(self, *_error):
        os.unlink(self.path)


def wait(until, timeout, settled=None, pause=1.0, clock=time):
    """Call `until` every `pause` seconds until it returns None, at most `timeout` seconds.

    Args:
        until: callable() -> None when all is well, else what is still missing, as text for people.
        settled: give up when the answer has been the same for so many seconds; None for never.

    Returns:
        None, or what was missing at the end.
    """
    since = start = clock.time()
    before = None
    while True:
        missing = until()
        now = clock.time()
        if missing is None or now >= start + timeout:
            return missing
        if missing != before:
            before, since = missing, now
        elif settled is not None and now >= since + settled:
            return missing
        clock.sleep(pause)
