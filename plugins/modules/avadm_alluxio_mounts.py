#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_alluxio_mounts
short_description: Mount under stores in Alluxio
description:
  - Mounts what is missing, waits until a leading master answers, and looks at the table again afterwards.
  - Never unmounts. A folder that has another under store is an error; what is mounted beside the wanted ones is reported.
  - Options, among them an object store's keys, reach the command by a file of arguments that only root can read. Their
    digest is kept, so that a changed key is handed on to the mount.
options:
  mounts:
    description: The under stores.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: Folder of Alluxio.
        type: str
        required: true
      store:
        description: Address of the under store, C(s3://...), C(hdfs://...) or an absolute path.
        type: str
        required: true
      folder:
        description: Whether the address is a folder here, to be made where it is not there.
        type: bool
        default: false
      read_only:
        description: Whether nothing can be written to it.
        type: bool
        default: false
      options:
        description: The mount's options.
        type: dict
        default: {}
      reach:
        description: Servers, HOST:PORT, of which one has to answer here before it is mounted; none is asked where empty.
        type: list
        elements: str
        default: []
  below:
    description: Mount point that must be there before a folder is made; none where empty.
    type: str
    default: ""
  command:
    description: Alluxio's command line; C(fs mount) is appended, or C(arguments FILE).
    type: list
    elements: str
    required: true
  state:
    description: File that keeps the digests of the options.
    type: path
    required: true
  timeout:
    description: Seconds to wait for a leading master.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: Mount the under stores
  avadm_alluxio_mounts:
    mounts: [{path: /cephfs, store: /mnt/cephfs/datasets, folder: true}]
    below: /mnt/cephfs
    command: [/usr/local/sbin/avadm-alluxio]
    state: /var/lib/alluxio/mounts.json
  no_log: true
"""

RETURN = r"""
mounted:
  description: Folders that were (in check mode would be) mounted.
  type: list
  returned: success
updated:
  description: Folders whose options were handed on again.
  type: list
  returned: success
others:
  description: Folders that are mounted and not wanted; they are left.
  type: list
  returned: success
"""

import hashlib
import json
import os
import socket
import tempfile
import time

from ansible.module_utils import avadm_alluxio as alluxio
from ansible.module_utils.basic import AnsibleModule

SHELL = "alluxio.cli.fs.FileSystemShell"


class Mounts(object):
    """Alluxio's table of mounts.

    Args:
        command: the command line's first words.
        run: callable(argv) -> (rc, stdout, stderr).
    """

    def __init__(self, command, run, sleep=time.sleep, clock=time.time):
        self.command = command
        self.run = run
        self.sleep = sleep
        self.clock = clock

    def table(self, timeout):
        """Return under store by folder; AlluxioError where no leading master answers in time."""
        deadline = self.clock() + timeout
        while True:
            rc, out, err = self.run(self.command + ["fs", "mount"])
            found = alluxio.mounted(out)
            if rc == 0 and "/" in found:
                return found
            if self.clock() >= deadline:
                raise alluxio.AlluxioError(
                    "No leading master of Alluxio answered within %d s (%s). Remedy: see `journalctl -u"
                    " avadm-alluxio-master` on the masters."
                    % (timeout, (err or out).strip()[-300:] or "exit %d" % rc)
                )
            self.sleep(2)

    def shell(self, words, secret):
        """Run Alluxio's shell; AlluxioError where it fails. Words that other users must not see (``secret``) want Java 9."""
        rc, out, err = self.hidden(words) if secret else self.run(self.command + ["fs"] + words)
        if rc != 0:
            raise alluxio.AlluxioError(
                "%s of %s failed: %s. Remedy: see that the under store answers from the masters and that its keys are"
                " right."
                % (words[0], words[-1], self.error_text(words, (err or out).strip()[-400:]) or "exit %d" % rc)
            )

    def hidden(self, words):
        """Run Alluxio's shell with words from a file of root's alone."""
        handle, path = tempfile.mkstemp(prefix="avadm-alluxio-", dir=self.folder())
        try:
            with os.fdopen(handle, "w") as stream:
                stream.write(alluxio.quoted([SHELL] + words))
            return self.run(self.command + ["arguments", path])
        finally:
            os.unlink(path)

    @staticmethod
    def folder():
        """Return where the file of arguments is written: in memory, where there is such a place."""
        return "/run" if os.path.isdir("/run") else None

    @staticmethod
    def error_text(words, text):
        """Return what the command reported without the values of options."""
        for word in words:
            value = word.partition("=")[2]
            if value:
                text = text.replace(value, "***")
        return text


def words(verb, one):
    """Return the arguments of a mount (or, for updateMount, of its change)."""
    made = [verb]
    if one["read_only"]:
        made.append("--readonly")
    for name in sorted(one["options"]):
        made += ["--option", "%s=%s" % (name, one["options"][name])]
    return made + ([one["path"], one["store"]] if verb == "mount" else [one["path"]])


def has_keys(one):
    """Return whether keys of an object store are among a mount's options; folders and HDFS (simple authentication) have none."""
    return one["store"].startswith("s3")


def digest(one):
    """Return what changes with a mount's options; the file that keeps it is root's alone."""
    text = json.dumps([one["read_only"], sorted(one["options"].items())])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def kept(path):
    """Return the digests of earlier runs by folder."""
    try:
        with open(path) as stream:
            return json.load(stream)
    except (IOError, OSError, ValueError):
        return {}


def keep(path, digests):
    """Write the digests, for root alone."""
    handle = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as stream:
        json.dump(digests, stream, sort_keys=True)
    os.rename(path + ".new", path)


def ensure(wanted, below, mounts, state, timeout, check_mode, connect=socket.create_connection):
    """Mount what is missing; return (mounted, updated, others)."""
    table, digests = mounts.table(timeout), kept(state)
    made, updated = [], []
    for one in wanted:
        there = table.get(one["path"])
        if there is not None and not alluxio.same_store(there, one["store"]):
            raise alluxio.AlluxioError(
                "%s of the cache has the under store %s; wanted is %s. Nothing is unmounted by itself. Remedy: see that all"
                " of it is persisted, then `avadm-alluxio fs unmount %s` on a master, and apply again."
                % (one["path"], there, one["store"], one["path"])
            )
        if there is None:
            made.append(one["path"])
            if not check_mode:
                folder(one, below)
                reach(one, connect)
                mounts.shell(words("mount", one), has_keys(one))
        elif digests.get(one["path"]) != digest(one):
            updated.append(one["path"])
            if not check_mode:
                mounts.shell(words("updateMount", one), has_keys(one))
        digests[one["path"]] = digest(one)
    paths = [one["path"] for one in wanted]
    if made and not check_mode:
        table = mounts.table(timeout)
        absent = [p for p in paths if p not in table]
        if absent:
            raise alluxio.AlluxioError("Alluxio says that it mounted %s, and has it not." % ", ".join(absent))
    if (made or updated) and not check_mode:
        keep(state, {p: digests[p] for p in paths})
    return made, updated, sorted(p for p in table if p != "/" and p not in paths)


def folder(one, below):
    """Make the folder that is to be mounted, below a mount that is there."""
    if not one["folder"] or os.path.isdir(one["store"]):
        return
    if below and not os.path.ismount(below):
        raise alluxio.AlluxioError(
            "%s is not mounted here, so that %s would lie on this machine's own disk. Remedy: `avadm apply cephfs`."
            % (below, one["store"])
        )
    os.makedirs(one["store"], 0o755)


def reach(one, connect):
    """AlluxioError where none of an under store's servers answers: Alluxio would try for long and say little."""
    messages = []
    for server in one.get("reach") or []:
        host, _, port = server.rpartition(":")
        try:
            connect((host, int(port)), 5).close()
            return
        except (socket.error, OverflowError) as error:
            messages.append("%s: %s" % (server, error))
    if messages:
        raise alluxio.AlluxioError(
            "%s of the cache cannot be mounted: no namenode of %s answers here (%s). Remedy: see that one of them runs,"
            " that its name is known on the masters and workers and that nothing on the way refuses its port; or correct"
            " namenodes in the site file." % (one["path"], one["store"], "; ".join(messages))
        )


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "mounts": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "path": {"type": "str", "required": True},
                    "store": {"type": "str", "required": True},
                    "folder": {"type": "bool", "default": False},
                    "read_only": {"type": "bool", "default": False},
                    "options": {"type": "dict", "default": {}, "no_log": False},
                    "reach": {"type": "list", "elements": "str", "default": []},
                },
            },
            "below": {"type": "str", "default": ""},
            "command": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "path", "required": True},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    given = module.params

    def run(argv):
        # With the table it asks each under store how large it is; an HDFS that does not answer takes most of a minute.
        return module.run_command(argv, environ_update={"AVADM_ALLUXIO_TIMEOUT": str(given["timeout"])})

    table = Mounts(given["command"], run)
    try:
        made, updated, others = ensure(
            given["mounts"], given["below"], table, given["state"], given["timeout"], module.check_mode
        )
    except alluxio.AlluxioError as error:
        module.fail_json(msg=str(error))
    except (IOError, OSError) as error:
        module.fail_json(
            msg="The under stores cannot be mounted: %s. Remedy: see the folder that it names." % error
        )
    module.exit_json(changed=bool(made or updated), mounted=made, updated=updated, others=others)


if __name__ == "__main__":
    main()
