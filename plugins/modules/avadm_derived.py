#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_derived
short_description: Generate a file from other files when they change
description:
  - Runs the program where the file is missing or was made of other contents, which is noted beside it (C(PATH.of)).
options:
  path:
    description: The file that is made.
    type: path
    required: true
  argv:
    description: The program and its arguments; its own file counts as a source.
    type: list
    elements: str
    required: true
  sources:
    description: The files that it is made of.
    type: list
    elements: path
    required: true
"""

EXAMPLES = r"""
- name: Make the file of authorities that are trusted
  avadm_derived:
    path: /etc/alluxio/trusted.p12
    argv: [/usr/local/lib/avadm/alluxio/trust]
    sources: [/etc/alluxio/authorities.pem]
"""

RETURN = r""" # """

import hashlib
import os

from ansible.module_utils.basic import AnsibleModule


class DerivedError(Exception):
    """The file could not be made."""


def noted(argv, sources):
    """Return what stands beside a file that was made so; DerivedError where a source is not there."""
    digest = hashlib.sha256("\0".join(argv).encode("utf-8"))
    for path in [argv[0]] + sources:
        try:
            with open(path, "rb") as source:
                digest.update(hashlib.sha256(source.read()).digest())
        except (IOError, OSError) as error:
            raise DerivedError("%s cannot be read: %s" % (path, error.strerror))
    return digest.hexdigest() + "\n"


def ensure(run, path, argv, sources, dry=False):
    """Return whether the file was (in a dry run would be) made; ``run`` is callable(argv) -> (rc, stdout, stderr)."""
    try:
        note = noted(argv, sources)
    except DerivedError:
        if dry:  # an earlier task would have made the source
            return True
        raise
    made = os.path.exists(path) and os.path.getsize(path) > 0
    if made and os.path.exists(path + ".of"):
        with open(path + ".of") as source:
            if source.read() == note:
                return False
    if dry:
        return True
    rc, out, err = run(argv)
    if rc != 0 or not os.path.exists(path):
        raise DerivedError("%s: %s" % (" ".join(argv), (err or out).strip()[-600:] or "exit %d" % rc))
    with open(path + ".of.new", "w") as target:
        target.write(note)
    os.rename(path + ".of.new", path + ".of")
    return True


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "argv": {"type": "list", "elements": "str", "required": True},
            "sources": {"type": "list", "elements": "path", "required": True},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        changed = ensure(
            module.run_command, given["path"], given["argv"], given["sources"], module.check_mode
        )
    except DerivedError as error:
        module.fail_json(msg="%s cannot be made. %s" % (given["path"], error))
    module.exit_json(changed=changed)


if __name__ == "__main__":
    main()
