#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_swap_off
short_description: Disable swap, now and at boot
description:
  - Kubelet 1.9 does not start on a node that swaps.
  - Makes a comment of each line of I(fstab) that names swap space, and takes all swap space out of use. Swap units that
    systemd knows otherwise (its own files, partitions that it finds by their type) are masked, or disabled where they
    cannot be. No swap space is removed or written to.
  - What I(fstab) holds beside is kept byte by byte, whatever its encoding.
options:
  fstab: {description: The table of file systems., type: path, default: /etc/fstab}
"""

EXAMPLES = r"""
- name: Disable swap
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
masked:
  description: Swap units that were (would be) masked.
  type: list
  returned: success
"""

import io
import os
import tempfile

from ansible.module_utils._text import to_text
from ansible.module_utils.basic import AnsibleModule

MARK = b"# avadm switched this off, since kubelet does not start on a node that swaps: "


def in_use(path="/proc/swaps"):
    """Return the swap space in use."""
    with io.open(path) as stream:
        return [line.split()[0] for line in stream.read().splitlines()[1:] if line.strip()]


def without(text):
    """Return (a table of file systems without swap space, the lines that were made comments); bytes."""
    lines, gone = [], []
    for line in text.rstrip(b"\n").split(b"\n"):
        words = line.split()
        if len(words) > 2 and not words[0].startswith(b"#") and words[2] == b"swap":
            gone.append(line)
            line = MARK + line
        lines.append(line)
    return b"".join(line + b"\n" for line in lines), gone


def units(run):
    """Return systemd's swap units that a boot could start."""
    _, out, _ = run(["systemctl", "list-unit-files", "--type=swap", "--no-legend", "--no-pager"])
    rows = [line.split() for line in out.splitlines()]
    return [row[0] for row in rows if len(row) > 1 and row[1] not in ("masked", "disabled")]


def mask(run, names):
    """Let no boot start these units; return why one is left, None where none is."""
    text = ""
    for name in names:
        rc, out, err = run(["systemctl", "mask", name])
        if rc != 0:
            # A file of /etc/systemd/system itself cannot be masked.
            text = (err or out).strip()[-300:]
            run(["systemctl", "disable", name])
    left = [name for name in units(run) if name in names] if names else []
    return "%s can be neither masked nor disabled: %s" % (", ".join(left), text) if left else None


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={"fstab": {"type": "path", "default": "/etc/fstab"}}, supports_check_mode=True
    )
    path, gone = module.params["fstab"], []
    if os.path.exists(path):
        with io.open(path, "rb") as stream:
            text, gone = without(stream.read())
        if gone and not module.check_mode:
            state = os.stat(path)
            handle, made = tempfile.mkstemp(dir=module.tmpdir)
            with os.fdopen(handle, "wb") as stream:
                stream.write(text)
            os.chmod(made, state.st_mode & 0o7777)
            module.atomic_move(made, path)
    if gone and not module.check_mode:
        # systemd makes units of the table's lines.
        module.run_command(["systemctl", "daemon-reload"])
    masked = units(module.run_command)
    if not module.check_mode:
        left = mask(module.run_command, masked)
        if left:
            module.fail_json(
                msg="The node would swap after its next boot: %s. Remedy: remove that unit." % left
            )
    off = in_use() if os.path.exists("/proc/swaps") else []
    if off and not module.check_mode:
        rc, out, err = module.run_command(["swapoff", "-a"])
        left = in_use()
        if rc != 0 or left:
            module.fail_json(
                msg="The node still swaps to %s: %s. Kubelet does not start on it. Free memory, then `swapoff -a`."
                % (", ".join(left) or "nothing", (err or out).strip() or "swapoff ended with %d" % rc)
            )
    commented = [to_text(line, errors="replace") for line in gone]
    module.exit_json(changed=bool(gone or off or masked), off=off, commented=commented, masked=masked)


if __name__ == "__main__":
    main()
