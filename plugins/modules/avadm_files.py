#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

__metaclass__ = type

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
        description: The whole content of a file that is no text, in base64. Instead of I(content).
        type: str
      secret:
        description: The whole content of a file that holds a secret; hidden in results. Instead of I(content).
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

import base64
import grp
import io
import os
import pwd
import stat
import tempfile

from ansible.module_utils._text import to_bytes, to_text
from ansible.module_utils.basic import AnsibleModule


def read(path):
    """Return a file's bytes, or None where there is no file."""
    if not os.path.lexists(path):
        return None
    with io.open(path, "rb") as stream:
        return stream.read()


def wanted_bytes(entry):
    """Return the bytes that a file shall have."""
    if entry.get("base64"):
        return base64.b64decode(entry["base64"])
    content = to_bytes(entry.get("secret") or entry["content"] or "")
    return content if not content or content.endswith(b"\n") else content + b"\n"


def mode_of(path):
    """Return a file's permission bits."""
    return stat.S_IMODE(os.stat(path).st_mode)


def owner_of(entry):
    """Return the (uid, gid) that a file shall have; None where that is left open. KeyError for who is not there."""
    if not entry.get("owner"):
        return None
    user, _colon, group = entry["owner"].partition(":")
    account = pwd.getpwnam(user)
    return account.pw_uid, grp.getgrnam(group).gr_gid if group else account.pw_gid


def owned(path, owner):
    """Return whether a file has this (uid, gid), or none is asked for."""
    state = os.stat(path)
    return owner is None or (state.st_uid, state.st_gid) == owner


def difference(entry):
    """Return the before and after texts of a file that differs, else None."""
    before = read(entry["path"])
    if entry["state"] == "absent":
        return None if before is None else (before, b"")
    after = wanted_bytes(entry)
    if (
        before == after
        and mode_of(entry["path"]) == int(entry["mode"], 8)
        and owned(entry["path"], owner_of(entry))
    ):
        return None
    return (before or b"", after)


def write(module, entry, content):
    """Write or remove one file."""
    path = entry["path"]
    if entry["state"] == "absent":
        os.unlink(path)
        return
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o755)
    handle, made = tempfile.mkstemp(dir=module.tmpdir)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
    os.chmod(made, int(entry["mode"], 8))
    owner = owner_of(entry)
    # unsafe_writes acts only where the rename is refused (a bind-mounted file): then it is written in place.
    module.atomic_move(made, path, unsafe_writes=True)
    if owner is not None:
        os.chown(path, *owner)
    os.chmod(path, int(entry["mode"], 8))


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "files": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "path": {"type": "path", "required": True},
                    "content": {"type": "str"},
                    "secret": {"type": "str", "no_log": True},
                    "base64": {"type": "str"},
                    "owner": {"type": "str"},
                    "mode": {"type": "str", "default": "0644"},
                    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
                },
            }
        },
        supports_check_mode=True,
    )
    paths, diffs = [], []
    for entry in module.params["files"]:
        try:
            found = difference(entry)
            if found is None:
                continue
            if not module.check_mode:
                write(module, entry, found[1])
        except (IOError, OSError) as error:
            module.fail_json(
                msg="%s could not be written: %s. Remedy: see that its file system is writable and not full."
                % (entry["path"], error),
                paths=paths,
            )
        except KeyError as error:
            module.fail_json(
                msg="%s has no owner: %s. Remedy: install the package that makes this user or group."
                % (entry["path"], error.args[0]),
                paths=paths,
            )
        paths.append(entry["path"])
        if entry["secret"] is not None:
            continue
        diffs.append(
            {
                "before": to_text(found[0], errors="replace"),
                "after": to_text(found[1], errors="replace"),
                "before_header": entry["path"],
                "after_header": entry["path"],
            }
        )
    result = {"changed": bool(paths), "paths": paths}
    if module._diff:
        result["diff"] = diffs
    module.exit_json(**result)


if __name__ == "__main__":
    main()
