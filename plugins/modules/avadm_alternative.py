#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_alternative
short_description: Select an alternative (update-alternatives)
description:
  - Sets an alternative (C(update-alternatives)) by hand, so that no package changes it, where it is another one.
options:
  name:
    description: The name of the alternative.
    type: str
    required: true
  path:
    description: The program that it shall be.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Select the iptables backend
  avadm_alternative:
    name: iptables
    path: /usr/sbin/iptables-legacy
"""

RETURN = r"""
before:
  description: What it was; empty where there was no such alternative.
  type: str
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule


class AlternativeError(Exception):
    """update-alternatives did not do what it was asked."""


def ensure(run, name, path, dry=False):
    """Return (changed, what it was); ``run`` is callable(argv) -> (rc, stdout, stderr)."""
    rc, out, err = run(["update-alternatives", "--query", name])
    head = out.split("\n\n")[0] if rc == 0 else ""
    found = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    if found.get("Value") == path and found.get("Status") == "manual":
        return False, path
    if not dry:
        rc, out, err = run(["update-alternatives", "--set", name, path])
        if rc != 0:
            raise AlternativeError(
                "The alternative %s cannot be %s: %s" % (name, path, (err or out).strip()[-300:])
            )
    return True, found.get("Value", "")


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={"name": {"type": "str", "required": True}, "path": {"type": "path", "required": True}},
        supports_check_mode=True,
    )
    given = module.params
    try:
        changed, before = ensure(module.run_command, given["name"], given["path"], module.check_mode)
    except AlternativeError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, before=before)


if __name__ == "__main__":
    main()
