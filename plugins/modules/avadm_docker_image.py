#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_docker_image
short_description: Load an image into Docker from an archive on the node
description:
  - Loads the archive unless docker has exactly this image under its name already.
  - kubelet removes images that no container has when its disk is full. What cannot be pulled again, since no registry has it,
    can be held by a container of it that never runs.
options:
  name:
    description: The image's name in the archive, NAME:TAG.
    type: str
    required: true
  archive:
    description: Archive as C(docker save) makes it, on the node.
    type: path
    required: true
  holder:
    description: Name of the container that holds the image; none without it.
    type: str
"""

EXAMPLES = r"""
- name: Load the pause image
  avadm_docker_image:
    name: avadm/pause:1
    archive: /var/lib/avadm/images/pause.tar
    holder: avadm-pause
"""

RETURN = r"""
id:
  description: The image's id.
  type: str
  returned: success
"""

from ansible.module_utils.avadm_image import ImageError, archived
from ansible.module_utils.basic import AnsibleModule


def ensure(run, name, archive, check_mode):
    """Return (changed, id)."""
    wanted = archived(archive, name)
    rc, out, _err = run(["docker", "image", "inspect", "--format", "{{.Id}}", name])
    if rc == 0 and out.strip() == wanted:
        return False, wanted
    if not check_mode:
        rc, out, err = run(["docker", "load", "--quiet", "--input", archive])
        if rc != 0:
            raise ImageError(
                "docker does not load %s: %s Remedy: see `systemctl status docker` and the space below"
                " /var/lib/docker." % (archive, (err or out).strip())
            )
    return True, wanted


def hold(run, name, wanted, holder, check_mode):
    """Have a container of the image that never runs; return whether that had to be made."""
    rc, out, _err = run(["docker", "container", "inspect", "--format", "{{.Image}}", holder])
    if rc == 0 and out.strip() == wanted:
        return False
    if not check_mode:
        run(["docker", "rm", "--force", holder])
        rc, out, err = run(["docker", "create", "--name", holder, "--network", "none", name])
        if rc != 0:
            raise ImageError(
                "docker does not make the container %s of %s: %s Remedy: see `systemctl status docker`."
                % (holder, name, (err or out).strip())
            )
    return True


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "archive": {"type": "path", "required": True},
            "holder": {"type": "str"},
        },
        supports_check_mode=True,
    )
    try:
        name, holder = module.params["name"], module.params["holder"]
        changed, found = ensure(module.run_command, name, module.params["archive"], module.check_mode)
        if holder:
            changed = hold(module.run_command, name, found, holder, module.check_mode) or changed
    except ImageError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, id=found)


if __name__ == "__main__":
    main()
