#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_etcd_member
short_description: Bootstrap, join or remove an etcd member without ever risking the quorum
description:
  - A member with data starts with it. Where it joined but does not vote yet, that is finished.
  - A member without data starts a new cluster only where none was bootstrapped, by the mark on this node and by I(bootstrapped),
    and where each other member's peer port is surely closed, or tells of members that have never been at work. A port that
    does not answer, or not as a member of ours, does not prove that no member is there.
  - A member that the others do not know joins them while all of them are healthy. It gets the data first and votes afterwards;
    etcd older than 3.4 has no such members, and adds one only where those that are there suffice for the larger quorum.
  - A member that the others have seen at work, or that bears a mark, has lost its data and does not know what it had voted
    for. It is not started, unless I(replace) allows to remove it and have it join as a new one. One that was removed from
    the cluster of its mark joins that again.
options:
  name: {description: The member's name., type: str, required: true}
  state:
    description: C(absent) takes the member out of the cluster that I(others) are, by its name; asked on another member.
    type: str
    choices: [present, absent]
    default: present
  others:
    description: Client URLs of the other members.
    type: list
    elements: str
    default: []
  cacert: {description: Certificate of etcd's authority., type: path, required: true}
  cert: {description: Certificate shown to the other members., type: path, required: true}
  key: {description: Its private key., type: path, required: true}
  peer_cacert: {description: Certificate of the members' own authority; I(cacert) where it is not given., type: path}
  peer_cert: {description: Certificate that members show each other; I(cert) where it is not given., type: path}
  data_dir: {description: Folder of its data; needed unless I(state=absent)., type: path}
  peer_url:
    description: URL under which the other members know this one; needed unless I(state=absent).
    type: str
  first: {description: "Members of a new cluster, name to peer URL.", type: dict, default: {}}
  replace:
    description: Whether this member may be removed and join again where it has lost its data.
    type: bool
    default: false
  bootstrapped: {description: Bootstrapped members and their cluster's id; from the site's state., type: dict, default: {}}
  again:
    description: Whether a new, empty cluster may be made although one was bootstrapped before and none of it answers.
    type: bool
    default: false
  marks: {description: Folder of this member's mark., type: path, default: /var/lib/avadm/founded}
  timeout: {description: Seconds that a joining member may take to get the data., type: int, default: 300}
  file:
    description: File that is written for the first start, with C(ETCD_INITIAL_CLUSTER); it lasts until the next boot.
    type: path
    default: /run/avadm/etcd-bootstrap
"""

EXAMPLES = r"""
- name: Bootstrap or join the cluster
  avadm_etcd_member:
    name: mast1
    data_dir: /var/lib/etcd/avadm
    others: [https://10.0.0.12:2379]
    peer_url: https://10.0.0.11:2380
    first: {mast1: "https://10.0.0.11:2380", mast2: "https://10.0.0.12:2380"}
    cacert: /etc/etcd/pki/ca.crt
    cert: /etc/etcd/pki/client.crt
    key: /etc/etcd/pki/client.key
"""

RETURN = r"""
state:
  description: C(data), C(new), C(joined), C(present) (only in a dry run, it would join) or C(absent).
  type: str
  returned: success
running:
  description: Whether etcd ran on this node at the end; restarts of running members must come one after the other.
  type: bool
  returned: success
"""

import os
import time

from ansible.module_utils import avadm_bootstrap_mark as marks
from ansible.module_utils import avadm_etcd_bootstrap as bootstrap
from ansible.module_utils.avadm_etcd import Cluster, MemberError, called, may_join, may_leave, quorum, voters
from ansible.module_utils.basic import AnsibleModule


class Member(object):
    """This node's member; ``given`` are the module's arguments, ``cluster`` the other members, ``ask`` is bootstrap.peers."""

    def __init__(self, given, cluster, check_mode=False, sleep=time.sleep, ask=bootstrap.peers):
        self.given = given
        self.cluster = cluster
        self.ask = ask
        self.check_mode = check_mode
        self.sleep = sleep
        self.name = given["name"]
        self.peer_url = given["peer_url"]

    def ensure(self):
        """Return (changed, state).

        Raises:
            MemberError: it may not start, or did not come to vote in time.
        """
        members = self.cluster.members()
        own = next((m for m in members or [] if self.peer_url in m.get("peerURLs", [])), None)
        if bootstrap.has_data(self.given["data_dir"]):
            if members and own is None:
                raise MemberError(
                    "This member was removed from etcd, and its data are still in %s: it cannot start with them. Remedy:"
                    " move them away (mv %s/member %s/removed), then apply again: it joins as a new one."
                    % ((self.given["data_dir"],) * 3)
                )
            return self.finished(own)
        bootstrap.refuse_lost(self.given, self.cluster, members, own)
        if members is None:
            bootstrap.refuse_unproven(self.given, self.cluster.urls, self.ask)
        if members is None or (own and own.get("name") and not own.get("clientURLs")):
            # No member answers, or they expect it since their first start and have never seen it.
            self.write("new", self.given["first"] or {self.name: self.peer_url})
            return True, "new"
        if own is None or own.get("clientURLs"):
            members = self.admitted(members, own)
        if self.check_mode:
            return True, "present"
        known = {m.get("name") or self.name: m["peerURLs"][0] for m in members}
        self.write("existing", known)
        self.start()
        return True, "joined"

    def finished(self, own):
        """Return (changed, state) of a member with data; it votes afterwards."""
        learns = bool(own and own.get("isLearner"))
        if learns and not self.check_mode:
            self.start()
        return learns, "data"

    def admitted(self, members, lost):
        """Have the others, now ``members``, expect this one, which they know as ``lost`` or not; return all then."""
        others = [m for m in members if m is not lost]
        healthy = self.cluster.healthy(others)
        if lost and not self.given["replace"]:
            raise MemberError(
                "This member of etcd has lost its data: the others have seen it at work (ID %x), and %s is empty."
                " Remedy: see first that its disk is mounted. %s"
                % (lost["ID"], self.given["data_dir"], bootstrap.REPLACE % {"name": self.name})
            )
        if lost:
            may_leave(lost, members, healthy)
        else:
            may_join(members, healthy)
        if self.check_mode:
            return members
        if lost:
            self.cluster.change(healthy, "member", "remove", "%x" % lost["ID"])
        self.add(others, healthy)
        return self.cluster.members() or []

    def add(self, others, healthy):
        """Have the others expect this member, as one that does not vote where they know such."""
        words = ["member", "add", self.name, "--peer-urls=" + self.peer_url]
        try:
            self.cluster.change(healthy, *(words + ["--learner"]))
        except MemberError as error:
            if "unknown flag" not in str(error):
                raise
            larger = quorum(len(voters(others)) + 1)
            if len(healthy) < larger:
                raise MemberError(
                    "%s cannot join etcd: until it has started, the %d members that are healthy would be fewer than the"
                    " %d that must agree then. Remedy: etcd 3.4 or later on all members, where a new one votes only"
                    " once it has the data." % (self.name, len(healthy), larger)
                )
            self.cluster.change(healthy, *words)

    def write(self, state, members):
        """Write what the first start needs to know."""
        if self.check_mode:
            return
        left = os.path.join(self.given["data_dir"], "member")
        if os.path.isdir(left):  # without a log: nothing of it may get into the new data
            os.rename(left, "%s/left-%d" % (self.given["data_dir"], time.time()))
        path = self.given["file"]
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path), 0o755)
        cluster = ",".join("%s=%s" % one for one in sorted(members.items()))
        with open(path, "w") as target:
            target.write("ETCD_INITIAL_CLUSTER_STATE=%s\nETCD_INITIAL_CLUSTER=%s\n" % (state, cluster))

    def start(self):
        """Start a member that joins, and let it vote once it has the data."""
        self.cluster.run(["systemctl", "daemon-reload"])
        text, again = (
            "",
            "Remedy: see `journalctl -u etcd` there, then apply again: it resumes where it stopped.",
        )
        rc, out, err = self.cluster.run(["systemctl", "start", "etcd"])
        if rc != 0:
            raise MemberError("etcd does not start on %s: %s %s" % (self.name, (err or out).strip(), again))
        for _ in range(max(self.given["timeout"] // 2, 1)):
            members = self.cluster.members() or []
            own = next((m for m in members if self.peer_url in m.get("peerURLs", [])), None)
            if own and not own.get("isLearner") and own.get("clientURLs"):
                return
            if own and own.get("isLearner"):
                try:
                    self.cluster.change(voters(members), "member", "promote", "%x" % own["ID"])
                    continue
                except MemberError as error:  # it has not got all data yet
                    text = str(error)
            self.sleep(2)
        raise MemberError(
            "%s did not come to vote in etcd within %d s. %s %s"
            % (self.name, self.given["timeout"], text, again)
        )


def remove(name, cluster, check_mode):
    """Take a member out of its cluster by name or ID; return (changed, state).

    Raises:
        MemberError: the others could not continue without it, or none answers.
    """
    members = cluster.members()
    if members is None:
        raise MemberError(
            "No member of etcd answers at %s. Remedy: see `journalctl -u etcd` there."
            % ", ".join(cluster.urls)
        )
    leaving = next((m for m in members if name in (called(m), "%x" % m["ID"])), None)
    if leaving is None:
        return False, "absent"
    healthy = cluster.healthy(members)
    if not leaving.get("isLearner"):
        may_leave(leaving, members, healthy)
    if not check_mode:
        staying = [m for m in healthy if m is not leaving]
        if cluster.leader(healthy) == leaving["ID"]:
            # It is asked itself; without this the others would have no leader for a second.
            cluster.change([leaving], "move-leader", "%x" % staying[0]["ID"])
        cluster.change(staying, "member", "remove", "%x" % leaving["ID"])
    return True, "absent"


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "others": {"type": "list", "elements": "str", "default": []},
            "cacert": {"type": "path", "required": True},
            "cert": {"type": "path", "required": True},
            # The path of a key is no secret.
            "key": {"type": "path", "required": True, "no_log": False},
            "peer_cacert": {"type": "path"},
            "peer_cert": {"type": "path"},
            "bootstrapped": {"type": "dict", "default": {}},
            "again": {"type": "bool", "default": False},
            "marks": {"type": "path", "default": marks.FOLDER},
            "data_dir": {"type": "path"},
            "peer_url": {"type": "str"},
            "first": {"type": "dict", "default": {}},
            "replace": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 300},
            "file": {"type": "path", "default": "/run/avadm/etcd-bootstrap"},
        },
        required_if=[("state", "present", ["data_dir", "peer_url"])],
        supports_check_mode=True,
    )
    given = module.params

    def run(argv):
        return module.run_command(argv, environ_update={"ETCDCTL_API": "3"})

    cluster = Cluster(run, given["others"], {key: given[key] for key in ("cacert", "cert", "key")})
    try:
        if given["state"] == "absent":
            changed, state = remove(given["name"], cluster, module.check_mode)
        else:
            changed, state = Member(given, cluster, module.check_mode).ensure()
    except MemberError as error:
        module.fail_json(msg=str(error))
    running = run(["systemctl", "is-active", "--quiet", "etcd"])[0] == 0
    module.exit_json(changed=changed, state=state, running=running)


if __name__ == "__main__":
    main()
