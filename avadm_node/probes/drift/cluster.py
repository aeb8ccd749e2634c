"""The cluster: pools, keys, CRUSH tree and so on as values."""

from __future__ import absolute_import

import json
import os
import subprocess

from ...agents import backfill

CEPH = {
    "pools": {"prefix": "osd dump"},
    "rules": {"prefix": "osd crush rule dump"},
    "auth": {"prefix": "auth ls"},
    "fs": {"prefix": "fs dump"},
    "mgr": {"prefix": "mgr module ls"},
    "tree": {"prefix": "osd tree"},
    "config": {"prefix": "config dump"},
    "status": {"prefix": "status"},
}

NEEDED = frozenset(["MDS_ALL_DOWN", "OSD_FULL", "PG_AVAILABILITY"])
"""Health checks that stop every phase, and flags with which OSDs serve nothing (plugins/modules/avadm_ceph_wait.py)."""
PAUSED = frozenset(["pauserd", "pausewr", "full", "noup", "noin"])

NEEDS = {"pool": ("pools", "rules"), "rule": ("rules",), "entity": ("auth",), "fs": ("fs", "pools")}

NEEDS.update({"mgr": ("mgr",), "crush": ("tree",), "config": ("config",), "health": ("status",)})


def call(*argv):
    """Return a program's output; IOError where it is not there or fails."""
    environment = dict(os.environ, LC_ALL="C")
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    out, err = [part.decode("utf-8", "replace") for part in process.communicate()]
    if process.returncode != 0:
        raise IOError((err.strip().splitlines() or ["exit %d" % process.returncode])[-1])
    return out


def answers(names):
    """Return what the cluster says to the commands of these names: the library's one connection, or the command."""
    found = {}
    try:
        import rados
    except ImportError:
        for name in names:
            words = CEPH[name]["prefix"].split()
            found[name] = json.loads(call("timeout", "30", "ceph", "--format", "json", *words))
        return found
    options = {"client_mount_timeout": "10", "rados_mon_op_timeout": "20"}
    cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", name="client.admin", conf=options)
    cluster.connect()
    try:
        for name in names:
            code, out, text = cluster.mon_command(json.dumps(dict(CEPH[name], format="json")), b"")
            if code != 0:
                raise IOError("%s: %s" % (CEPH[name]["prefix"], text))
            found[name] = json.loads(out.decode("utf-8"))
    finally:
        cluster.shutdown()
    return found


