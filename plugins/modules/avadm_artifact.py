#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: avadm_artifact
short_description: Have large files of the controller's artifact cache on the node
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

import hashlib
import os
import pwd
import shutil
import stat

from ansible.module_utils.basic import AnsibleModule

# Root's own folder: nobody can put a link in the way.
INCOMING = "/var/lib/avadm/incoming"
_BLOCK = 1 << 20


class ArtifactError(Exception):
    """The file cannot be had; the text is for people."""


def sha256(path):
    """Return the digest of a file's bytes; None where there is no such file."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as handle:
            for block in iter(lambda: handle.read(_BLOCK), b""):
                digest.update(block)
    except (IOError, OSError):
        return None
    return digest.hexdigest()


def folder_of(files):
    """Return the folder to which these files are pushed; phases that run at once have different ones."""
    paths = "\n".join(one["path"] for one in files)
    return os.path.join(INCOMING, hashlib.sha256(paths.encode("utf-8")).hexdigest()[:16])


def settle(one, incoming):
    """Put what was pushed in its place, if it is what was to come; raise ArtifactError if not."""
    path, wanted = one["path"], one["artifact"]["sha256"]
    source = os.path.join(incoming, wanted)
    found = sha256(source)
    if found != wanted:
        raise ArtifactError(
            "%s did not arrive whole: sha256 %s, wanted %s. Remedy: `avadm artifacts verify` on the controller,"
            " see the space below /var/lib here, and run this again." % (path, found or "of no file", wanted)
        )
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o755)
    beside = path + ".avadm-new"
    # The folder may be another file system, from which nothing can be renamed.
    shutil.move(source, beside)
    os.chown(beside, 0, 0)
    os.chmod(beside, int(one["mode"], 8))
    os.rename(beside, path)


def ensure(files, pushed, login, check_mode, incoming=None):
    """Return (changed, path to the place to push for each file that is missing)."""
    incoming = incoming or folder_of(files)
    changed = False
    for one in files:
        if one["path"] in pushed:
            settle(one, incoming)
            changed = True
    missing = {}
    for one in files:
        path, mode = one["path"], int(one["mode"], 8)
        if one["path"] in pushed:
            continue
        if sha256(path) != one["artifact"]["sha256"]:
            missing[path] = os.path.join(incoming, one["artifact"]["sha256"])
        elif stat.S_IMODE(os.stat(path).st_mode) != mode:
            changed = True
            if not check_mode:
                os.chmod(path, mode)
    if not check_mode:
        _open(missing, login, incoming)
    return changed, missing


def _open(missing, login, incoming):
    """Make the folder to which files are pushed, of the user of the connection; or remove it."""
    if os.path.isdir(incoming):
        shutil.rmtree(incoming)
    if missing:
        os.makedirs(incoming, 0o755)
        user = pwd.getpwnam(login)
        os.chown(incoming, user.pw_uid, user.pw_gid)
        os.chmod(incoming, 0o700)


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
