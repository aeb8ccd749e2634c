#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_backfill
short_description: Withdraw the limits of backfill by the hour from a ceph cluster
description:
  - Removes what C(avadm-ceph-backfill) has set, by the program itself, or the key by which it set that.
  - A node without the program's configuration never had limits, or has none any more; nothing is done there.
  - Values that were set by hand stay.
options:
  program: {description: The program on the node., type: path, required: true}
  config: {description: Its configuration; the node has limits where it is there., type: path, required: true}
  withdraw:
    description: The limits, on all nodes before the key; or the key.
    type: str
    choices: [limits, key]
    required: true
"""

EXAMPLES = r"""
- name: Remove the limits that were set
  avadm_ceph_backfill:
    program: /usr/local/sbin/avadm-ceph-backfill
    config: /etc/avadm/ceph/backfill.json
    withdraw: limits
"""

RETURN = r"""
withdrawn:
  description: What the program or ceph answered.
  type: str
  returned: success
"""

import os

from ansible.module_utils.basic import AnsibleModule

ENTITY = "client.avadm-backfill"


def main():
    module = AnsibleModule(
        argument_spec={
            "program": {"type": "path", "required": True},
            "config": {"type": "path", "required": True},
            "withdraw": {"type": "str", "choices": ["limits", "key"], "required": True},
        },
        supports_check_mode=True,
    )
    given = module.params
    there = os.path.exists(given["config"])
    if not there or module.check_mode:
        module.exit_json(changed=there, withdrawn="")
    argv = [given["program"], given["config"], "--withdraw"]
    if given["withdraw"] == "key":
        # One that is not there is no error.
        argv = ["timeout", "60", "ceph", "--connect-timeout", "20", "auth", "rm", ENTITY]
    rc, out, err = module.run_command(argv)
    if rc != 0:
        module.fail_json(
            msg="%s: exit status %d: %s. Remedy: see `ceph -s` on the node, then apply again."
            % (" ".join(argv), rc, (err or out).strip()[-300:])
        )
    module.exit_json(changed=True, withdrawn=out.strip())


if __name__ == "__main__":
    main()
