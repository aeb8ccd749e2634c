#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_bootstrap_mark
short_description: Record that a cluster member was created on this node
description:
  - Writes C(/var/lib/avadm/founded/NAME.json) where the data are there; avadm also keeps it in the site's state.
  - Whatever makes these data where there are none refuses to do so once there is such a mark.
  - Without the data nothing is written, and that is an error.
options:
  name: {description: The mark's name., type: str, required: true}
  identity: {description: What was bootstrapped; the cluster's id., type: str, required: true}
  data: {description: A path that is there where the data are., type: path, required: true}
  folder: {description: Folder of the marks., type: path, default: /var/lib/avadm/founded}
"""

EXAMPLES = r"""
- name: Record that the monitor was created
  avadm_bootstrap_mark:
    name: mon
    identity: "{{ vault_ceph_fsid }}"
    data: /var/lib/ceph/mon/ceph-stor1/store.db
"""

RETURN = r"""
bootstrapped:
  description: C(name) and C(identity) of the mark.
  type: dict
  returned: success
"""

import os

from ansible.module_utils import avadm_bootstrap_mark as marks
from ansible.module_utils.basic import AnsibleModule


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "identity": {"type": "str", "required": True},
            "data": {"type": "path", "required": True},
            "folder": {"type": "path", "default": marks.FOLDER},
        },
        supports_check_mode=True,
    )
    given = module.params
    if not os.path.exists(given["data"]) and not module.check_mode:
        module.fail_json(
            msg="%s cannot be marked as bootstrapped: %s is not there. Remedy: see its log, then apply again."
            % (given["name"], given["data"])
        )
    try:
        changed = marks.keep(given["name"], given["identity"], given["folder"], module.check_mode)
    except (IOError, OSError) as error:
        module.fail_json(msg="The mark of %s cannot be written: %s." % (given["name"], error))
    module.exit_json(changed=changed, bootstrapped={"name": given["name"], "identity": given["identity"]})


if __name__ == "__main__":
    main()
