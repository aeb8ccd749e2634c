#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_files
short_description: Write several small text files in one task
description:
  - Writes each file whose content or mode differs, atomically.
  - A file that cannot be replaced, because it is itself a mount point (containers bind-mount C(/etc/hosts)),
    is written in place.
  - One task for all files of a role, since every task costs the controller some 30 to 95 ms for each host.
options:
  files:
    description: The files.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: Absolute path. Missing folders are made, mode 0755.
        type: path
        required: true
      content:
        description: The whole content; a final newline is added where there is none.
        type: str
      base64:
        description:
          - The whole content in base64, of a file that is no text or ends without a newline; hidden in results.
        type: str
      secret:
        description: The whole content of a file that holds a secret; hidden in results. Instead of I(content).
        type: str
      link:
        description: Where a symbolic link points, instead of I(content).
        type: str
      mode:
        description: Octal mode, quoted.
        type: str
        default: "0644"
      owner:
        description: User and group that own the file, C(USER) or C(USER:GROUP); left as made (root) if absent.
        type: str
      state:
        description: Whether the file is there.
        type: str
        choices: [present, absent]
        default: present
"""

EXAMPLES = r"""
- name: Write limits
  avadm_files:
    files:
      - path: /etc/security/limits.d/90-avadm.conf
        content: "* - nofile 1048576"
"""

RETURN = r"""
paths:
  description: The files that were (in check mode would be) written or removed.
  type: list
  returned: success
"""

from ansible.module_utils.avadm_files import OPTIONS, Files, FilesError
from ansible.module_utils.basic import AnsibleModule


def main():
    """Run as an Ansible module."""
    options = {"type": "list", "elements": "dict", "required": True, "options": OPTIONS}
    module = AnsibleModule(argument_spec={"files": options}, supports_check_mode=True)
    files = Files(module, module.check_mode)
    try:
        files.bring(module.params["files"])
    except FilesError as error:
        module.fail_json(msg=str(error), paths=files.paths)
    result = {"changed": bool(files.paths), "paths": files.paths}
    if module._diff:
        result["diff"] = files.diffs
    module.exit_json(**result)


if __name__ == "__main__":
    main()
