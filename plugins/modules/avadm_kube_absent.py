#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_kube_absent
short_description: Remove objects from Kubernetes and wait until they are gone
description:
  - Runs on a master, which root's C(kubectl) can ask. The objects are removed in the order in which they stand.
options:
  objects:
    description: What is removed, C(KIND NAME); C(KIND NAME=VALUE) removes all of a kind with a label.
    type: list
    elements: str
    required: true
  kubeconfig: {description: "How to reach the API, and as whom.", type: path, default: /root/.kube/config}
  timeout: {description: Seconds until each is gone., type: int, default: 300}
"""

EXAMPLES = r"""
- name: Remove a namespace and its objects
  avadm_kube_absent:
    objects: [namespace ava-system, "clusterrole ava:operator", namespaces ava.io/managed=true]
"""

RETURN = r"""
removed:
  description: What was (in check mode would be) removed.
  type: list
  returned: success
"""

import time

from ansible.module_utils.basic import AnsibleModule


class AbsentError(Exception):
    """An object cannot be removed."""


class Absent(object):
    """Removes objects.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        kubeconfig: how to reach the API.
    """

    def __init__(self, run, kubeconfig):
        self.run, self.kubeconfig = run, kubeconfig

    def kubectl(self, verb, one, *more):
        """Return what kubectl says of an object or of those with a label; AbsentError where it fails."""
        kind, name = one.split(" ", 1)
        which = "--selector=" + name if "=" in name else name
        argv = ["kubectl", "--kubeconfig", self.kubeconfig, "--request-timeout=20s", verb, kind, which]
        rc, out, err = self.run(argv + ["--ignore-not-found"] + list(more))
        if rc != 0:
            raise AbsentError("kubectl %s %s: %s" % (verb, one, (err or out).strip()[-600:]))
        return out.strip()

    def there(self, one):
        """Return the names of what there is of it."""
        return self.kubectl("get", one, "-o", "name").split()

    def remove(self, objects, timeout, dry=False, clock=time.time, sleep=time.sleep):
        """Remove objects one after another and wait until each is gone; return the names of what was removed."""
        reports = []
        for one in objects:
            found = self.there(one)
            reports += found
            if not found or dry:
                continue
            self.kubectl("delete", one)
            until = clock() + timeout
            while self.there(one):
                if clock() >= until:
                    raise AbsentError("%s is still there after %d s" % (one, timeout))
                sleep(1)
        return reports


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "objects": {"type": "list", "elements": "str", "required": True},
            "kubeconfig": {"type": "path", "default": "/root/.kube/config"},
            "timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )
    given = module.params
    absent = Absent(module.run_command, given["kubeconfig"])
    try:
        report = absent.remove(given["objects"], given["timeout"], module.check_mode)
    except AbsentError as error:
        module.fail_json(msg="Objects of Kubernetes cannot be removed: %s" % error)
    module.exit_json(changed=bool(report), removed=report)


if __name__ == "__main__":
    main()
