#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_alluxio_journal
short_description: Format the journal of an Alluxio master that was never formatted
description:
  - Formats only a folder that is empty (or not there) on a master that was never bootstrapped, by the mark on this node and by
    I(bootstrapped). A journal that holds anything is left as it is, whatever the mark says; one that was formatted and is empty
    now is an error, unless I(replace) allows to make it again.
options:
  path:
    description: Folder of the journal.
    type: path
    required: true
  marker:
    description: Where an avadm of an earlier release kept the mark; it is taken over from there.
    type: path
    default: /var/lib/alluxio/formatted.json
  marks:
    description: Folder of the mark that says that it was formatted and of which kind.
    type: path
    default: /var/lib/avadm/founded
  name:
    description: The master's name.
    type: str
    required: true
  bootstrapped:
    description: Masters that were bootstrapped, by the site's state; name to the journal's kind.
    type: dict
    default: {}
  replace:
    description: Whether a journal that was lost may be recreated.
    type: bool
    default: false
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
    name: mast1
    path: /var/lib/alluxio/journal
    kind: UFS
    command: [/usr/local/sbin/avadm-alluxio, format, MASTER]
"""

RETURN = r"""
action:
  description: What was done, C(format), C(mark) (there was a journal and no mark) or C(keep).
  type: str
  returned: success
bootstrapped:
  description: C(name) and C(identity) of the mark.
  type: dict
  returned: success
"""

import json
import os

from ansible.module_utils import avadm_alluxio as alluxio
from ansible.module_utils import avadm_bootstrap_mark as marks
from ansible.module_utils.basic import AnsibleModule

FORMATTED = "avadm-formatted"
MARK = "alluxio-journal"


def former(path):
    """Return the kind that the marker of an earlier release tells; None where there is none."""
    try:
        with open(path) as stream:
            return json.load(stream)["kind"]
    except (IOError, OSError):
        return None
    except (ValueError, KeyError, TypeError):
        return marks.UNKNOWN


def ensure(given, run, check_mode):
    """Return what was (in check mode would be) done; AlluxioError where nothing may be.

    Args:
        given: the module's arguments.
        run: callable(argv) -> (rc, stdout, stderr).
    """
    path, kind = given["path"], given["kind"]
    reply = marks.known(MARK, given["name"], given["bootstrapped"], given["marks"]) or former(given["marker"])
    try:
        action = alluxio.journal_action(alluxio.entries(path), reply, kind, given["replace"])
    except alluxio.AlluxioError as error:
        raise alluxio.AlluxioError(
            "%s Journal: %s, mark: %s." % (error, path, marks.path_of(MARK, given["marks"]))
        )
    if check_mode:
        return action
    if action == "format":
        if not os.path.isdir(path):
            os.makedirs(path, 0o700)
        rc, out, err = run(given["command"])
        if rc != 0:
            raise alluxio.AlluxioError(
                "The journal cannot be formatted: exit status %d, %s" % (rc, (err or out).strip()[-400:])
            )
        if not alluxio.entries(path):
            # An embedded journal is empty until its master has run; this tells it from one that was lost.
            open(os.path.join(path, FORMATTED), "w").close()
    if marks.keep(MARK, kind, given["marks"]) and action == "keep":
        action = "mark"
    if os.path.exists(given["marker"]):
        os.unlink(given["marker"])
    return action


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "marker": {"type": "path", "default": "/var/lib/alluxio/formatted.json"},
            "marks": {"type": "path", "default": marks.FOLDER},
            "name": {"type": "str", "required": True},
            "bootstrapped": {"type": "dict", "default": {}},
            "replace": {"type": "bool", "default": False},
            "kind": {"type": "str", "choices": ["UFS", "EMBEDDED"], "required": True},
            "command": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        action = ensure(given, module.run_command, module.check_mode)
    except alluxio.AlluxioError as error:
        module.fail_json(msg=str(error))
    except (IOError, OSError) as error:
        module.fail_json(msg="The journal cannot be prepared: %s. Remedy: see the disk under it." % error)
    module.exit_json(
        changed=action != "keep", action=action, bootstrapped={"name": MARK, "identity": given["kind"]}
    )


if __name__ == "__main__":
    main()
