#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_kernel_modules
short_description: Load kernel modules, now and at boot
description:
  - Writes the names to a modules-load.d file, and loads those that are not loaded.
  - A module that is built into the kernel counts as loaded. One that cannot be loaded fails the task.
options:
  path: {description: "The modules-load.d file, ours as a whole.", type: path, required: true}
  names: {description: The modules., type: list, elements: str, required: true}
"""

EXAMPLES = r"""
- name: Let the kernel filter what passes a bridge
  avadm_kernel_modules:
    path: /etc/modules-load.d/avadm-kubernetes.conf
    names: [br_netfilter]
"""

RETURN = r"""
loaded:
  description: Modules that were (in check mode would be) loaded.
  type: list
  returned: success
"""

import io
import os
import tempfile

from ansible.module_utils._text import to_bytes
from ansible.module_utils.basic import AnsibleModule


def there(name, root="/"):
    """Return whether the kernel has a module, loaded or built in."""
    name = name.replace("-", "_")
    if os.path.isdir(os.path.join(root, "sys/module", name)):
        return True
    builtin = os.path.join(root, "lib/modules", os.uname()[2], "modules.builtin")
    if not os.path.exists(builtin):
        return False
    with io.open(builtin) as stream:
        return any(line.strip().replace("-", "_").endswith("/%s.ko" % name) for line in stream)


def load(run, names, check_mode=False, root="/"):
    """Load what is not there.

    Returns:
        ([names that were or would be loaded], {name: why it cannot be}).
    """
    done, failed = [], {}
    for name in names:
        if there(name, root):
            continue
        rc, out, err = (0, "", "") if check_mode else run(["modprobe", name])
        if rc != 0:
            failed[name] = (err or out).strip() or "modprobe ends with %d" % rc
        else:
            done.append(name)
    return done, failed


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    path, names = module.params["path"], module.params["names"]
    content = to_bytes("# Managed by avadm.\n" + "".join("%s\n" % name for name in names))
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
    done, failed = load(module.run_command, names, module.check_mode)
    if failed:
        text = "; ".join("%s: %s" % (name, failed[name]) for name in sorted(failed))
        module.fail_json(
            msg="The kernel %s does not load a module that is needed: %s. Install the kernel's package of modules "
            "(Ubuntu: linux-modules or linux-image-extra of this very kernel), or boot the kernel that the profile "
            "names." % (os.uname()[2], text)
        )
    module.exit_json(changed=before != content or bool(done), loaded=done)


if __name__ == "__main__":
    main()
