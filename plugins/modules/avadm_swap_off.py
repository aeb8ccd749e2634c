#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: avadm_swap_off
short_description: Switch swapping off, now and at each boot
description:
  - Kubelet 1.9 does not start on a node that swaps.
  - Makes a comment of each line of I(fstab) that names swap space, and takes all swap space out of use. No swap space is
    removed or written to.
options:
  fstab: {description: The table of file systems., type: path, default: /etc/fstab}
"""

EXAMPLES = r"""
- name: Switch swapping off
  avadm_swap_off:
"""

RETURN = r"""
off:
  description: Swap space that was (in check mode would be) taken out of use.
  type: list
  returned: success
commented:
  description: Lines of I(fstab) that were (would be) made comments.
  type: list
  returned: success
"""

import io
import os
import tempfile

from ansible.module_utils._text import to_bytes
from ansible.module_utils.basic import AnsibleModule

MARK = "# avadm switched this off, since kubelet does not start on a node that swaps: "


def in_use(path="/proc/swaps"):
    """Return the swap space in use."""
    with io.open(path) as stream:
        return [line.split()[0] for line in stream.read().splitlines()[1:] if line.strip()]


def without(text):
    """Return (a table of file systems without swap space, the lines that were made comments)."""
    lines, gone = [], []
    for line in text.splitlines():
        words = line.split()
        if len(words) > 2 and not words[0].startswith("#") and words[2] == "swap":
            gone.append(line)
            line = MARK + line
        lines.append(line)
    return "".join(line + "\n" for line in lines), gone


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={"fstab": {"type": "path", "default": "/etc/fstab"}}, supports_check_mode=True
    )
    path, gone = module.params["fstab"], []
    if os.path.exists(path):
        with io.open(path, encoding="utf-8") as stream:
            text, gone = without(stream.read())
        if gone and not module.check_mode:
            state = os.stat(path)
            handle, made = tempfile.mkstemp(dir=module.tmpdir)
            with os.fdopen(handle, "wb") as stream:
                stream.write(to_bytes(text))
            os.chmod(made, state.st_mode & 0o7777)
            module.atomic_move(made, path)
    off = in_use() if os.path.exists("/proc/swaps") else []
    if off and not module.check_mode:
        rc, out, err = module.run_command(["swapoff", "-a"])
        left = in_use()
        if rc != 0 or left:
            module.fail_json(
                msg="The node still swaps to %s: %s. Kubelet does not start on it. Free memory, then `swapoff -a`."
                % (", ".join(left) or "nothing", (err or out).strip() or "swapoff ended with %d" % rc)
            )
    module.exit_json(changed=bool(gone or off), off=off, commented=gone)


if __name__ == "__main__":
    main()
