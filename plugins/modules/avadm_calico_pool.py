#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_calico_pool
short_description: Manage an IP pool in Calico
description:
  - Compares the pool with what is wanted and writes it only where it is missing or differs.
  - Several masters may do so at once; anyone who is refused, since another one wrote, looks again.
options:
  name:
    description: The pool's name.
    type: str
    required: true
  spec:
    description: What the pool must have, as Calico names it; what else it has is left alone.
    type: dict
    required: true
  calicoctl:
    description: The program that has the right certificate.
    type: path
    default: /usr/local/sbin/avadm-calicoctl
"""

EXAMPLES = r"""
- name: Create the IP pool
  avadm_calico_pool:
    name: pods
    spec: {cidr: 10.64.0.0/12, blockSize: 26, natOutgoing: true}
"""

RETURN = r"""
differing:
  description: What was (in check mode would be) changed.
  type: list
  returned: success
"""

import json
import os
import time

from ansible.module_utils.basic import AnsibleModule

TRIES = 5
PAUSE_S = 2
ABSENT = (None, False, "Never", "", [], {})
"""What Calico leaves out."""


class PoolError(Exception):
    """calicoctl did not do what it was asked."""


class Pools(object):
    """Calico's pools.

    Args:
        run: callable(argv, data) -> (rc, stdout, stderr).
        calicoctl: the program.
        sleep: callable(seconds).
    """

    def __init__(self, run, calicoctl, sleep=time.sleep):
        self.run, self.calicoctl, self.sleep = run, calicoctl, sleep

    def ask(self, *words, **given):
        """Return what calicoctl says; PoolError where it fails."""
        rc, out, err = self.run([self.calicoctl] + list(words), given.get("data"))
        if rc != 0:
            raise PoolError("calicoctl %s: %s" % (" ".join(words[:2]), (err or out).strip()[-600:]))
        return out

    def compared(self, name, spec):
        """Return what a pool lacks, in words, and what it has."""
        items = json.loads(self.ask("get", "ippool", "-o", "json"))["items"]
        found = [one["spec"] for one in items if one["metadata"]["name"] == name]
        if not found:
            return ["pool %s is missing" % name], {}
        return [
            "%s: found %s, wanted %s" % (key, json.dumps(found[0].get(key)), json.dumps(spec[key]))
            for key in sorted(spec)
            if found[0].get(key) != spec[key] and not (key not in found[0] and spec[key] in ABSENT)
        ], found[0]

    def keep(self, name, spec, dry=False):
        """Make it so; return what was changed, in words."""
        report, trouble = None, ""
        one = {"apiVersion": "projectcalico.org/v3", "kind": "IPPool", "metadata": {"name": name}}
        for attempt in range(TRIES):
            if attempt:
                self.sleep(PAUSE_S)
            try:
                found, has = self.compared(name, spec)
                report = found if report is None else report
                if not found or dry:
                    return report
                trouble = "; ".join(found)
                # Calico replaces the whole: what somebody else has set there goes with it.
                self.ask("apply", "-f", "-", data=json.dumps(dict(one, spec=dict(has, **spec))))
            except PoolError as error:
                if dry:
                    raise
                trouble = str(error)
        raise PoolError(trouble)


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "spec": {"type": "dict", "required": True},
            "calicoctl": {"type": "path", "default": "/usr/local/sbin/avadm-calicoctl"},
        },
        supports_check_mode=True,
    )
    given = module.params
    if module.check_mode and not os.path.exists(given["calicoctl"]):
        module.exit_json(changed=True, differing=["Calico is not installed yet"])

    def run(argv, data):
        return module.run_command(argv, data=data)

    try:
        report = Pools(run, given["calicoctl"]).keep(given["name"], given["spec"], module.check_mode)
    except (PoolError, ValueError, KeyError) as error:
        if module.check_mode:
            module.exit_json(changed=True, differing=["Calico's store does not answer yet"])
        module.fail_json(msg="The pool %s cannot be kept: %s" % (given["name"], error))
    module.exit_json(changed=bool(report), differing=report)


if __name__ == "__main__":
    main()
