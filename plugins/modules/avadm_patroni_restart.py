#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_patroni_restart
short_description: Restart a member of PostgreSQL whose settings, or whose program, wait for it
description:
  - Only where Patroni says that settings do, or, with I(data), where the program that runs was replaced on disk.
  - A standby is restarted at once. The primary first has the others restarted that wait too, and then a standby takes over;
    what is interrupted is a switchover. The only member of a cluster is restarted.
  - Run it on one member after the other.
options:
  url: {description: "Patroni's interface on this node, https://ADDRESS:PORT (or http).", type: str, required: true}
  ca: {description: Certificate of its authority., type: path, default: /etc/patroni/ca.crt}
  password: {description: Password of its user patroni., type: str, required: true}
  settle: {description: Seconds after a reload in which Patroni may not know yet that a restart is needed., type: int, default: 0}
  config: {description: "Its configuration, whose age says how long ago that was.", type: path, default: /etc/patroni/config.yml}
  data: {description: "Data folder of this node's server, whose program is looked at; not looked at where left out.", type: path}
  timeout: {description: Seconds that each step may take., type: int, default: 120}
"""

EXAMPLES = r"""
- name: Restart members whose settings wait for it
  avadm_patroni_restart:
    url: https://10.0.0.5:8008
    password: "{{ database_passwords.api }}"
"""

RETURN = r"""
actions:
  description: What was done, in order (in check mode would be).
  type: list
  returned: success