class Cluster(object):
    """The cluster; each method named as a kind returns the value of one item of that kind."""

    def __init__(self, dump, secret):
        self.dump, self.secret = dump, secret

    def pool(self, name):
        rules = dict((r["rule_id"], r["rule_name"]) for r in self.dump["rules"])
        for p in self.dump["pools"]["pools"]:
            if p["pool_name"] == name:
                return "size %d, min_size %d, pg_num %d, autoscale %s, rule %s, for %s" % (
                    p["size"],
                    p["min_size"],
                    p.get("pg_num_target", p["pg_num"]),
                    p.get("pg_autoscale_mode", "off"),
                    rules.get(p["crush_rule"]),
                    "+".join(sorted(p.get("application_metadata", {}))),
                )
        return "!absent"

    def rule(self, name):
        found = [r for r in self.dump["rules"] if r["rule_name"] == name]
        return "steps " + self.digest(found[0]["steps"]) if found else "!absent"

    def entity(self, name):
        for one in self.dump["auth"]["auth_dump"]:
            if one["entity"] == name:
                caps = ", ".join("%s '%s'" % pair for pair in sorted(one.get("caps", {}).items()))
                return "key %s, caps %s" % (self.secret(one["key"].encode()), caps)
        return "!absent"

    def fs(self, name):
        names = dict((p["pool"], p["pool_name"]) for p in self.dump["pools"]["pools"])
        for one in self.dump["fs"]["filesystems"]:
            m = one["mdsmap"]
            if m["fs_name"] == name:
                return "metadata %s, data %s, max_mds %s, standbys %s" % (
                    names.get(m["metadata_pool"]),
                    "+".join(str(names.get(number)) for number in m["data_pools"]),
                    m.get("max_mds"),
                    m.get("standby_count_wanted"),
                )
        return "!absent"

    def mgr(self, _):
        return " ".join(sorted(self.dump["mgr"]["enabled_modules"]))

    def crush(self, _):
        keep = ("id", "name", "type", "crush_weight", "children", "reweight", "device_class")
        nodes = [dict((k, n[k]) for k in keep if k in n) for n in self.dump["tree"]["nodes"]]
        for n in nodes:
            n["children"] = sorted(n.get("children", []))
        nodes.sort(key=lambda n: n["id"])
        osds = sum(n["type"] == "osd" for n in nodes)
        return "%d OSDs, %s" % (osds, self.digest([nodes, len(self.dump["tree"].get("stray", []))]))

    def config(self, _):
        rows = sorted((c["section"], c.get("mask", ""), c["name"], c["value"]) for c in self.dump["config"])
        # Those that change with the hour are no drift.
        rows = [row for row in rows if row[:2] != ("osd", "") or row[2] not in backfill.OPTIONS]
        return "%d options, %s" % (len(rows), self.digest(rows))

    def health(self, rest):
        """Wrong where the cluster lacks what phases need, as avadm_ceph_wait judges; other warnings are named only."""
        osds, _, tolerate = rest.partition(" ")
        status = self.dump["status"]
        osdmap = status["osdmap"].get("osdmap", status["osdmap"])
        wrong, warnings = [], []
        for code, check in sorted(status["health"].get("checks", {}).items()):
            text = check["summary"]["message"]
            flags = set(text.partition(" flag")[0].split(",")) if code == "OSDMAP_FLAGS" else set()
            held_off = flags and flags <= set(["noscrub", "nodeep-scrub"])
            moving = code == "OBJECT_MISPLACED"  # 13.2 warns of that
            if moving or code in tolerate.split(",") or check.get("muted") or held_off:
                continue
            needed = code in NEEDED or flags & PAUSED
            (wrong if needed else warnings).append("%s (%s)" % (code, text))
        warnings += ["%s is muted" % mute["code"] for mute in status["health"].get("mutes", [])]
        up = min(osdmap["num_up_osds"], osdmap["num_in_osds"])
        if up < int(osds):
            wrong.append("%d of %s OSDs are up and in" % (up, osds))
        if not status["mgrmap"].get("available"):
            wrong.append("no manager is active")
        for group in status["pgmap"].get("pgs_by_state", []):
            if "active" not in group["state_name"]:
                wrong.append("%d placement groups are %s" % (group["count"], group["state_name"]))
        if wrong:
            return "!" + "; ".join(wrong)
        return "healthy" + (" but for " + "; ".join(warnings) if warnings else "")

    def digest(self, data):
        return self.secret(json.dumps(data, sort_keys=True).encode())


class ObjectStore(object):
    """Users and buckets of ceph's gateways, as radosgw-admin tells them."""

    def s3(self, *words):
        return json.loads(call("timeout", "60", "radosgw-admin", *words))

    def s3user(self, name):
        data = self.s3("metadata", "get", "user:" + name)["data"]
        keys = sorted("%s %s" % (key["access_key"], key["secret_key"]) for key in data["keys"])
        quota = data["user_quota"]
        limits = "enabled %s, %s bytes, %s objects" % (
            quota["enabled"],
            quota["max_size"],
            quota["max_objects"],
        )
        return "keys %s, quota %s" % (self.secret("; ".join(keys).encode()), limits)

    def s3bucket(self, name):
        data = self.s3("metadata", "get", "bucket:" + name)["data"]
        instance = "bucket.instance:%s:%s" % (name, data["bucket"]["bucket_id"])
        found = self.s3("metadata", "get", instance)["data"]
        flags = found["bucket_info"]["flags"]
        # BUCKET_VERSIONED and BUCKET_VERSIONS_SUSPENDED of rgw_common.h.
        versions = "kept" if flags & 2 and not flags & 4 else "not kept"
        policies = sorted(one["val"] for one in found.get("attrs", []) if one["key"] == "user.rgw.iam-policy")
        policy = self.secret(policies[0].encode()) if policies else "none"
        return "owner %s, versions %s, policy %s" % (data["owner"], versions, policy)
