#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_registry_image
short_description: Push an image to a registry from an archive on the node
description:
  - Puts the image unless the registry has exactly this one, by its digest, under its name already.
options:
  registry:
    description: The registry, HOST:PORT.
    type: str
    required: true
  name:
    description: The image's name in the archive, NAME:TAG.
    type: str
    required: true
  as_name:
    description: Its name in the registry, NAME:TAG; the same where absent.
    type: str
  archive:
    description: Archive as C(docker save) makes it, on the node.
    type: path
    required: true
  certificates:
    description: Folder with ca.crt, client.cert and client.key for the registry.
    type: path
    required: true
  compression:
    description: Level of gzip; the higher, the smaller and slower. Skopeo's own where absent.
    type: int
"""

EXAMPLES = r"""
- name: Put the base image
  avadm_registry_image:
    registry: registry.example:5000
    name: avadm/base:12
    archive: /var/lib/avadm/images/base.tar
    certificates: /etc/docker/certs.d/registry.example:5000
"""

RETURN = r"""
id:
  description: The image's id.
  type: str
  returned: success
"""

import json

from ansible.module_utils.avadm_image import ImageError, archived
from ansible.module_utils.basic import AnsibleModule


class Registry(object):
    """A registry as skopeo reaches it.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        address: HOST:PORT.
        certificates: folder of the certificates.
        compression: level of gzip, None for skopeo's own.
    """

    def __init__(self, run, address, certificates, compression=None):
        self.run, self.address, self.certificates = run, address, certificates
        self.compression = compression

    def held(self, name):
        """Return the id of the image that the registry has under a name, None where it has none."""
        target = "docker://%s/%s" % (self.address, name)
        rc, out, err = self.run(["skopeo", "inspect", "--raw", "--cert-dir", self.certificates, target])
        if rc == 0:
            return json.loads(out)["config"]["digest"]
        if "manifest unknown" in err or "name unknown" in err:
            return None
        raise ImageError("the registry %s cannot be asked: %s" % (self.address, err.strip()[-400:]))

    def put(self, name, archive, target):
        """Put an archive's image of a name under another one."""
        argv = ["skopeo", "--insecure-policy", "copy", "--quiet", "--dest-cert-dir", self.certificates]
        if self.compression is not None:
            argv += ["--dest-compress-level", str(self.compression)]
        argv += ["docker-archive:%s:%s" % (archive, name), "docker://%s/%s" % (self.address, target)]
        rc, out, err = self.run(argv)
        if rc != 0:
            raise ImageError("%s cannot be put: %s" % (name, (err or out).strip()[-400:]))


def ensure(registry, name, archive, check_mode, target=None):
    """Return (changed, id)."""
    wanted, target = archived(archive, name), target or name
    if registry.held(target) == wanted:
        return False, wanted
    if not check_mode:
        registry.put(name, archive, target)
        held = registry.held(target)
        if held != wanted:
            raise ImageError("the registry keeps %s as %s, wanted %s" % (target, held, wanted))
    return True, wanted


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "registry": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "as_name": {"type": "str"},
            "archive": {"type": "path", "required": True},
            "certificates": {"type": "path", "required": True},
            "compression": {"type": "int"},
        },
        supports_check_mode=True,
    )
    given = module.params
    registry = Registry(module.run_command, given["registry"], given["certificates"], given["compression"])
    try:
        changed, found = ensure(
            registry, given["name"], given["archive"], module.check_mode, given["as_name"]
        )
    except ImageError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, id=found)


if __name__ == "__main__":
    main()
