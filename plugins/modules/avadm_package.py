#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_package
short_description: Install Debian packages in one transaction, without python-apt
description:
  - Looks with one C(dpkg-query) whether everything is there (some 20 ms) and does nothing more if it is.
  - Otherwise repairs a dpkg that was interrupted, refreshes the package lists if they are old, and installs
    all that is missing with one C(apt-get install).
  - A package that is installed stays as it is, whatever newer the sources have. One at another version than the wanted
    C(name=version) is brought to that; a profile that pins a newer one so brings it to all nodes.
  - C(avadm upgrade) alone gives I(upgrade); without it no package that is named without a version changes.
  - Needs no python-apt, so it works under python 2.7 where only python 3 has apt bindings (design.md, 4).
  - Another apt or dpkg that runs on the node is waited for, also with apt 1.2 (Ubuntu 16.04), which cannot
    wait itself.
options:
  name:
    description:
      - Packages, each C(name), C(name:arch) or C(name=version); a version may end with C(*).
      - A virtual package is satisfied by any installed package that provides it.
    type: list
    elements: str
    required: true
  update_cache_age:
    description: Package lists older than this many seconds, or than a source file, are refreshed first.
    type: int
    default: 3600
  lock_timeout:
    description: Seconds to wait for another apt or dpkg.
    type: int
    default: 600
  allow_downgrade:
    description: Whether a C(name=version) may be older than what is installed.
    type: bool
    default: false
  upgrade:
    description:
      - Packages of I(name), each with the version pattern that it is brought to where it is installed at another one.
      - An older one too, by which a failed upgrade is taken back.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Install ceph
  avadm_package:
    name: [ceph-mon, "ceph-osd=16.2.*"]
"""

RETURN = r"""
installed:
  description: Wanted packages that this run installed or changed (in check mode would), with versions.
  type: dict
  returned: success
versions:
  description: Every wanted package with the version that is installed now.
  type: dict
  returned: success
repaired:
  description: Whether an interrupted dpkg was repaired.
  type: bool
  returned: success
"""

from ansible.module_utils.avadm_packages import PackageError, ensure, packages_of
from ansible.module_utils.basic import AnsibleModule


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "list", "elements": "str", "required": True},
            "update_cache_age": {"type": "int", "default": 3600},
            "lock_timeout": {"type": "int", "default": 600},
            "allow_downgrade": {"type": "bool", "default": False},
            "upgrade": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    given = module.params

    packages = packages_of(module, given["lock_timeout"])
    try:
        done = ensure(
            packages,
            given["name"],
            given["update_cache_age"],
            given["allow_downgrade"],
            module.check_mode,
            given["upgrade"],
        )
    except PackageError as error:
        module.fail_json(msg=str(error), wanted=given["name"])
    if packages.update_trouble:
        module.warn("apt-get update: " + packages.update_trouble)
    module.exit_json(**done)


if __name__ == "__main__":
    main()
