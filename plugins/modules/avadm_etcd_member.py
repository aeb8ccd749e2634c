#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: avadm_etcd_member
short_description: Decide how a member of etcd without data may start
description:
  - A member with data starts with it; nothing is done.
  - A member without data starts a new cluster only while no other member answers, or joins one that expects it. It says so
    in a file that lasts until the next boot.
  - A member that the others have seen at work has lost its data. It is not started - it would vote without knowing what it
    had voted for - and the remedy is named.
options:
  name:
    description: The member's name.
    type: str
    required: true
  data_dir:
    description: Folder of its data.
    type: path
    required: true
  others:
    description: Client URLs of the other members.
    type: list
    elements: str
    default: []
  peer_url:
    description: URL under which the other members know this one.
    type: str
    required: true
  cacert:
    description: Certificate of etcd's authority.
    type: path
    required: true
  cert:
    description: Certificate shown to the other members.
    type: path
    required: true
  key:
    description: Its private key.
    type: path
    required: true
  file:
    description: File that is written for the start, C(ETCD_INITIAL_CLUSTER_STATE=new) or C(existing).
    type: path
    default: /run/avadm/etcd-bootstrap
"""

EXAMPLES = r"""
- name: See how the member may start
  avadm_etcd_member:
    name: mast1
    data_dir: /var/lib/etcd/avadm
    others: [https://10.0.0.12:2379]
    peer_url: https://10.0.0.11:2380
    cacert: /etc/etcd/pki/ca.crt
    cert: /etc/etcd/pki/client.crt
    key: /etc/etcd/pki/client.key
"""

RETURN = r"""
state:
  description: C(data), C(new) or C(existing).
  type: str
  returned: success
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule


class MemberError(Exception):
    """The member must not be started; the text is for people."""


def listed(run, others, files):
    """Return what the first other member that answers says of all members; None where none answers."""
    for url in others:
        argv = [
            "etcdctl",
            "--endpoints",
            url,
            "--dial-timeout=3s",
            "--command-timeout=5s",
            "--write-out=json",
        ]
        for option, path in sorted(files.items()):
            argv += ["--%s=%s" % (option, path)]
        rc, out, _err = run(argv + ["member", "list"])
        if rc == 0:
            return json.loads(out).get("members", [])
    return None


def state_of(name, peer_url, members):
    """Return how a member without data may start.

    Args:
        name: its name.
        peer_url: its peer URL.
        members: what the others say; None where none answers.

    Raises:
        MemberError: it may not.
    """
    if members is None:
        return "new"
    own = [m for m in members if peer_url in m.get("peerURLs", [])]
    if not own:
        raise MemberError(
            "The other members of etcd know no member at %s. Remedy: on one of them run `etcdctl member add %s"
            " --peer-urls=%s`, then apply again." % (peer_url, name, peer_url)
        )
    if own[0].get("clientURLs"):
        raise MemberError(
            "This member of etcd has lost its data: the others have seen it at work, and its folder is empty."
            " Remedy: on another member run `etcdctl member remove %x` and `etcdctl member add %s --peer-urls=%s`,"
            " then apply again; or restore its disk." % (own[0]["ID"], name, peer_url)
        )
    # Expected, and never seen at work. With a name it is of the first list, without one it was added later.
    return "new" if own[0].get("name") else "existing"


def ensure(given, run, check_mode):
    """Return (changed, state)."""
    path = given["file"]
    if os.path.isdir(os.path.join(given["data_dir"], "member")):
        return False, "data"
    files = {key: given[key] for key in ("cacert", "cert", "key")}
    state = state_of(given["name"], given["peer_url"], listed(run, given["others"], files))
    if not check_mode:
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path), 0o755)
        with open(path, "w") as target:
            target.write("ETCD_INITIAL_CLUSTER_STATE=%s\n" % state)
    return True, state


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "data_dir": {"type": "path", "required": True},
            "others": {"type": "list", "elements": "str", "default": []},
            "peer_url": {"type": "str", "required": True},
            "cacert": {"type": "path", "required": True},
            "cert": {"type": "path", "required": True},
            # The path of a key is no secret.
            "key": {"type": "path", "required": True, "no_log": False},
            "file": {"type": "path", "default": "/run/avadm/etcd-bootstrap"},
        },
        supports_check_mode=True,
    )

    def run(argv):
        return module.run_command(argv, environ_update={"ETCDCTL_API": "3"})

    try:
        changed, state = ensure(module.params, run, module.check_mode)
    except MemberError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, state=state)


if __name__ == "__main__":
    main()
