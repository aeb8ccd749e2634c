#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_packet_filter
short_description: Load a node's packet filter, and keep it once the node is reachable again
description:
  - The action plug-in of this name calls it twice. The first call loads the rules and has the node take them back after some
    seconds; the second one, which comes by a new connection, keeps them. Anyone who is cut off by the rules cannot make it.
  - Rules that are loaded already are left alone, and so is the connection.
  - The work is done by C(/usr/local/sbin/avadm-packet-filter), which is there before.
options:
  state:
    description: Whether the node filters.
    type: str
    choices: [present, absent]
    default: present
  rules:
    description: Text that nft reads; it replaces the tables C(ip avadm) and C(ip6 avadm) as a whole.
    type: str
    default: ""
  seconds:
    description: After which the rules are taken back.
    type: int
    default: 60
  step:
    description: Set by the action plug-in.
    type: str
    choices: [load, keep]
    default: load
"""

EXAMPLES = r"""
- name: Apply the node's rules
  avadm_packet_filter:
    rules: "{{ lookup('ansible.builtin.file', 'rules.nft') }}"
"""

RETURN = r"""
armed:
  description: Whether the rules are loaded and will be taken back, so that the second call has to come.
  type: bool
  returned: success
"""

import json
import os
import tempfile

from ansible.module_utils._text import to_bytes
from ansible.module_utils.basic import AnsibleModule

PROGRAM = "/usr/local/sbin/avadm-packet-filter"


def steps(given, check_mode, there):
    """Return the words that the program is called with; None where it is not there yet, or not any more.

    Args:
        given: the module's parameters.
        check_mode: whether nothing may be changed.
        there: whether the program is on the node.
    """
    if not there:
        return None
    if given["state"] == "absent":
        return ["status"] if check_mode else ["off"]
    if given["step"] == "keep":
        return ["keep"]
    return ["compare", "FILE"] if check_mode else ["try", "FILE", str(given["seconds"])]


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "rules": {"type": "str", "default": ""},
            "seconds": {"type": "int", "default": 60},
            "step": {"type": "str", "choices": ["load", "keep"], "default": "load"},
        },
        supports_check_mode=True,
    )
    given = module.params
    words = steps(given, module.check_mode, os.path.exists(PROGRAM))
    if words is None:
        # A dry run before the first one, or a node that never had a filter.
        wanted = given["state"] == "present"
        if wanted and not module.check_mode:
            module.fail_json(msg="%s is missing. Remedy: run the whole role." % PROGRAM)
        module.exit_json(changed=wanted, armed=False)
    handle, path = tempfile.mkstemp(dir=module.tmpdir)
    with os.fdopen(handle, "wb") as target:
        target.write(to_bytes(given["rules"]))
    rc, out, err = module.run_command([PROGRAM] + [path if word == "FILE" else word for word in words])
    if rc != 0:
        module.fail_json(msg="%s: %s" % (" ".join(words[:1]), (err or out).strip()))
    reply = json.loads(out)
    changed = reply.get("changed", reply.get("loaded", False))
    module.exit_json(changed=changed, armed=reply.get("armed", False))


if __name__ == "__main__":
    main()
