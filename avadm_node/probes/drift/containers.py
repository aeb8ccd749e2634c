"""Etcd, Kubernetes, Calico, images and PostgreSQL as values."""

from __future__ import absolute_import

import json

from .cluster import call


class Containers(object):
    """What a node can say of them; each method named as a kind returns the value of one item of that kind."""

    def pushed(self, rest):
        certificates, name = rest.split(" ", 1)
        raw = call("skopeo", "inspect", "--raw", "--cert-dir", certificates, "docker://" + name)
        return str(json.loads(raw)["config"]["digest"])

    def image(self, name):
        return call("docker", "image", "inspect", "--format", "{{.Id}}", name).strip()

    def objects(self, path):
        """The objects of a manifest as the cluster has them, without what it changes itself."""
        out = call(
            "kubectl",
            "--kubeconfig",
            "/root/.kube/config",
            "--request-timeout=20s",
            "get",
            "-o",
            "json",
            "-f",
            path,
        )
        found = json.loads(out)
        kept = []
        for one in found.get("items", [found]):
            meta = one["metadata"]
            keep = dict((k, meta[k]) for k in ("name", "namespace", "labels", "uid") if k in meta)
            kept.append(
                [one["kind"], keep, dict((k, v) for k, v in one.items() if k not in ("metadata", "status"))]
            )
        return "%d objects, %s" % (len(kept), self.secret(json.dumps(kept, sort_keys=True).encode()))

    def labels(self, rest):
        """Those labels and taints of a node that avadm_kube_labels has noted as its own."""
        path, name = rest.rsplit(" ", 1)
        ask = ("--kubeconfig=" + path, "--request-timeout=20s", "get", "node", name, "-o", "json")
        node = json.loads(call("kubectl", *ask))
        meta, found = node["metadata"], node["spec"].get("taints", [])
        kept = json.loads(meta.get("annotations", {}).get("avadm.io/kept", "{}"))
        labels = dict((k, meta.get("labels", {}).get(k)) for k in kept.get("labels", []))
        taints = dict(("%(key)s:%(effect)s" % t, t.get("value")) for t in found)
        taints = dict((k, v) for k, v in taints.items() if k in kept.get("taints", []))
        return json.dumps([labels, taints], sort_keys=True)

    def routes(self, _):
        """Who tells whom the routes of pods, as Calico has it."""
        found = []
        for kind in ("bgpconfiguration", "bgppeer"):
            listed = json.loads(call("/usr/local/sbin/avadm-calicoctl", "get", kind, "-o", "json"))["items"]
            found += [
                "%s %s" % (o["metadata"]["name"], json.dumps(o["spec"], sort_keys=True)) for o in listed
            ]
        return "; ".join(found) or "each node tells each"

    def ippool(self, name):
        ask = ("/usr/local/sbin/avadm-calicoctl", "get", "ippool", name, "-o", "json")
        return json.dumps(json.loads(call(*ask))["spec"], sort_keys=True)

    def postgresql(self, port):
        """Users and databases, as avadm_postgresql sees them: a standby has its primary's."""
        query = (
            "SELECT 'user', rolname, rolcanlogin::text, coalesce(rolpassword, '') FROM pg_authid UNION ALL"
            " SELECT 'database', datname, pg_get_userbyid(datdba), has_database_privilege('public', datname, 'CONNECT')::text"
            " FROM pg_database ORDER BY 1, 2"
        )
        argv = ("runuser", "-u", "postgres", "--", "psql", "--no-psqlrc", "--no-align", "--tuples-only")
        return self.secret(
            call(*argv + ("--port=" + port, "--dbname=postgres", "--command=" + query)).encode()
        )

    def patroni(self, url):
        """The settings of the cluster, as avadm_patroni sees them."""
        ask = ("curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "10")
        answer = call(*ask + ("--cacert", "/etc/patroni/ca.crt", url + "/config"))
        return json.dumps(json.loads(answer), sort_keys=True)

    def access(self, _):
        """Who may do what in etcd, as avadm_etcd_access sees it."""
        program, found = "/usr/local/sbin/avadm-etcd", []
        try:
            call(program, "ctl", "--user", "avadm-nobody:-", "get", "avadm")
            return "!authentication is off"
        except IOError as error:
            if "authentication is not enabled" in str(error):
                return "!authentication is off"
            if "authentication failed" not in str(error):
                raise
        for kind in ("user", "role"):
            for name in sorted(call(program, "ctl", kind, "list").split()):
                found.append("%s %s" % (kind, " ".join(call(program, "ctl", kind, "get", name).split())))
        return "; ".join(found)
