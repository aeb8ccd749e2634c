#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_pool
short_description: Manage replicated pools and their CRUSH rule
description:
  - Reads all pools and rules with two commands and changes only what differs.
  - The number of placement groups only grows; a pool that has more than is wanted is left alone and named in
    I(larger). The autoscaler, where the release has one, is switched off for these pools, since the site
    file decides.
  - After another size it waits, at most 20 s, until every placement group of the pool has reported since, as until
    then the cluster still shows the groups' former state, so that C(HEALTH_OK) would mean nothing.
  - Pools that are not named are left alone; nothing is ever deleted.
options:
  pools:
    description: The pools.
    type: list
    elements: dict
    required: true
    suboptions:
      name: {description: Pool name., type: str, required: true}
      pg_num: {description: Placement groups., type: int, required: true}
      size: {description: Copies of each object., type: int, required: true}
      min_size: {description: Copies needed to serve I/O., type: int, required: true}
      application: {description: "C(cephfs), C(rbd) or C(rgw).", type: str, required: true}
  rule:
    description: The CRUSH rule of these pools; made if there is none of that name, never altered.
    type: dict
    required: true
    suboptions:
      name: {description: Rule name., type: str, required: true}
      root: {description: CRUSH root., type: str, default: default}
      failure_domain: {description: Level at which copies are kept apart., type: str, required: true}
"""

EXAMPLES = r"""
- name: Keep the pools
  avadm_ceph_pool:
    rule: {name: replicated_host, failure_domain: host}
    pools:
      - {name: rbd, pg_num: 128, size: 2, min_size: 1, application: rbd}
"""

RETURN = r"""
actions:
  description: The commands that were run (in check mode would be).
  type: list
  returned: success
larger:
  description: Pools with more placement groups than wanted, as C(NAME found, wanted).
  type: list
  returned: success
"""

from ansible.module_utils.avadm_ceph import Ceph, CephError, runner, wait
from ansible.module_utils.basic import AnsibleModule

REPORT_TIMEOUT = 20.0


class Pools(object):
    """The cluster's pools, and the commands that make them right."""

    def __init__(self, ceph, rule, check_mode=False):
        self.ceph, self.rule, self.check_mode = ceph, rule, check_mode
        self.actions, self.waiting = [], []
        self.larger = []
        self.resized = []

    def do(self, *words):
        """Note one changing command."""
        self.waiting.append(" ".join(str(word) for word in words))

    def flush(self):
        """Run what was noted; return whether there was anything."""
        waiting, self.waiting = self.waiting, []
        if waiting and not self.check_mode:
            self.ceph.all(waiting)
        self.actions += waiting
        return bool(waiting)

    def ensure(self, pools):
        """Make the rule and every pool right."""
        rule_id = self.ensure_rule()
        before = self.known()
        for pool in pools:
            if pool["name"] not in before:
                self.create(pool)
        known = self.known() if self.flush() and not self.check_mode else before
        for pool in pools:
            found = known.get(pool["name"])
            if found is None and not self.check_mode:
                raise CephError("the pool %s was made and is not there" % pool["name"])
            if found is None:
                continue
            if pool["name"] in before and any(found[key] != pool[key] for key in ("size", "min_size")):
                self.resized.append(pool["name"])
            self.adjust(pool, found, rule_id)
        self.flush()
        if self.resized and not self.check_mode:
            wait(self.unreported, REPORT_TIMEOUT)

    def known(self):
        """Return pools by name, as ceph has them now."""
        detail = self.ceph.json("osd", "pool", "ls", "detail", absent=[])
        return {pool["pool_name"]: pool for pool in detail}

    def unreported(self):
        """Return which resized pools have groups that have not reported since; None when there is none.

        A state is as old as the map that its primary had when it reported (`reported_epoch`).
        """
        detail = self.ceph.json("osd", "pool", "ls", "detail")
        changed = {pool["pool_name"]: int(pool["last_change"]) for pool in detail}
        behind = []
        for name in self.resized:
            groups = self.ceph.json("pg", "ls-by-pool", name)
            # Releases before 14 give the bare list.
            groups = groups["pg_stats"] if isinstance(groups, dict) else groups
            if any(int(group["reported_epoch"]) < changed[name] for group in groups):
                behind.append(name)
        return ", ".join(behind) or None

    def rules(self):
        """Return rule name to rule id."""
        dump = self.ceph.json("osd", "crush", "rule", "dump", absent=[])
        return {rule["rule_name"]: rule["rule_id"] for rule in dump}

    def ensure_rule(self):
        """Make the rule if there is none of its name; return its id (None in a dry run)."""
        name = self.rule["name"]
        known = self.rules()
        if name not in known:
            root, domain = self.rule["root"], self.rule["failure_domain"]
            self.do("osd", "crush", "rule", "create-replicated", name, root, domain)
            self.flush()
            known = {} if self.check_mode else self.rules()
        return known.get(name)

    def create(self, pool):
        """Make a pool; what `create` cannot say is set afterwards."""
        name, number = pool["name"], pool["pg_num"]
        self.do("osd", "pool", "create", name, number, number, "replicated", self.rule["name"])

    def adjust(self, pool, found, rule_id):
        """Set what differs."""
        name = pool["name"]
        # The rule first: a size that its failure domain cannot hold would leave groups undersized.
        if found["crush_rule"] != rule_id:
            self.do("osd", "pool", "set", name, "crush_rule", self.rule["name"])
        # Only releases from 14 on report a mode, and only these know the option.
        if found.get("pg_autoscale_mode", "off") != "off":
            self.do("osd", "pool", "set", name, "pg_autoscale_mode", "off")
        for option in ("size", "min_size"):
            if found[option] != pool[option]:
                self.do("osd", "pool", "set", name, option, pool[option])
        self.grow(pool, found)
        if pool["application"] not in found.get("application_metadata", {}):
            self.do("osd", "pool", "application", "enable", name, pool["application"])

    def grow(self, pool, found):
        """Raise the number of placement groups if there are fewer than wanted."""
        name, wanted = pool["name"], pool["pg_num"]
        # From 14 on pg_num approaches its target step by step; the target is what was asked for.
        groups = found.get("pg_num_target", found["pg_num"])
        if groups < wanted:
            self.do("osd", "pool", "set", name, "pg_num", wanted)
        elif groups > wanted:
            self.larger.append("%s: found %d, wanted %d" % (name, groups, wanted))
        # From 14 on pgp_num follows by itself.
        if "pg_placement_num_target" not in found and found["pg_placement_num"] < max(groups, wanted):
            self.do("osd", "pool", "set", name, "pgp_num", max(groups, wanted))


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "pools": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "name": {"type": "str", "required": True},
                    "pg_num": {"type": "int", "required": True},
                    "size": {"type": "int", "required": True},
                    "min_size": {"type": "int", "required": True},
                    "application": {"type": "str", "required": True},
                },
            },
            "rule": {
                "type": "dict",
                "required": True,
                "options": {
                    "name": {"type": "str", "required": True},
                    "root": {"type": "str", "default": "default"},
                    "failure_domain": {"type": "str", "required": True},
                },
            },
        },
        supports_check_mode=True,
    )
    work = Pools(Ceph(runner(module), dry=module.check_mode), module.params["rule"], module.check_mode)
    try:
        work.ensure(module.params["pools"])
    except CephError as error:
        module.fail_json(
            msg="Cannot keep the pools: %s. Done before: %s" % (error, "; ".join(work.actions) or "nothing")
        )
    module.exit_json(changed=bool(work.actions), actions=work.actions, larger=work.larger)


if __name__ == "__main__":
    main()
