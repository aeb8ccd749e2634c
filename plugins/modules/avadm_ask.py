#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ask
short_description: Check what a daemon answers over HTTP
description:
  - In place of M(ansible.builtin.uri) for daemons with a certificate of the site's, which are asked by their address. Python 2.7
    knows no addresses in certificates, and C(uri) refuses all of them there.
  - Changes nothing, and uses no proxy.
options:
  url: {description: "The URL, http or https.", type: str, required: true}
  tls:
    description: Files in PEM, where I(url) is https and the authority is not one that the system trusts.
    type: dict
    suboptions:
      ca: {description: Authority of the daemon's certificate., type: path, required: true}
      certificate: {description: What is shown to a daemon that asks who speaks to it., type: path}
      key: {description: Its private key., type: path}
  status:
    description: Statuses that are wanted; any other, and no answer, fails.
    type: list
    elements: int
    default: [200]
  timeout: {description: Seconds to wait for an answer., type: int, default: 10}
"""

EXAMPLES = r"""
- name: See that the store answers
  avadm_ask:
    url: https://10.0.0.5:9428/health
    tls: {ca: /etc/avadm/logs/ca.crt}
"""

RETURN = r"""
status: {description: "Status of the answer, -1 for none.", type: int, returned: always}
json: {description: "The answer, where it is JSON.", type: raw, returned: success}
"""

import json

from ansible.module_utils.avadm_ask import ask
from ansible.module_utils.basic import AnsibleModule


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "tls": {
                "type": "dict",
                "options": {
                    "ca": {"type": "path", "required": True},
                    "certificate": {"type": "path"},
                    "key": {"type": "path", "no_log": False},
                },
                "required_together": [["certificate", "key"]],
            },
            "status": {"type": "list", "elements": "int", "default": [200]},
            "timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    given = module.params
    status, text = ask(given["url"], given["tls"], given["timeout"])
    if status not in given["status"]:
        wanted = " or ".join(str(one) for one in given["status"])
        message = "does not answer" if status == -1 else "answers with %d, wanted %s" % (status, wanted)
        module.fail_json(msg="%s %s: %s" % (given["url"], message, text[:300]), status=status)
    answer = {}
    try:
        answer["json"] = json.loads(text)
    except ValueError:
        pass
    module.exit_json(changed=False, status=status, **answer)


if __name__ == "__main__":
    main()