"""

import base64
import json
import os
import time

try:
    from urllib.error import HTTPError
    from urllib.request import Request
except ImportError:  # python 2.7
    from urllib2 import HTTPError, Request

from ansible.module_utils.avadm_ask import ask, opener_for
from ansible.module_utils.basic import AnsibleModule

REMEDY = "Remedy: `patronictl -c /etc/patroni/config.yml list` and `journalctl -u patroni -e` there, then apply again."
LONGEST = 300
"""Seconds that Patroni may take to answer: it answers a restart when it is done."""


def replaced(data, readlink=os.readlink):
    """Return whether the program of the server of a data folder was replaced on disk since it was started."""
    try:
        with open(os.path.join(data, "postmaster.pid")) as file:
            pid = int(file.readline())
        return readlink("/proc/%d/exe" % pid).endswith(" (deleted)")
    except (EnvironmentError, ValueError):
        # It does not run: what starts is the program on disk.
        return False


class RestartError(Exception):
    """A member is not as it should be; the text is for people."""


class Cluster(object):
    """The members, as this node's Patroni tells of them.

    Args:
        url: of this node's Patroni.
        tls: as of avadm_ask.
        post: callable(url, path, data) -> text; an exception where it is refused.
        timeout: seconds that each step may take.
        sleep, clock: for tests.
    """

    def __init__(self, url, tls, post, timeout, sleep=time.sleep, clock=time.time):
        self.url, self.tls, self.post, self.timeout = url, tls, post, timeout
        self.sleep, self.clock = sleep, clock
        self.actions = []

    def waits(self, url=None):
        """Return whether a member's settings wait for a restart."""
        _, text = ask((url or self.url) + "/patroni", self.tls)
        try:
            return bool(json.loads(text).get("pending_restart"))
        except ValueError:
            raise RestartError("Patroni at %s does not tell its state: %s" % (url or self.url, text[:200]))

    def members(self):
        """Return name to role, state and URL."""
        status, text = ask(self.url + "/cluster", self.tls)
        if status != 200:
            raise RestartError("Patroni at %s does not tell its members: %s" % (self.url, text[:200]))
        return {
            m["name"]: {"role": m["role"], "state": m["state"], "url": m["api_url"].rsplit("/", 1)[0]}
            for m in json.loads(text)["members"]
        }

    def until(self, what, good):
        """Wait until something is so."""
        end = self.clock() + self.timeout
        while not good():
            if self.clock() > end:
                raise RestartError("%s after %d s" % (what, self.timeout))
            self.sleep(1)

    def restart(self, name, url):
        """Restart a member, and wait until it does its work again."""
        self.actions.append("restarted " + name)
        self.post(url, "/restart", {})
        self.until("%s waits for a restart, or does not run" % name, lambda: self.runs(name, url))

    def runs(self, name, url):
        """Return whether a member runs with all its settings, and a standby has all again where there are several."""
        members = self.members()
        own = members.get(name, {})
        synchronous = len(members) == 1 or any(m["role"] == "sync_standby" for m in members.values())
        return own.get("state") in ("running", "streaming") and synchronous and not self.waits(url)

    def ensure(self, name, dry):
        """Restart what waits, as far as it is this member's turn.

        Args:
            name: this member's, as Patroni calls it.
            dry: whether nothing is done.
        """
        members = self.members()
        if dry:
            self.actions.append("would restart " + name)
            return
        if members[name]["role"] not in ("leader", "standby_leader"):
            self.restart(name, self.url)
            return
        others = sorted(other for other in members if other != name)
        if not others:
            self.restart(name, self.url)
            return
        for other in others:
            if self.waits(members[other]["url"]):
                self.restart(other, members[other]["url"])
        heirs = sorted(n for n, m in self.members().items() if m["role"] == "sync_standby")
        if not heirs:
            raise RestartError("no standby could take over from %s, which waits for a restart" % name)
        self.actions.append("%s took over from %s" % (heirs[0], name))
        self.post(self.url, "/switchover", {"leader": name, "candidate": heirs[0]})
        self.until("%s is not the primary" % heirs[0], lambda: self.members()[heirs[0]]["role"] == "leader")
        # A primary that becomes a standby starts again, with all its settings.
        self.until("%s waits for a restart, or does not run" % name, lambda: self.runs(name, self.url))


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "ca": {"type": "path", "default": "/etc/patroni/ca.crt"},
            "password": {"type": "str", "required": True, "no_log": True},
            "settle": {"type": "int", "default": 0},
            "data": {"type": "path"},
            "config": {"type": "path", "default": "/etc/patroni/config.yml"},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    given = module.params
    tls = {"ca": given["ca"]} if given["url"].startswith("https:") else None

    def post(url, path, data):
        login = base64.b64encode(("patroni:" + given["password"]).encode("ascii")).decode("ascii")
        headers = {"Authorization": "Basic " + login, "Content-Type": "application/json"}
        request = Request(url + path, json.dumps(data).encode("utf-8"), headers)
        try:
            return opener_for(url, tls).open(request, timeout=LONGEST).read()
        except HTTPError as error:
            raise RestartError(
                "%s%s was refused: %s" % (url, path, error.read().decode("utf-8", "replace")[:300])
            )

    cluster = Cluster(given["url"], tls, post, given["timeout"])
    try:
        # Those whose turn comes later have had their time by then.
        end = os.path.getmtime(given["config"]) + given["settle"] if given["settle"] else 0
        while not cluster.waits() and not (given["data"] and replaced(given["data"])):
            if module.check_mode or time.time() > end:
                module.exit_json(changed=False, actions=[])
            time.sleep(1)
        own = json.loads(ask(given["url"] + "/patroni", tls)[1])["patroni"].get("name")
        names = [n for n, m in cluster.members().items() if m["url"] == given["url"]]
        cluster.ensure(own or names[0], module.check_mode)
    except RestartError as error:
        if module.check_mode:
            module.exit_json(changed=False, actions=[])
        module.fail_json(
            msg="%s. Done before: %s. %s" % (error, "; ".join(cluster.actions) or "nothing", REMEDY)
        )
    except (EnvironmentError, KeyError, IndexError, ValueError) as error:
        module.fail_json(msg="Patroni at %s did not restart: %r. %s" % (given["url"], error, REMEDY))
    module.exit_json(changed=bool(cluster.actions), actions=cluster.actions)


if __name__ == "__main__":
    main()
