#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_database_member
short_description: Check whether a member of PostgreSQL may start
description:
  - A member with data may. One that was created before and has none may only copy them from the primary, when that is asked for
    and the primary answers; a new one beside others that were created before copies them too. The first ones found the cluster.
options:
  name: {description: This node., type: str, required: true}
  data_dir: {description: Folder of its data., type: path, required: true}
  others: {description: URLs that answer 200 where the primary is., type: list, elements: str, default: []}
  ca: {description: Certificate of their authority., type: path, default: /etc/patroni/ca.crt}
  bootstrapped: {description: "Members that were created, to the cluster; from the state of avadm.", type: dict, default: {}}
  replace: {description: Whether a member that has lost its data may copy them., type: bool, default: false}
  marks: {description: Folder of the marks., type: path, default: /var/lib/avadm/founded}
  file: {description: What lets it start once without data., type: path, default: /run/avadm/database-copy}
"""

EXAMPLES = r"""
- name: Check the member's data
  avadm_database_member:
    name: cpu1
    data_dir: /var/lib/postgresql/15/avadm
    others: ["https://10.0.0.12:8008/primary"]
"""

RETURN = r"""
copies:
  description: Whether it copies the data from the primary.
  type: bool
  returned: success
"""

import os

from ansible.module_utils import avadm_bootstrap_mark as marks
from ansible.module_utils.avadm_ask import ask
from ansible.module_utils.basic import AnsibleModule

MARK = "database"


class Refused(Exception):
    """The member may not start."""


def has_data(folder):
    """Return whether a folder has a cluster's data."""
    try:
        return os.path.getsize(os.path.join(folder, "PG_VERSION")) > 0
    except OSError:
        return False


def decide(given, primary):
    """Return whether a member has to copy its data.

    Args:
        given: the module's options.
        primary: returns the URL of the primary, None where none answers.

    Raises:
        Refused: it may not start.
    """
    if has_data(given["data_dir"]):
        return False
    own = marks.known(MARK, given["name"], given["bootstrapped"], given["marks"])
    if own is None and not given["bootstrapped"]:
        return False
    again = "Then apply again."
    if own is not None and not given["replace"]:
        what = "The member of PostgreSQL on %s" % given["name"]
        instead = (
            "If the data are gone: `avadm apply database --replace %s` copies them from the primary."
            % given["name"]
        )
        raise Refused(marks.lost(what, given["data_dir"], own, "%s %s" % (again, instead)))
    if primary() is None:
        raise Refused(
            "%s has no data to start with, and no primary answers (%s). It bootstraps no second cluster: %s were members before."
            " Remedy: start the primary (`journalctl -u patroni` there). %s"
            % (
                given["name"],
                ", ".join(given["others"]) or "there is no other member",
                ", ".join(sorted(given["bootstrapped"])) or given["name"],
                again,
            )
        )
    return own is not None


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "data_dir": {"type": "path", "required": True},
            "others": {"type": "list", "elements": "str", "default": []},
            "ca": {"type": "path", "default": "/etc/patroni/ca.crt"},
            "bootstrapped": {"type": "dict", "default": {}},
            "replace": {"type": "bool", "default": False},
            "marks": {"type": "path", "default": marks.FOLDER},
            "file": {"type": "path", "default": "/run/avadm/database-copy"},
        },
        supports_check_mode=True,
    )
    given = module.params

    def primary():
        for url in given["others"]:
            status, _ = ask(url, {"ca": given["ca"]})
            if status == 200:
                return url
        return None

    try:
        copies = decide(given, primary)
        changed = copies != os.path.exists(given["file"])
        if changed and not module.check_mode:
            if copies:
                if not os.path.isdir(os.path.dirname(given["file"])):
                    os.makedirs(os.path.dirname(given["file"]), 0o700)
                open(given["file"], "w").close()
            else:
                os.unlink(given["file"])
    except Refused as error:
        module.fail_json(msg=str(error))
    except (IOError, OSError) as error:
        module.fail_json(msg="%s cannot be written: %s." % (given["file"], error))
    module.exit_json(changed=changed, copies=copies)


if __name__ == "__main__":
    main()
