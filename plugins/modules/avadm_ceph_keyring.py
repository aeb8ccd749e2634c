#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_keyring
short_description: Install cephx keyrings on a node, readable by their owner only
description:
  - Writes each file atomically with mode 0600, and makes its folder (0750) where there is none.
  - Neither the result nor a diff shows a key.
options:
  files:
    description:
      - The key files, each with C(path), C(entity), C(key), and C(owner) (a user; root where left out),
        who also owns the folder if it is made.
    type: list
    elements: dict
    required: true
    suboptions:
      path: {description: Where the file lies., type: path, required: true}
      entity: {description: Whose key it is, type: str, required: true}
      key: {description: The key., type: str, required: true}
      owner: {description: User that may read it., type: str, default: root}
"""

EXAMPLES = r"""
- name: Install the manager keyring
  avadm_ceph_keyring:
    files:
      - path: /var/lib/ceph/mgr/ceph-node1/keyring
        entity: mgr.node1
        key: "{{ vault_ceph_key_mgr_node1 }}"
        owner: ceph
"""

RETURN = r"""
written:
  description: Paths that were written, or whose owner or mode was put right.
  type: list
  returned: success
"""

import os
import pwd
import stat
import tempfile

from ansible.module_utils.avadm_ceph import keyring
from ansible.module_utils.basic import AnsibleModule

MODE = 0o600
FOLDER_MODE = 0o750


def is_right(path, text, uid):
    """Return whether the file exists with this text, owner and mode 0600."""
    try:
        state = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(state.st_mode) or stat.S_IMODE(state.st_mode) != MODE or state.st_uid != uid:
        return False
    with open(path) as file:
        return file.read() == text


def write(path, text, uid, gid):
    """Write the file atomically: a reader sees the old or the new one, and never a readable half."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, FOLDER_MODE)
        os.chown(folder, uid, gid)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".avadm-")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chown(temporary, uid, gid)
        os.chmod(temporary, MODE)
        os.rename(temporary, path)
    except Exception:
        os.unlink(temporary)
        raise


def ensure(files, check_mode=False):
    """Write what differs and return the paths.

    Raises:
        KeyError: a user does not exist on this node.
    """
    written = []
    for one in files:
        try:
            user = pwd.getpwnam(one.get("owner") or "root")
        except KeyError:
            if not check_mode:
                raise
            written.append(one["path"])  # the package that makes the user would come first
            continue
        text = keyring([one])
        if is_right(one["path"], text, user.pw_uid):
            continue
        written.append(one["path"])
        if not check_mode:
            write(one["path"], text, user.pw_uid, user.pw_gid)
    return written


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "files": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "path": {"type": "path", "required": True},
                    "entity": {"type": "str", "required": True},
                    "key": {"type": "str", "required": True, "no_log": True},
                    "owner": {"type": "str", "default": "root"},
                },
            }
        },
        supports_check_mode=True,
    )
    try:
        written = ensure(module.params["files"], module.check_mode)
    except KeyError as error:
        module.fail_json(
            msg="Cannot write key files: %s. Install the daemon's package first." % str(error).strip("\"'")
        )
    except (IOError, OSError) as error:
        module.fail_json(msg="Cannot write key files: %s." % error)
    module.exit_json(changed=bool(written), written=written)


if __name__ == "__main__":
    main()
