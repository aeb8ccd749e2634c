#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_etcd_bootstrap_mark
short_description: Record that an etcd member was bootstrapped
description:
  - Writes the mark, with the cluster's id, once the member has data and its cluster a leader, and removes what only the
    first start needed. With that file a member whose data are gone would found another cluster when it is started again.
options:
  url: {description: The member's own client URL., type: str, required: true}
  cacert: {description: Certificate of etcd's authority., type: path, required: true}
  cert: {description: Certificate shown to the member., type: path, required: true}
  key: {description: Its private key., type: path, required: true}
  data_dir: {description: Folder of its data., type: path, required: true}
  marks: {description: Folder of the marks., type: path, default: /var/lib/avadm/founded}
  file: {description: What the first start reads., type: path, default: /run/avadm/etcd-bootstrap}
"""

EXAMPLES = r"""
- name: Record that the member was bootstrapped
  avadm_etcd_bootstrap_mark:
    url: https://10.0.0.11:2379
    data_dir: /var/lib/etcd/avadm
    cacert: /etc/etcd/pki/ca.crt
    cert: /etc/etcd/pki/client.crt
    key: /etc/etcd/pki/etcd.key
"""

RETURN = r"""
bootstrapped:
  description: C(name) and C(identity) of the mark; not in a dry run of a first installation.
  type: dict
  returned: success
"""

import os

from ansible.module_utils import avadm_bootstrap_mark as marks
from ansible.module_utils import avadm_etcd_bootstrap as bootstrap
from ansible.module_utils.avadm_etcd import Cluster, MemberError
from ansible.module_utils.basic import AnsibleModule


def ensure(given, cluster, check_mode=False):
    """Return (changed, cluster's id); the id is None in a dry run of what is not there yet.

    Raises:
        MemberError: there are no data, or no server answers.
    """
    there, found = bootstrap.has_data(given["data_dir"]), cluster.id()
    if check_mode and not (there and found):
        return True, None
    if not there or found is None:
        raise MemberError(
            "The member at %s cannot be marked as bootstrapped: %s. Remedy: see `journalctl -u etcd` there, then apply again."
            % (given["url"], "it does not answer" if there else "no data in %s" % given["data_dir"])
        )
    changed = marks.keep(bootstrap.MARK, found, given["marks"], check_mode)
    if os.path.exists(given["file"]):
        changed = True
        if not check_mode:
            os.unlink(given["file"])
    return changed, found


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "cacert": {"type": "path", "required": True},
            "cert": {"type": "path", "required": True},
            # The path of a key is no secret.
            "key": {"type": "path", "required": True, "no_log": False},
            "data_dir": {"type": "path", "required": True},
            "marks": {"type": "path", "default": marks.FOLDER},
            "file": {"type": "path", "default": "/run/avadm/etcd-bootstrap"},
        },
        supports_check_mode=True,
    )
    given = module.params

    def run(argv):
        return module.run_command(argv, environ_update={"ETCDCTL_API": "3"})

    cluster = Cluster(run, [given["url"]], {key: given[key] for key in ("cacert", "cert", "key")})
    try:
        changed, found = ensure(given, cluster, module.check_mode)
    except (MemberError, IOError, OSError) as error:
        module.fail_json(msg=str(error))
    report = {"bootstrapped": {"name": bootstrap.MARK, "identity": found}} if found else {}
    module.exit_json(changed=changed, **report)


if __name__ == "__main__":
    main()
