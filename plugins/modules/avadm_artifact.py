#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_artifact
short_description: Copy large files of the controller's artifact cache to the node
description:
  - A file is pushed where the node has not exactly these bytes; it is checked there by its sha256 before it takes
    the place of another.
  - The action plug-in of this name pushes by a plain ssh connection. Under mitogen C(copy) sends a file in small
    pieces through Python at both ends, which for some 100 MB takes many times as long.
options:
  files:
    description: The files.
    type: list
    elements: dict
    required: true
    suboptions:
      artifact:
        description: What the variable C(artifacts) says of a file of the cache, I(path) on the controller and I(sha256).
        type: dict
        required: true
      path:
        description: Absolute path on the node. Missing folders are made, mode 0755.
        type: path
        required: true
      mode:
        description: Octal mode, quoted.
        type: str
        default: "0644"
      name:
        description: What the file is; for readers of a role, who may loop over the same list.
        type: str
  login:
    description: User of the ssh connection, who may write below the folder of what is being pushed; the plug-in sets it.
    type: str
  pushed:
    description: Paths whose new bytes have been pushed; the plug-in sets it.
    type: list
    elements: path
"""

EXAMPLES = r"""
- name: Put CoreDNS
  avadm_artifact:
    files:
      - artifact: "{{ artifacts.coredns.files.coredns }}"
        path: /usr/local/bin/coredns
        mode: "0755"
"""

RETURN = r"""
missing:
  description: Paths whose bytes the node lacks, with where each is to be pushed.
  type: dict
  returned: success
"""

from ansible.module_utils.avadm_artifact import ArtifactError, ensure
from ansible.module_utils.basic import AnsibleModule


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "files": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "artifact": {"type": "dict", "required": True},
                    "path": {"type": "path", "required": True},
                    "mode": {"type": "str", "default": "0644"},
                    "name": {"type": "str"},
                },
            },
            "login": {"type": "str"},
            "pushed": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        changed, missing = ensure(
            given["files"], given["pushed"], given["login"] or "root", module.check_mode
        )
    except ArtifactError as error:
        module.fail_json(msg=str(error))
    except (IOError, OSError, KeyError) as error:
        module.fail_json(
            msg="artifacts cannot be put: %s. Remedy: see the space and the rights on this node." % error
        )
    module.exit_json(changed=changed or bool(missing and module.check_mode), missing=missing)


if __name__ == "__main__":
    main()
