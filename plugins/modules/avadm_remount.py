#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_remount
short_description: Mount again what is older than its configuration, unless it is in use
description:
  - A file system in user space reads its configuration when it is mounted. Where one of I(files) changed after that, it is
    unmounted and its service restarted.
  - A mount in use is never taken away; it is reported in I(left) and keeps what it read.
options:
  name: {description: The service that mounts it., type: str, required: true}
  path: {description: Where it is mounted., type: path, required: true}
  files: {description: Its configuration., type: list, elements: path, required: true}
"""

EXAMPLES = r"""
- name: Mount the cache again where its configuration changed
  avadm_remount:
    name: avadm-alluxio-fuse
    path: /mnt/alluxio
    files: [/etc/alluxio/alluxio-site.properties]
"""

RETURN = r"""
because:
  description: The files that are newer than the mount.
  type: list
  returned: success
left:
  description: Whether the mount is in use, and so was left as it is.
  type: bool
  returned: success
"""

import time

from ansible.module_utils.avadm_daemon import Daemon, DaemonError
from ansible.module_utils.avadm_node.probes.mounts.mount_uses import uses
from ansible.module_utils.basic import AnsibleModule

TRIES = 3  # a reader that opens a file for a moment does not keep a mount


def unmounted(run, path, root="", sleep=time.sleep):
    """Return whether nothing is mounted there any more; what is in use, be it by a pod's bind mount, stays."""
    for again in range(TRIES):
        if again:
            sleep(1)
        found = uses({"mount": path}, root)
        if not found["kind"]:
            return True
        # Not lazily: who opens it at this moment keeps it.
        if not found["users"] and run(["umount", path])[0] == 0:
            return True
    return False


def ensure(daemon, path, files, free=unmounted):
    """Mount again what is older than its files; return those files, and whether the mount was left as it is in use."""
    because = daemon.newer(files, daemon.started(daemon.show()))
    left = bool(because) and not daemon.check_mode and not free(daemon.run, path)
    if because and not left:
        daemon.systemctl("restart")
    return because, left


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "path": {"type": "path", "required": True},
            "files": {"type": "list", "elements": "path", "required": True},
        },
        supports_check_mode=True,
    )
    given = module.params
    daemon = Daemon(given["name"], module.run_command, check_mode=module.check_mode)
    try:
        because, left = ensure(daemon, given["path"], given["files"])
    except DaemonError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(because) and not left, because=because, left=left)


if __name__ == "__main__":
    main()
