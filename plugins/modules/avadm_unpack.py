#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_unpack
short_description: Unpack a tar archive into a directory, whole or not at all
description:
  - The folder is what the archive holds and nothing else. Which archive it is of is written beside its files, so that an
    unchanged one is not unpacked again.
options:
  archive:
    description: The archive, on the node.
    type: path
    required: true
  sha256:
    description: Its checksum, which tells whether the folder is of this archive.
    type: str
    required: true
  path:
    description: The folder; its parent is made where it is missing.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Unpack the archive
  avadm_unpack:
    archive: /var/lib/avadm/artifacts/alluxio.tar
    sha256: "{{ alluxio_program.sha256 }}"
    path: /opt/alluxio
"""

RETURN = r"""
path:
  description: The folder.
  type: str
  returned: success
"""

import os
import shutil
import tarfile

from ansible.module_utils.basic import AnsibleModule

MARK = ".avadm-archive"


def unpacked(path):
    """Return the checksum of the archive that a folder was unpacked from; "" where that is not known."""
    try:
        with open(os.path.join(path, MARK)) as stream:
            return stream.read().strip()
    except (IOError, OSError):
        return ""


def unsafe(name):
    """Whether a name in an archive would lie outside of the folder."""
    return os.path.isabs(name) or ".." in name.split("/")


def unpack(archive, sha256, path):
    """Unpack an archive beside the folder and put it in its place; IOError, OSError or TarError where that fails."""
    beside, old = path + ".new", path + ".old"
    for left in (beside, old):
        if os.path.isdir(left):
            shutil.rmtree(left)
    os.makedirs(beside, 0o755)
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
        for member in members:
            if unsafe(member.name) or not (member.isfile() or member.isdir()):
                raise tarfile.TarError("%s has no place in such an archive" % member.name)
        tar.extractall(beside, members)
    with open(os.path.join(beside, MARK), "w") as stream:
        stream.write(sha256 + "\n")
    os.chmod(beside, 0o755)
    if os.path.isdir(path):
        os.rename(path, old)
    os.rename(beside, path)
    if os.path.isdir(old):
        shutil.rmtree(old)


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "archive": {"type": "path", "required": True},
            "sha256": {"type": "str", "required": True},
            "path": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    given = module.params
    changed = unpacked(given["path"]) != given["sha256"]
    if changed and not module.check_mode:
        try:
            unpack(given["archive"], given["sha256"], given["path"])
        except (IOError, OSError, tarfile.TarError) as error:
            module.fail_json(
                msg="%s cannot be unpacked to %s: %s. Remedy: see the space there."
                % (given["archive"], given["path"], error)
            )
    module.exit_json(changed=changed, path=given["path"])


if __name__ == "__main__":
    main()
