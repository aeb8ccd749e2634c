#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_etcd_peers
short_description: Get which peer CA an etcd member uses and which it trusts
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
  missing:
    description: Members that are not in this run, with their peer URLs. Where this member was never there, they are asked.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Check which peer CA this member trusts
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
trusted:
  description:
    - The authorities that it is to trust until all members show that of members, PEM. Beside that one, those that it trusts
      now, or I(former) where it trusts no other.
  type: str
  returned: success
running:
  description: Whether etcd runs on this node; restarts of running members must come one after the other.
  type: bool
  returned: success
"""

import os
import re

from ansible.module_utils.basic import AnsibleModule

PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.S)
KEY = r"X509v3 %s Key Identifier:[^\n]*\n\s*(?:keyid:)?([0-9A-Fa-f:]+)"


class PeersError(Exception):
    """It cannot be determined; the text is for people."""


def stage(run, certificate, trusted, authority, former):
    """Return how a member knows the others, and the authorities that it is to trust until all show the wanted one's, PEM.

    Authorities are distinguished by their keys: one that was renewed has its name.

    Args:
        run: callable(argv, data) -> (rc, stdout, stderr).
        certificate: path of what it shows.
        trusted: path of what it trusts.
        authority: certificate of the authority of members, PEM.
        former: certificate of the authority of clients, PEM; trusted where nothing else is known.

    Raises:
        PeersError: the certificate is there and cannot be read.
    """
    if not os.path.lexists(certificate):
        return "none", authority
    held = ""
    if os.path.exists(trusted):
        with open(trusted) as source:
            held = source.read()
    signer = key(run, certificate, "Authority", ["-in", certificate], None)
    wanted = key(run, "of the authority of members", "Subject", [], authority)
    others = [one for one in PEM.findall(held) if one not in authority]
    known = [key(run, "in " + trusted, "Subject", [], one) for one in others]
    if signer == wanted:
        if held.strip() == authority.strip():
            return "new", authority
        return "shown", joined([authority] + (others or [former]))
    # Whatever else it shows is the former's, or is replaced as if it were.
    if signer not in known and former.strip() not in others:
        return "old", joined([authority, former] + others)
    return "both" if authority.strip() in held else "old", joined([authority] + others)


def joined(authorities):
    """Return the text of a file with these certificates."""
    return "".join(one.strip() + "\n" for one in authorities)


def key(run, what, whose, words, data):
    """Return the identifier of a certificate's own key (Subject) or of its signer's (Authority); "" where it has none."""
    rc, out, err = run(["openssl", "x509", "-noout", "-text"] + words, data)
    if rc != 0:
        raise PeersError(
            "The certificate %s cannot be read: %s. Remedy: where it is damaged, restore it or, if etcd does not run"
            " there anyway, remove it and apply again." % (what, err.strip()[-300:])
        )
    found = re.search(KEY % whose, out)
    if whose == "Subject" and not found:
        raise PeersError("The certificate %s names no key (X509v3 Subject Key Identifier)." % what)
    return found.group(1).upper() if found else ""


def strangers(run, authority, missing):
    """Return those of other members that show a certificate of another authority now; who does not answer is none.

    Args:
        run: callable(argv, data) -> (rc, stdout, stderr).
        authority: certificate of the authority of members, PEM.
        missing: member to its peer URL.
    """
    wanted, found = key(run, "of the authority of members", "Subject", [], authority), []
    for name in sorted(missing):
        place = missing[name].partition("://")[2].rstrip("/")
        # It tells its own certificate before it asks for ours.
        _, out, _ = run(["timeout", "10", "openssl", "s_client", "-connect", place], "Q\n")
        shown = PEM.search(out)
        if shown and key(run, "of " + name, "Authority", [], shown.group(0)) != wanted:
            found.append(name)
    return found


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "certificate": {"type": "path", "required": True},
            "trusted": {"type": "path", "required": True},
            "authority": {"type": "str", "required": True},
            "former": {"type": "str", "required": True},
            "missing": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    given = dict(module.params)
    missing = given.pop("missing")

    def run(argv, data):
        return module.run_command(argv, data=data)

    try:
        found, trusted = stage(run, **given)
        strange = strangers(run, given["authority"], missing) if found == "none" else []
    except PeersError as error:
        module.fail_json(msg=str(error))
    if strange:
        module.fail_json(
            msg="%s show certificates of a former authority, and do not trust that of the member that this run would add."
            " Nothing was changed. Remedy: `avadm apply etcd` without --limit, with all members up: it brings them to the"
            " authority of members, and this one in." % ", ".join(strange)
        )
    if found in ("old", "both", "shown") and missing:
        module.warn(
            "Members of etcd continue to trust a former authority, by which others than members may join, since %s is not in"
            " this run. Remedy: `avadm apply etcd` without --limit once all members are up."
            % ", ".join(sorted(missing))
        )
    running = module.run_command(["systemctl", "is-active", "--quiet", "etcd"])[0] == 0
    module.exit_json(changed=False, stage=found, trusted=trusted, running=running)


if __name__ == "__main__":
    main()
