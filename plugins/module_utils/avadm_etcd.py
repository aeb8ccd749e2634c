# Runs on nodes: python 2.7 and 3.
"""The members of an etcd cluster: who they are, who is healthy, and which change never costs the quorum."""

from __future__ import absolute_import, division, print_function

import json
import time

SETTLE_S = 30
"""Longest wait until etcd calls itself healthy enough for a change, seconds."""


class MemberError(Exception):
    """The change must not be made, or could not be; the text is for people."""


class Cluster(object):
    """A cluster as the members at some URLs tell of it.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        urls: client URLs of the members that are asked.
        files: C(cacert), C(cert) and C(key) to their paths.
        sleep: callable(seconds).
    """

    def __init__(self, run, urls, files, sleep=time.sleep):
        self.run = run
        self.sleep = sleep
        self.urls = urls
        self.files = files

    def ctl(self, url, *words):
        """Return rc, output and error of etcdctl at one member."""
        argv = ["etcdctl", "--endpoints", url, "--dial-timeout=3s", "--command-timeout=5s"]
        argv += ["--%s=%s" % (option, path) for option, path in sorted(self.files.items())]
        return self.run(argv + list(words))

    def members(self):
        """Return all members as the first that answers knows them; None where none answers."""
        for url in self.urls:
            rc, out, _err = self.ctl(url, "member", "list", "--write-out=json")
            if rc == 0:
                return json.loads(out).get("members", [])
        return None

    def id(self):
        """Return the cluster's id as the first that answers knows it; None where none answers."""
        for url in self.urls:
            rc, out, _err = self.ctl(url, "member", "list", "--write-out=json")
            if rc == 0:
                return "%x" % json.loads(out)["header"]["cluster_id"]
        return None

    def healthy(self, members):
        """Return those of the members that answer and have a leader."""
        return [
            m
            for m in members
            if any(self.ctl(url, "endpoint", "health")[0] == 0 for url in m.get("clientURLs", []))
        ]

    def leader(self, members):
        """Return the ID of the leader; None where no one tells."""
        for url in (url for m in members for url in m.get("clientURLs", [])):
            rc, out, _err = self.ctl(url, "endpoint", "status", "--write-out=json")
            if rc == 0:
                return json.loads(out)[0]["Status"].get("leader")
        return None

    def change(self, members, *words):
        """Run one change of the cluster at the first of these members that does it.

        Raises:
            MemberError: none did.
        """
        text = "none can be asked"
        for _ in range(SETTLE_S // 2):
            for url in (url for m in members for url in m.get("clientURLs", [])):
                rc, out, err = self.ctl(url, *words)
                if rc == 0:
                    return
                text = (err or out).strip()
            # etcd changes its members only where each has been connected for 5 s: not yet, right after another one came.
            if "unhealthy cluster" not in text:
                break
            self.sleep(2)
        raise MemberError("`etcdctl %s` failed: %s" % (" ".join(words), text))


def quorum(count):
    """Return how many of so many members must agree."""
    return count // 2 + 1


def voters(members):
    """Return the members that count for the quorum."""
    return [m for m in members if not m.get("isLearner")]


def called(member):
    """Return how people know a member."""
    return member.get("name") or ",".join(member.get("peerURLs", []))


def sick(members, healthy):
    """Return the names of the members that are not healthy."""
    return ", ".join(called(m) for m in members if m not in healthy)


def may_join(members, healthy):
    """Refuse a new member where the cluster is not whole: it would hide a loss instead of fixing it.

    Raises:
        MemberError: a member is not healthy, or another one is just joining.
    """
    wrong = sick(members, healthy)
    if wrong:
        raise MemberError(
            "No member is added to etcd while another is not healthy: %s (%d of %d are healthy)."
            " Remedy: fix that one first; see `journalctl -u etcd` there. One that has lost its data:"
            " playbooks/etcd-replace.yml." % (wrong, len(healthy), len(members))
        )
    joining = [called(m) for m in members if m.get("isLearner")]
    if joining:
        raise MemberError(
            "Another member is just joining etcd: %s. Remedy: apply the phase etcd there first, or remove it with"
            " playbooks/etcd-remove.yml." % ", ".join(joining)
        )


def may_leave(leaving, members, healthy):
    """Refuse to remove a member where the others could not continue without it.

    Raises:
        MemberError: fewer of the others are healthy than must agree, on the removal and after it.
    """
    staying = [m for m in voters(members) if m["ID"] != leaving["ID"]]
    well = [m for m in staying if m in healthy]
    needed = len(staying) if leaving in healthy else quorum(len(voters(members)))
    if not staying or len(well) < needed:
        raise MemberError(
            "%s is not removed from etcd: the others could not continue without it. Healthy among them: %d of %d,"
            " at least %d are needed%s. Remedy: fix the others first; see `journalctl -u etcd` there. If most are"
            " lost for good, restore a snapshot (docs/how-to/back-up-and-restore.md)."
            % (called(leaving), len(well), len(staying), max(needed, 1), _names(staying, well))
        )


def _names(staying, well):
    wrong = sick(staying, well)
    return " (not healthy: %s)" % wrong if wrong else ""
