#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: avadm_etcd_peers
short_description: Tell which authority a member of etcd shows to the others, and which it trusts
description:
  - Changes nothing. Members of older sites show each other certificates of the authority that signs those of clients
    too; with the stage of each, the role brings all to an authority of members alone without a member that the others
    refuse.
options:
  certificate:
    description: The certificate that this member shows to the others.
    type: path
    required: true
  trusted:
    description: The file with the authorities that it trusts.
    type: path
    required: true
  authority:
    description: Certificate of the authority of members, PEM.
    type: str
    required: true
  former:
    description: Certificate of the authority of clients, PEM.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Look how this member knows the others
  avadm_etcd_peers:
    certificate: /etc/etcd/pki/peer.crt
    trusted: /etc/etcd/pki/peer-ca.crt
    authority: "{{ etcd_peer_ca_certificate }}"
    former: "{{ etcd_ca_certificate }}"
  register: found
"""

RETURN = r"""
stage:
  description:
    - C(none) (it was never there), C(old) (shows and trusts the former authority), C(both) (shows the former, trusts
      both), C(shown) (shows that of members, trusts both, or one that is not the wanted), C(new) (that of members alone).
  type: str
  returned: success
running:
  description: Whether etcd runs on this node; restarts of running members must come one after the other.
  type: bool
  returned: success
"""

import os

from ansible.module_utils.basic import AnsibleModule


class PeersError(Exception):
    """It cannot be told; the text is for people."""


def stage(run, certificate, trusted, authority, former):
    """Return how a member knows the others.

    Args:
        run: callable(argv, data) -> (rc, stdout, stderr).
        certificate: path of what it shows.
        trusted: path of what it trusts.
        authority: certificate of the authority of members, PEM.
        former: certificate of the authority of clients, PEM.

    Raises:
        PeersError: the certificate is there and cannot be read.
    """
    if not os.path.lexists(certificate):
        return "none"
    held = ""
    if os.path.exists(trusted):
        with open(trusted) as source:
            held = source.read()
    shown = name(run, certificate, ["-issuer", "-in", certificate], None)
    if shown == name(run, "of the authority of members", ["-subject"], authority):
        return "new" if held.strip() == authority.strip() else "shown"
    # Whatever else it shows is the former's, or is replaced as if it were.
    return "both" if authority.strip() in held and former.strip() in held else "old"


def name(run, what, words, data):
    """Return a name in a certificate, as this node's openssl writes it."""
    rc, out, err = run(["openssl", "x509", "-noout"] + words, data)
    if rc != 0:
        raise PeersError(
            "The certificate %s cannot be read: %s. Remedy: where it is damaged, restore it or, if etcd does not run"
            " there anyway, remove it and apply again." % (what, err.strip()[-300:])
        )
    return out.partition("=")[2].strip()


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "certificate": {"type": "path", "required": True},
            "trusted": {"type": "path", "required": True},
            "authority": {"type": "str", "required": True},
            "former": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        found = stage(lambda argv, data: module.run_command(argv, data=data), **module.params)
    except PeersError as error:
        module.fail_json(msg=str(error))
    running = module.run_command(["systemctl", "is-active", "--quiet", "etcd"])[0] == 0
    module.exit_json(changed=False, stage=found, running=running)


if __name__ == "__main__":
    main()
