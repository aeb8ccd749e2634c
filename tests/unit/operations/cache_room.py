"""Nodes whose masters of the cache are scripts: what a step sends to a node is run by a shell, below a folder of the node."""

import gzip
import json
import os
import subprocess

from avadm.operations import cache_masters as verb
from tests.unit.fakes.nodes import Nodes, answer, called
from tests.unit.fakes.running import stub

SITE = """\
# The demo.
version: 1
name: t
profile: lab-bookworm
network: {management: 10.9.0.0/24, domain: example.test}
nodes:
  - {name: stor1, address: 10.9.0.11, roles: [mon, mgr, osd, mds], devices: [{serial: A1}]}
  - {name: stor2, address: 10.9.0.12, roles: [mon, mgr, osd, mds], devices: [{serial: A2}]}
  - {name: stor3, address: 10.9.0.13, roles: [mon, osd], devices: [{serial: A3}]}
  - {name: comp1, address: 10.9.0.21, roles: [client, prometheus, alertmanager, alluxio_master, alluxio_worker, alluxio_client]}
  - {name: comp2, address: 10.9.0.22, roles: [client, prometheus, alertmanager, alluxio_worker]}  # Bought in 2024.
  - {name: comp3, address: 10.9.0.23, roles: [client, alluxio_client]}
components:
  alluxio:
    mounts: [{path: /sets, cephfs: /datasets}]
"""
MASTERS = ("comp1", "comp2", "comp3")
MOUNTS = "/mnt/cephfs/datasets on /sets (ceph, properties={})\ns3://own on /by-hand (s3, properties={key=SECRET})\n"
SYSTEMCTL = """
verb=$1; shift; now=; for word; do case $word in --now) now=1 ;; --*) ;; *) unit=${word%.service} ;; esac; done
state=$UNITS/$unit; touch "$state"
case $verb in
  stop) echo inactive > "$state" ;;
  disable) [ -z "$now" ] || echo inactive > "$state" ;;
  enable) [ -z "$now" ] || echo active > "$state" ;;
  is-active) grep -qx active "$state" ;;
  show)
    case "$*" in
      *ActiveState*) echo "ActiveState=$(cat "$state")" ;;
      *) echo "ActiveEnterTimestamp=$(cat "$UNITS/mounted" 2>/dev/null || echo Thu 2026-01-01 00:00:00 UTC)" ;;
    esac ;;
esac"""
ALLUXIO = """
lead=$(cat "$CLUSTER/leader" 2>/dev/null) || true
[ -n "$lead" ] && grep -qx active "$CLUSTER/$lead/units/avadm-alluxio-master" || { echo "no master answers" >&2; exit 1; }
journal=$CLUSTER/$lead/var/lib/alluxio/journal/log
case "$*" in
  "fs mount") cat "$journal" ;;
  "fsadmin backup "*)
    gzip -c "$journal" > "$CLUSTER/$lead$3/b.gz"
    [ -e "$CLUSTER/broken" ] || touch "$CLUSTER/$lead$3/b.gz.complete" ;;
  "fsadmin journal quorum info -domain MASTER") cat "$CLUSTER/quorum" ;;
esac"""


