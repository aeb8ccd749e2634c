#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: avadm_alluxio_journal
short_description: Format the journal of an Alluxio master that was never formatted
description:
  - Formats only a folder that is empty (or not there) on a master without the marker of an earlier time. A journal that
    holds anything is left as it is, whatever the marker says; one that was formatted and is empty now is an error.
options:
  path:
    description: Folder of the journal.
    type: path
    required: true
  marker:
    description: File that says that it was formatted, when and of which kind.
    type: path
    required: true
  kind:
    description: The journal's kind.
    type: str
    choices: [UFS, EMBEDDED]
    required: true
  command:
    description: The command that formats; it must end by itself.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Format the journal once
  avadm_alluxio_journal:
    path: /var/lib/alluxio/journal
    marker: /var/lib/alluxio/formatted.json
    kind: UFS
    command: [/usr/local/sbin/avadm-alluxio, format, MASTER]
"""

RETURN = r"""
action:
  description: What was done, C(format), C(mark) (there was a journal and no marker) or C(keep).
  type: str
  returned: success
"""

import json
import os
import time

from ansible.module_utils import avadm_alluxio as alluxio
from ansible.module_utils.basic import AnsibleModule

FORMATTED = "avadm-formatted"


def marker_of(path):
    """Return what a marker says; None where there is none, {} where it cannot be read."""
    try:
        with open(path) as stream:
            return json.load(stream)
    except (IOError, OSError):
        return None
    except ValueError:
        return {}


def ensure(path, marker, kind, command, run, check_mode, now=time.time):
    """Return what was (in check mode would be) done; AlluxioError where nothing may be.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
    """
    said = marker_of(marker)
    try:
        action = alluxio.journal_action(alluxio.entries(path), said, kind)
    except alluxio.AlluxioError as error:
        raise alluxio.AlluxioError("%s Journal: %s, marker: %s." % (error, path, marker))
    if action == "keep" or check_mode:
        return action
    if action == "format":
        if not os.path.isdir(path):
            os.makedirs(path, 0o700)
        rc, out, err = run(command)
        if rc != 0:
            raise alluxio.AlluxioError(
                "The journal cannot be formatted: exit status %d, %s" % (rc, (err or out).strip()[-400:])
            )
        if not alluxio.entries(path):
            # An embedded journal is empty until its master has run; this tells it from one that was lost.
            open(os.path.join(path, FORMATTED), "w").close()
    with open(marker + ".new", "w") as stream:
        json.dump({"kind": kind, "when": int(now()), "action": action}, stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.rename(marker + ".new", marker)
    return action


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "marker": {"type": "path", "required": True},
            "kind": {"type": "str", "choices": ["UFS", "EMBEDDED"], "required": True},
            "command": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        action = ensure(
            given["path"],
            given["marker"],
            given["kind"],
            given["command"],
            module.run_command,
            module.check_mode,
        )
    except alluxio.AlluxioError as error:
        module.fail_json(msg=str(error))
    except (IOError, OSError) as error:
        module.fail_json(msg="The journal cannot be prepared: %s. Remedy: see the disk under it." % error)
    module.exit_json(changed=action != "keep", action=action)


if __name__ == "__main__":
    main()
