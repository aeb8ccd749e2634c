#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_s3
short_description: Manage users of Ceph's object gateways, with their keys and quotas
description:
  - Reads each user's record once and changes only what differs.
  - A user's keys are part of its record, which C(radosgw-admin metadata put) reads from standard input; no key is
    ever an argument of a program. A user has exactly the one pair of keys that is given.
  - Users that are not named are left alone; nothing is ever deleted.
  - Needs the administrator's key of ceph on the node.
options:
  users:
    description: The users.
    type: list
    elements: dict
    required: true
    suboptions:
      name: {description: Name., type: str, required: true}
      access_key: {description: Access key., type: str, required: true}
      secret_key: {description: Secret key., type: str, required: true}
      max_bytes: {description: Bytes that all objects may take together; -1 for no limit., type: int, default: -1}
      max_objects: {description: Number of objects; -1 for no limit., type: int, default: -1}
"""

EXAMPLES = r"""
- name: Create S3 users
  avadm_ceph_s3:
    users:
      - name: ai
        access_key: "{{ vault_s3_access_ai }}"
        secret_key: "{{ vault_s3_secret_ai }}"
        max_bytes: 1099511627776
"""

RETURN = r"""
actions:
  description: What was done (in check mode would be), without keys.
  type: list
  returned: success
"""

import json

from ansible.module_utils.avadm_ceph import CephError, NotThere, runner, tail
from ansible.module_utils.basic import AnsibleModule

TIMEOUT = 120  # seconds; a gateway's command waits without end for placement groups that do not serve


class Users(object):
    """The users of the gateways.

    Args:
        run: callable(argv, data) -> (rc, stdout, stderr).
    """

    def __init__(self, run, check_mode=False):
        self.run, self.check_mode = run, check_mode
        self.actions = []

    def text(self, *words, **options):
        """Run C(radosgw-admin WORDS) and return its output; `data` goes to standard input."""
        argv = ["timeout", str(TIMEOUT), "radosgw-admin"] + [str(word) for word in words]
        rc, out, err = self.run(argv, options.get("data"))
        if rc == 124:
            raise CephError(
                "`radosgw-admin %s` has no answer for %d s. Remedy: `ceph -s`; the pools default.rgw.* wait for"
                " placement groups that do not serve." % (" ".join(argv[3:]), TIMEOUT)
            )
        if rc == 127:
            raise NotThere("there is no radosgw-admin. Remedy: see that ceph-common is installed")
        if rc != 0:
            text = tail(err or out) or "no output"
            raise CephError("`radosgw-admin %s` failed (%d): %s" % (" ".join(argv[3:]), rc, text))
        return out

    def json(self, *words):
        """Run a command and return its answer."""
        out = self.text(*words)
        try:
            return json.loads(out)
        except ValueError:
            # Not what it reported: a record holds keys.
            raise CephError("`radosgw-admin %s` did not answer JSON" % " ".join(words))

    def ensure(self, users):
        """Make every user right."""
        try:
            known = self.json("user", "list")
        except NotThere:
            if not self.check_mode:
                raise
            known = []
        for user in users:
            name = user["name"]
            if name not in known:
                self.actions.append("make %s" % name)
                if self.check_mode:
                    continue
                self.text("user", "create", "--uid=" + name, "--display-name=" + name)
            self.adjust(user, self.json("metadata", "get", "user:" + name))

    def adjust(self, user, record):
        """Set what differs from a user's record: keys, then quota."""
        name, data = user["name"], record["data"]
        found = [(k.get("user"), k["access_key"], k["secret_key"]) for k in data.get("keys", [])]
        if found != [(name, user["access_key"], user["secret_key"])]:
            self.actions.append("keys of %s" % name)
            if not self.check_mode:
                data["keys"] = [
                    {"user": name, "access_key": user["access_key"], "secret_key": user["secret_key"]}
                ]
                self.text("metadata", "put", "user:" + name, data=json.dumps(record))
        self.quota(user, data["user_quota"])

    def quota(self, user, found):
        """Set a user's quota and switch it on; off where there is no limit."""
        name, size, objects = user["name"], user["max_bytes"], user["max_objects"]
        scope = ("--quota-scope=user", "--uid=" + name)
        wanted = size > 0 or objects > 0
        if wanted and (_limit(found["max_size"]), _limit(found["max_objects"])) != (size, objects):
            limits = scope + ("--max-size=%d" % size, "--max-objects=%d" % objects)
            self.do("quota of %s: %d bytes, %d objects" % (name, size, objects), "quota", "set", *limits)
        if wanted != found["enabled"]:
            verb = "enable" if wanted else "disable"
            self.do("%s quota of %s" % (verb, name), "quota", verb, *scope)

    def do(self, what, *words):
        """Run one changing command and note it."""
        self.actions.append(what)
        if not self.check_mode:
            self.text(*words)


def _limit(number):
    """Return a limit; every number below 1 is none."""
    return number if number > 0 else -1


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "users": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "name": {"type": "str", "required": True},
                    "access_key": {"type": "str", "required": True, "no_log": True},
                    "secret_key": {"type": "str", "required": True, "no_log": True},
                    "max_bytes": {"type": "int", "default": -1},
                    "max_objects": {"type": "int", "default": -1},
                },
            }
        },
        supports_check_mode=True,
    )
    work = Users(runner(module), module.check_mode)
    try:
        work.ensure(module.params["users"])
    except CephError as error:
        module.fail_json(
            msg="Cannot keep the users of the object store: %s. Done before: %s"
            % (error, "; ".join(work.actions) or "nothing")
        )
    module.exit_json(changed=bool(work.actions), actions=work.actions)


if __name__ == "__main__":
    main()