class Cache(Nodes):
    """The cache of the site above; `killed_after` commands of steps the command dies."""

    def __init__(self, root):
        super().__init__(root / "state")
        self.base = root / "nodes"
        self.users, self.acts, self.killed_after, self.scripts = {}, 0, None, []
        for name in MASTERS:
            home = self.base / name
            for folder in ("var/lib/alluxio", "var/lib/avadm/founded", "etc/alluxio", "units"):
                (home / folder).mkdir(parents=True)
            (home / "etc/alluxio/alluxio-site.properties").touch()
            stub(home / "bin/systemctl", SYSTEMCTL)
            stub(home / "bin/avadm-alluxio", ALLUXIO)
            stub(home / "bin/stat", 'case "$*" in *%T*) echo fuseblk ;; *) exec /usr/bin/stat "$@" ;; esac')
        self.serve("comp1", MOUNTS, "UFS")

    def home(self, node):
        return self.base / node

    def journal(self, node):
        path = self.home(node) / "var/lib/alluxio/journal/log"
        return path.read_text() if path.exists() else None

    def unit(self, node, name="avadm-alluxio-master"):
        path = self.home(node) / "units" / name
        return path.read_text().strip() if path.exists() else ""

    def serve(self, node, content, kind):
        """Have a master run with a journal."""
        folder = self.home(node) / "var/lib/alluxio/journal"
        folder.mkdir(exist_ok=True)
        (folder / "log").write_text(content)
        (self.home(node) / "var/lib/avadm/founded/alluxio-journal.json").write_text(json.dumps(kind))
        (self.home(node) / "units/avadm-alluxio-master").write_text("active\n")
        (self.base / "leader").write_text(node)

    def phase(self, site_file, tell=None):
        """Do as the phase `cache`: a master without a journal reads the backup; mounts that no one uses are mounted again."""
        names = [n.name for n in site_file.site.with_role(verb.ROLE)]
        for name in names:
            home = self.home(name)
            if self.journal(name) is None:
                assert not (home / "var/lib/avadm/founded/alluxio-journal.json").exists(), (
                    "lost, and not formatted"
                )
                assert "init.from.backup" in (home / verb.DROP_IN[1:]).read_text()
                content = gzip.decompress((home / verb.BACKUP[1:]).read_bytes()).decode()
                self.serve(name, content, "EMBEDDED" if len(names) > 1 else "UFS")
            (home / "units/avadm-alluxio-master").write_text("active\n")
        rows = "".join(f"AVAILABLE   | 0 | {name}:19200\n" for name in names)
        for name in set(MASTERS) - self.users.keys():
            (self.home(name) / "units/mounted").write_text("Fri 2100-01-01 00:00:00 UTC\n")
        (self.base / "quorum").write_text(f"Quorum leader : {names[0]}:19200\n{rows}")

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.silent:
            return answer(node, command, rc=255, error="no route")
        if stdin is not None and called(stdin) == "mounts.mount_uses.uses":
            return answer(node, command, json.dumps({"kind": "fuse", "users": self.users.get(node, [])}))
        if stdin is not None or command.startswith("cat /var/lib/avadm"):
            return super().run(node, command, timeout=timeout, stdin=stdin)
        if command == "true":
            return answer(node, command)
        self.count()
        return self.shell(node, command)

    def count(self):
        self.acts += 1
        if self.killed_after is not None and self.acts > self.killed_after:
            raise KeyboardInterrupt

    def shell(self, node, command):
        self.scripts.append((node, command))
        home, text = self.home(node), command
        text = text.replace("/usr/local/sbin/avadm-alluxio", "avadm-alluxio")
        for path in ("/var/lib/", "/etc/systemd", "/etc/alluxio"):
            text = text.replace(path, f"{home}{path}")
        # What it names as a place on every node stays one; the stub puts the node's own folder before it.
        text = text.replace(f"fsadmin backup {home}", "fsadmin backup ")
        env = {
            **os.environ,
            "PATH": f"{home}/bin:{os.environ['PATH']}",
            "UNITS": str(home / "units"),
            "CLUSTER": str(self.base),
        }
        done = subprocess.run(["bash", "-c", text], env=env, capture_output=True, text=True, check=False)
        return answer(node, command, done.stdout, done.returncode, done.stderr)

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {node: self.run(node, line, timeout=timeout, stdin=stdin) for node, line in commands.items()}

    def put(self, node, content, path, *, mode=0o644):
        if not path.startswith("/var/lib/alluxio"):
            return super().put(node, content, path, mode=mode)
        self.count()
        target = self.home(node) / path[1:]
        target.write_bytes(content)
        target.chmod(mode)
        return answer(node, "put")
