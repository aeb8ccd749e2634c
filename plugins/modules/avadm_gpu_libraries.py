#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_gpu_libraries
short_description: Lay out the GPU driver's libraries and programs in one folder, for containers
description:
  - The folder gets C(lib64) with the driver's libraries and C(bin) with its programs.
    Containers that have GPUs see it read-only.
  - The linker's cache (C(ldconfig -p)) says where this node has the libraries, wherever its packages put them.
  - Files are hard links where the file system allows it, else copies. What is not the driver's any more is removed. A file that a
    container has open stays what it was.
options:
  path:
    description: The folder.
    type: path
    required: true
  libraries:
    description: What the names of the driver's libraries begin with.
    type: list
    elements: str
    required: true
  programs:
    description: The driver's programs; those that the node lacks are left out.
    type: list
    elements: str
    required: true
  needed:
    description: Libraries and programs without which nothing is changed, and the driver counts as not installed.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Lay out the driver for containers
  avadm_gpu_libraries:
    path: /var/lib/avadm/nvidia-driver
    libraries: [libcuda.so, libnvidia-]
    programs: [nvidia-smi]
    needed: [libcuda.so.1, nvidia-smi]
"""

RETURN = r"""
files:
  description: The folder's files and links.
  type: list
  elements: str
  returned: success
"""

import errno
import os
import re
import shutil

from ansible.module_utils.basic import AnsibleModule

PLACES = ("/usr/bin", "/usr/sbin", "/bin", "/usr/local/bin", "/opt/bin")
# "	libcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1"
_CACHED = re.compile(r"^\s+(\S+) \(([^)]*)\) => (/\S+)$", re.M)


class LibrariesError(Exception):
    """The driver is not there; the text is for people."""


def cached(text, prefixes):
    """Return name to path of the 64-bit libraries in the linker's cache; the first of a name is the one that is used."""
    found = {}
    for name, kind, path in _CACHED.findall(text):
        if "x86-64" in kind and name.startswith(tuple(prefixes)):
            found.setdefault(name, path)
    return found


def layout(libraries, programs, places=PLACES):
    """Return (path in the folder to the file that it is, path in the folder to where it points)."""
    files, links = {}, {}
    for name, path in libraries.items():
        real = os.path.realpath(path)
        files[os.path.join("lib64", os.path.basename(real))] = real
        if name != os.path.basename(real):
            links[os.path.join("lib64", name)] = os.path.basename(real)
    for program in programs:
        for place in places:
            path = os.path.join(place, program)
            if os.path.isfile(path):
                files.setdefault(os.path.join("bin", program), os.path.realpath(path))
    return files, links


def same(path, source):
    """Whether a file of the folder is that of the node, or a copy of it."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    mine, theirs = os.stat(path), os.stat(source)
    return os.path.samefile(path, source) or (
        (mine.st_size, int(mine.st_mtime)) == (theirs.st_size, int(theirs.st_mtime))
        and (mine.st_mode | 0o222) == (theirs.st_mode | 0o222)
    )


def present(root):
    """Return the paths of all files and links in the folder."""
    return {
        os.path.relpath(os.path.join(folder, name), root)
        for folder, _, names in os.walk(root)
        for name in names
    }


def put(source, path):
    """Have a file in place of what is there, in one step."""
    beside = path + ".avadm-new"
    if os.path.lexists(beside):
        os.remove(beside)
    try:
        os.link(source, beside)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK):
            raise
        shutil.copy2(source, beside)
    os.rename(beside, path)


def point(target, path):
    """Have a link in place of what is there, in one step."""
    beside = path + ".avadm-new"
    if os.path.lexists(beside):
        os.remove(beside)
    os.symlink(target, beside)
    os.rename(beside, path)


def ensure(root, files, links, check_mode=False):
    """Make the folder what it has to be; return whether anything was to do."""
    put_now = [p for p, source in files.items() if not same(os.path.join(root, p), source)]
    point_now = [
        p
        for p, target in links.items()
        if not os.path.islink(os.path.join(root, p)) or os.readlink(os.path.join(root, p)) != target
    ]
    drop = present(root) - set(files) - set(links)
    if check_mode:
        return bool(put_now or point_now or drop)
    for folder in ("", "bin", "lib64"):
        path = os.path.join(root, folder)
        if not os.path.isdir(path):
            os.makedirs(path)
        os.chmod(path, 0o755)
    for path in put_now:
        put(files[path], os.path.join(root, path))
    for path in point_now:
        point(links[path], os.path.join(root, path))
    for path in drop:
        os.remove(os.path.join(root, path))
    return bool(put_now or point_now or drop)


def wanted(text, libraries, programs, needed, places=PLACES):
    """Return the folder's files and links; LibrariesError where the node lacks what is needed."""
    files, links = layout(cached(text, libraries), programs, places)
    have = {os.path.basename(p) for p in files} | {os.path.basename(p) for p in links}
    lack = sorted(set(needed) - have)
    if lack:
        raise LibrariesError(
            "The GPU driver is not installed as containers need it: no %s in the linker's cache (`ldconfig -p`) or in %s. "
            "Nothing was changed. Remedy: `nvidia-smi` and `ldconfig` there; see the driver's packages of the profile."
            % (", ".join(lack), ", ".join(places))
        )
    return files, links


def main():
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "libraries": {"type": "list", "elements": "str", "required": True},
            "programs": {"type": "list", "elements": "str", "required": True},
            "needed": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    p = module.params
    ldconfig = module.get_bin_path("ldconfig", required=True, opt_dirs=["/sbin", "/usr/sbin"])
    _rc, text, _err = module.run_command([ldconfig, "-p"], check_rc=True)
    try:
        files, links = wanted(text, p["libraries"], p["programs"], p["needed"])
        changed = ensure(p["path"], files, links, module.check_mode)
    except LibrariesError as error:
        if module.check_mode:  # the driver is only going to be installed
            module.exit_json(changed=True, files=[])
        module.fail_json(msg=str(error))
    except EnvironmentError as error:
        module.fail_json(msg="The driver's folder %s cannot be made: %s" % (p["path"], error))
    module.exit_json(changed=changed, files=sorted(files) + sorted(links))


if __name__ == "__main__":
    main()
