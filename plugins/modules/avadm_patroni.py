#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_patroni
short_description: Keep settings of the cluster of PostgreSQL that Patroni runs
description:
  - Patroni takes C(bootstrap.dcs) of its file once, when the cluster is made; later it believes only what its store holds. This
    changes what the store holds, by Patroni's interface on this node. Settings that are not named are left alone.
options:
  url: {description: "Patroni's interface on this node, https://ADDRESS:PORT (or http).", type: str, required: true}
  ca: {description: Certificate of its authority., type: path, default: /etc/patroni/ca.crt}
  password: {description: Password of its user patroni., type: str, required: true}
  settings: {description: What is wanted; null removes a setting., type: dict, required: true}
"""

EXAMPLES = r"""
- name: Configure the cluster
  avadm_patroni:
    url: https://10.0.0.5:8008
    password: "{{ database_passwords.api }}"
    settings: {ttl: 20, synchronous_mode: true}
"""

RETURN = r"""
differing:
  description: Names of the settings that were (in check mode would be) changed.
  type: list
  returned: success
"""

import base64
import json
import time

try:
    from urllib.error import HTTPError
    from urllib.request import Request
except ImportError:  # python 2.7
    from urllib2 import HTTPError, Request

from ansible.module_utils.avadm_ask import ask, opener_for
from ansible.module_utils.basic import AnsibleModule

TRIES = 5
CONFLICT = 409
REMEDY = "Remedy: see `journalctl -u patroni`, then apply again."


class Unanswered(Exception):
    """Patroni does not tell its settings."""


def differing(wanted, found, above=""):
    """Return the names of the settings that are not as they are wanted.

    Args:
        wanted: settings; None where one is not to be there.
        found: settings as they are; None for none.
        above: name of the setting that these are part of.
    """
    names = []
    for key, value in sorted(wanted.items()):
        there = (found or {}).get(key)
        if isinstance(value, dict) and isinstance(there or {}, dict):
            names += differing(value, there, above + key + ".")
        elif value != there:
            names.append(above + key)
    return names


def change(url, tls, password, settings):
    """Have Patroni change settings; an exception says why it did not."""
    login = base64.b64encode(("patroni:" + password).encode("ascii")).decode("ascii")
    headers = {"Authorization": "Basic " + login, "Content-Type": "application/json"}
    request = Request(url + "/config", json.dumps(settings).encode("utf-8"), headers)
    request.get_method = lambda: "PATCH"
    opener_for(url, tls).open(request, timeout=10).read()


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "ca": {"type": "path", "default": "/etc/patroni/ca.crt"},
            "password": {"type": "str", "required": True, "no_log": True},
            "settings": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    url, wanted = module.params["url"], module.params["settings"]
    tls = {"ca": module.params["ca"]} if url.startswith("https:") else None

    def found():
        status, text = ask(url + "/config", tls)
        if status != 200:
            raise Unanswered(text[:300])
        return differing(wanted, json.loads(text))

    try:
        names = left = found()
        for _ in range(TRIES):
            if not left or module.check_mode:
                break
            try:
                change(url, tls, module.params["password"], wanted)
            except HTTPError as error:
                # Another member has changed them just now.
                if error.code != CONFLICT:
                    raise
                time.sleep(1)
            left = found()
    except Unanswered as error:
        if module.check_mode:
            module.exit_json(changed=True, differing=["Patroni does not answer yet"])
        module.fail_json(msg="Patroni at %s does not tell its settings: %s. %s" % (url, error, REMEDY))
    except Exception as error:  # refused, timed out, an answer that is an error: they have no common parent
        module.fail_json(
            msg="Patroni at %s did not change %s: %s. %s" % (url, ", ".join(names), error, REMEDY)
        )
    if left and not module.check_mode:
        module.fail_json(msg="Patroni at %s did not change %s. %s" % (url, ", ".join(left), REMEDY))
    module.exit_json(changed=bool(names), differing=names)


if __name__ == "__main__":
    main()
