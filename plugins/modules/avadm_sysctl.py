#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_sysctl
short_description: Set kernel parameters (sysctl), now and at boot, in one task
description:
  - Writes all settings to one sysctl.d file, and sets those that differ at once.
  - A setting that the running kernel does not have, or that this node may not set, fails the task, once all others are
    set. With I(own_kernel) false it is reported in I(refused) alone; it stays in the file.
options:
  path:
    description: The sysctl.d file, ours as a whole.
    type: path
    required: true
  values:
    description: Setting to value.
    type: dict
    required: true
  own_kernel:
    description: Whether the kernel is the node's own. That of a container is its host's.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Configure kernel parameters
  avadm_sysctl:
    path: /etc/sysctl.d/90-avadm.conf
    values: {vm.swappiness: 10}
"""

RETURN = r"""
set:
  description: Settings that were (in check mode would be) changed in the kernel, with the value before.
  type: dict
  returned: success
refused:
  description: Settings that could not be set, with the reason.
  type: dict
  returned: success
"""

import io
import os
import tempfile

from ansible.module_utils._text import to_bytes
from ansible.module_utils.basic import AnsibleModule

PROC = "/proc/sys"


def normal(value):
    """Return a value as the kernel prints it, single-spaced."""
    return " ".join(str(value).split())


def file_of(name, proc=PROC):
    """Return the file of a setting."""
    return os.path.join(proc, name.replace(".", "/"))


def apply(values, check_mode=False, proc=PROC):
    """Set what differs in the running kernel.

    Returns:
        ({name: value before} of what was or would be set, {name: reason} of what could not be).
    """
    done, skipped = {}, {}
    for name in sorted(values):
        path, wanted = file_of(name, proc), normal(values[name])
        try:
            with io.open(path) as stream:
                before = normal(stream.read())
            if before == wanted:
                continue
            if not os.access(path, os.W_OK):
                skipped[name] = "read-only here, stays %s" % before
                continue
            if not check_mode:
                with io.open(path, "wb", buffering=0) as stream:
                    stream.write(to_bytes(wanted))
                with io.open(path) as stream:
                    now = normal(stream.read())
                if now == before:
                    skipped[name] = "the kernel keeps %s" % before
                    continue
            done[name] = before
        except (IOError, OSError) as error:
            skipped[name] = "not in this kernel" if error.errno == 2 else os.strerror(error.errno)
    return done, skipped


def text(values):
    """Return the content of the sysctl.d file."""
    lines = ["%s = %s" % (name, normal(values[name])) for name in sorted(values)]
    return "# Managed by avadm.\n" + "\n".join(lines) + "\n"


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "values": {"type": "dict", "required": True},
            "own_kernel": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    path, values = module.params["path"], module.params["values"]
    content = to_bytes(text(values))
    before = b""
    if os.path.exists(path):
        with io.open(path, "rb") as stream:
            before = stream.read()
    if before != content and not module.check_mode:
        handle, made = tempfile.mkstemp(dir=module.tmpdir)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(made, 0o644)
        module.atomic_move(made, path)
    done, skipped = apply(values, module.check_mode)
    if skipped and module.params["own_kernel"] and not module.check_mode:
        module.fail_json(
            msg="The kernel does not take settings that %s names: %s. Load the module that has them, or correct the "
            "value." % (path, "; ".join("%s: %s" % (name, skipped[name]) for name in sorted(skipped))),
            set=done,
            refused=skipped,
        )
    # A kernel that is not the node's own may keep another value than it was given: a dry run cannot try again.
    kept = module.check_mode and not module.params["own_kernel"] and before == content
    module.exit_json(changed=before != content or bool(done and not kept), set=done, refused=skipped)


if __name__ == "__main__":
    main()
