#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_pgbackrest
short_description: Create the repository of PostgreSQL's backups, and see that it takes WAL
description:
  - On the node of the primary alone; elsewhere nothing is done. A repository that is there is left as it is.
  - With a folder in place of a bucket it must be there and be writable for the user postgres on each member; it is never made,
    since a share that is not mounted is an empty folder of the node.
options:
  url: {description: "Patroni's interface on this node.", type: str, required: true}
  ca: {description: Certificate of its authority., type: path, default: /etc/patroni/ca.crt}
  stanza: {description: The stanza of pgbackrest., type: str, default: avadm}
  directory: {description: Folder that is the repository; empty for a bucket., type: str, default: ""}
  timeout: {description: Seconds that pgbackrest may take., type: int, default: 180}
"""

EXAMPLES = r"""
- name: Create the repository
  avadm_pgbackrest:
    url: https://10.0.0.5:8008
"""

RETURN = r"""
actions:
  description: What was done (in check mode would be).
  type: list
  returned: success
"""

import json

from ansible.module_utils.avadm_ask import ask
from ansible.module_utils.basic import AnsibleModule

MISSING = (1, 3)
"""What `info` calls a stanza that is not there (missing stanza path, missing stanza data)."""
POSTGRES = ["runuser", "-u", "postgres", "--"]


class RepositoryError(Exception):
    """The repository is not as it should be; the text is for people."""


class Repository(object):
    """The repository, as pgbackrest sees it.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        stanza: name of the stanza.
        timeout: seconds that pgbackrest may take.
    """

    def __init__(self, run, stanza, timeout, dry=False):
        self.run, self.stanza, self.timeout, self.dry = run, stanza, timeout, dry
        self.actions = []

    def must(self, *words):
        """Run a command; return what it says."""
        argv = POSTGRES + ["timeout", str(self.timeout), "pgbackrest", "--stanza=" + self.stanza]
        rc, out, err = self.run(argv + list(words))
        if rc != 0:
            reply = " ".join((err or out).split())[-700:]
            raise RepositoryError("`pgbackrest %s` ended with %d: %s" % (words[0], rc, reply or "no word"))
        return out

    def code(self):
        """Return how `info` calls the stanza's state: 0 and 2 are good, 2 without a backup yet."""
        report = json.loads(self.must("info", "--output=json"))
        return report[0]["status"]["code"] if report else MISSING[0]

    def folder(self, path):
        """See that a folder is there, and postgres may write to it."""
        rc, _, _ = self.run(POSTGRES + ["test", "-d", path, "-a", "-w", path])
        if rc != 0:
            raise RepositoryError(
                "%s is no folder that the user postgres may write to (it is never made: a share that is not mounted would be the"
                " node's own disk)" % path
            )

    def ensure(self):
        """Make the stanza where there is none, and have a segment of WAL archived."""
        code = self.code()
        if code in (0, 2):
            return
        if code not in MISSING:
            raise RepositoryError("the repository is in the state %d of `pgbackrest info`" % code)
        self.actions.append("stanza-create")
        if self.dry:
            return
        self.must("stanza-create")
        self.must("check")


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "ca": {"type": "path", "default": "/etc/patroni/ca.crt"},
            "stanza": {"type": "str", "default": "avadm"},
            "directory": {"type": "str", "default": ""},
            "timeout": {"type": "int", "default": 180},
        },
        supports_check_mode=True,
    )
    given = module.params
    work = Repository(module.run_command, given["stanza"], given["timeout"], module.check_mode)
    tls = {"ca": given["ca"]} if given["url"].startswith("https:") else None
    try:
        if given["directory"]:
            work.folder(given["directory"])
        if ask(given["url"] + "/primary", tls)[0] == 200:
            work.ensure()
    except (RepositoryError, ValueError) as error:
        if module.check_mode:
            module.exit_json(changed=True, actions=["create the repository"])
        module.fail_json(
            msg="The repository of backups is of no use: %s. Done before: %s. Remedy: see that the store answers, lets this key"
            " in and has room (`avadm doctor --only objects`), then apply again."
            % (error, "; ".join(work.actions) or "nothing")
        )
    module.exit_json(changed=bool(work.actions), actions=work.actions)


if __name__ == "__main__":
    main()
