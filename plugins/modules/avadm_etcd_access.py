#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_etcd_access
short_description: Configure etcd's authentication, its users, roles and key prefixes
description:
  - Keeps users, each with a role of its own name and the prefixes of keys that it may read and write, and then that etcd asks who
    a user exists. A user is known by the name in its certificate; the password, which is needed to create it, is never stored.
  - Users and roles of another making are left alone; of ours, permissions that are not wanted are taken away.
options:
  users:
    description: The users, each with C(name) and C(prefixes); C(root), which must be among them, may do all.
    type: list
    elements: dict
    required: true
  passwords:
    description: User to password, of users that etcd's gateway shall know; it knows no one by a certificate.
    type: dict
    default: {}
  program:
    description: The program that calls etcdctl with root's certificate.
    type: path
    default: /usr/local/sbin/avadm-etcd
"""

EXAMPLES = r"""
- name: Restrict Calico to its own key prefix
  avadm_etcd_access:
    users:
      - {name: root, prefixes: []}
      - {name: calico, prefixes: [/calico/]}
  run_once: true
"""

RETURN = r"""
differing:
  description: What was (in check mode would be) changed, in order.
  type: list
  returned: success
"""

import base64
import json
import os

from ansible.module_utils.basic import AnsibleModule

READWRITE = 2
UNKNOWN_USER = "avadm-nobody:-"


class AccessError(Exception):
    """etcdctl did not do what it was asked."""


def end_of(prefix):
    """Return the first key that does not begin with a prefix, as etcd has it."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


class Access(object):
    """Users, roles and authentication of one etcd cluster.

    Args:
        run: callable(argv, data) -> (rc, stdout, stderr).
        program: calls etcdctl with root's certificate.
    """

    def __init__(self, run, program):
        self.run, self.program = run, program

    def ctl(self, *words, **given):
        """Return what etcdctl says; AccessError where it fails."""
        rc, out, err = self.run([self.program, "ctl"] + list(words), given.get("data"))
        if rc != 0:
            raise AccessError("etcdctl %s: %s" % (" ".join(words[:2]), (err or out).strip()[-600:]))
        return out

    def asked(self, *words):
        """Return an answer as data."""
        return json.loads(self.ctl(*(words + ("--write-out=json",))))

    def enabled(self):
        """Return whether etcd asks who somebody is: it then refuses a user that it does not know."""
        rc, out, err = self.run([self.program, "ctl", "--user", UNKNOWN_USER, "get", "avadm"], None)
        if "authentication failed" in out + err:
            return True
        if rc == 0 or "authentication is not enabled" in out + err:
            return False
        raise AccessError("etcdctl get: %s" % (err or out).strip()[-600:])

    def permissions(self, role):
        """Return (kind, key, end) of what a role may."""
        found = self.asked("role", "get", role).get("perm") or []
        decoded = lambda text: base64.b64decode(text or "").decode("utf-8", "replace")  # noqa: E731
        return [(p.get("permType", 0), decoded(p.get("key")), decoded(p.get("range_end"))) for p in found]

    def knows(self, name, password):
        """Return whether a user has a password; it is in no argument and no environment, etcdctl asks for it."""
        argv = [self.program, "ctl", "--user", name, "get", "avadm", "--keys-only"]
        rc, out, err = self.run(argv, password + "\n")
        if rc == 0 or "permission denied" in out + err:
            return True
        if "authentication failed" in out + err or "authentication is not enabled" in out + err:
            return False
        raise AccessError("etcdctl get: %s" % (err or out).strip()[-600:])

    def keep(self, users, dry=False, passwords=None):
        """Make it so; return what was done, in words."""
        reports = []
        known = self.asked("user", "list").get("users") or []
        roles = self.asked("role", "list").get("roles") or []

        def do(text, *words, **given):
            reports.append(text)
            if not dry:
                self.ctl(*words, **given)

        for user in users:
            name = user["name"]
            if name not in known:
                password = base64.b64encode(os.urandom(24)).decode("ascii")
                do("user " + name, "user", "add", name, "--interactive=false", data=password + "\n")
            if name not in roles:
                do("role " + name, "role", "add", name)
            if name not in known or name not in (self.asked("user", "get", name).get("roles") or []):
                do("role of user " + name, "user", "grant-role", name, name)
            if name == "root":  # etcd itself lets it do all
                continue
            found = self.permissions(name) if name in roles else []
            wanted = [(READWRITE, prefix, end_of(prefix)) for prefix in user["prefixes"]]
            for _, key, end in [one for one in found if one not in wanted]:
                words = [name, key] + ([end] if end else [])
                do("%s may no longer use %s" % (name, key), "role", "revoke-permission", *words)
            for _, key, _ in [one for one in wanted if one not in found]:
                do(
                    "%s may use %s" % (name, key),
                    "role",
                    "grant-permission",
                    name,
                    "--prefix=true",
                    "readwrite",
                    key,
                )
        if not self.enabled():
            do("authentication", "auth", "enable")
        for name, password in sorted((passwords or {}).items()):
            if name not in known or not self.knows(name, password):
                do("password of " + name, "user", "passwd", name, "--interactive=false", data=password + "\n")
        return reports


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "users": {"type": "list", "elements": "dict", "required": True},
            "passwords": {"type": "dict", "default": {}, "no_log": True},
            "program": {"type": "path", "default": "/usr/local/sbin/avadm-etcd"},
        },
        supports_check_mode=True,
    )
    program = module.params["program"]
    if module.check_mode and not os.path.exists(program):
        module.exit_json(changed=True, differing=["etcd is not installed yet"])

    def run(argv, data):
        return module.run_command(argv, data=data)

    try:
        report = Access(run, program).keep(
            module.params["users"], module.check_mode, module.params["passwords"]
        )
    except (AccessError, ValueError) as error:
        if module.check_mode:
            module.exit_json(changed=True, differing=["etcd does not answer yet"])
        module.fail_json(msg="Who may do what in etcd cannot be kept: %s" % error)
    module.exit_json(changed=bool(report), differing=report)


if __name__ == "__main__":
    main()
