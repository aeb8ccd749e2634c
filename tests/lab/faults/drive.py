"""Driving avadm and the nodes from fault tests."""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML

from avadm import paths

AVADM = Path(sys.executable).parent / "avadm"
SERVICES = "ceph-|prometheus|chrony|avadm-cephfs"

# What an installation made and the next one has to make again: a package, files, units, mounts, stopped daemons.
UNMADE = {
    "mon": "rm -f /etc/sysctl.d/90-avadm.conf; systemctl stop ceph-mgr@$(hostname) prometheus-node-exporter",
    "client": "systemctl stop avadm-cephfs prometheus-node-exporter; rm -f /etc/systemd/system/avadm-cephfs.service "
    "/etc/ceph/ceph.client.*.keyring /etc/sysctl.d/90-avadm.conf; systemctl daemon-reload",
    "alertmanager": "systemctl stop prometheus-alertmanager; rm -f /etc/prometheus/alertmanager.yml",
}
# On the first client alone: packages take most of the time.
PURGED = "apt-get -q -y -o DPkg::Lock::Timeout=120 purge prometheus-node-exporter"


def avadm(*argv, timeout=900, **env):
    """Run avadm; return the CompletedProcess."""
    return subprocess.run(
        [AVADM, *argv],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **env},
    )


def start(*argv):
    """Start avadm in the background, its output in one pipe."""
    return subprocess.Popen([AVADM, *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def everywhere(lab, role, script):
    """Run a script on all nodes of a role at once; a failure fails the test."""
    names = lab.names(role)
    with ThreadPoolExecutor(len(names)) as pool:
        return dict(zip(names, pool.map(lambda n: lab.sh(n, script, timeout=300), names), strict=True))


def unmake(lab):
    """Take some of what is installed away on every node, so that an installation has work in every phase."""
    for role, script in UNMADE.items():
        everywhere(lab, role, f"{{ {script}; }} >/dev/null 2>&1; true")
    lab.sh(
        lab.names("client")[0], f"DEBIAN_FRONTEND=noninteractive {PURGED} >/dev/null 2>&1; true", timeout=300
    )


def latest():
    """Return the folder of the last run."""
    return (paths.runs() / "latest").resolve()


def in_mid_run(before, phase, running, limit=240):
    """Wait until a run that began after ``before`` is at work in a phase; return its folder."""
    until = time.monotonic() + limit
    while True:
        folder = latest()
        events = folder / "events.jsonl"
        if folder != before and events.exists():
            begun = [e for e in map(_event, events.read_text().splitlines()) if e.get("phase") == phase]
            if sum(e.get("kind") == "task_start" for e in begun) >= 2:
                return folder
        assert running.poll() is None, running.communicate()[0]
        assert time.monotonic() < until, f"{phase} did not begin"
        time.sleep(0.2)


def _event(line):
    try:
        return json.loads(line)
    except ValueError:  # being written
        return {}


def healthy(lab, limit=400):
    """Wait until ceph says HEALTH_OK; return the seconds that took."""
    begun, mon = time.monotonic(), lab.names("mon")[0]
    while lab.run(mon, "timeout 20 ceph health").stdout.strip() != "HEALTH_OK":
        assert time.monotonic() - begun < limit, lab.run(mon, "ceph health detail; ceph -s").stdout
        time.sleep(1)
    return time.monotonic() - begun


def silent(lab, node):
    """Return whether a node does not answer; a busy machine may take longer than one asks for."""
    try:
        return lab.run(node, "true", timeout=60).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def reachable(lab, node, limit=180):
    """Wait until a node takes commands again."""
    until = time.monotonic() + limit
    while True:
        try:
            if lab.run(node, "true", timeout=10).returncode == 0:
                return
        except subprocess.TimeoutExpired:
            pass
        assert time.monotonic() < until, f"{node} does not come back"
        time.sleep(1)


def switch_on(lab):
    """Give power to nodes that do not answer, and wait for them."""
    for node in (n["name"] for n in lab.nodes):
        if silent(lab, node):
            avadm("lab", "power", node, "on")
            reachable(lab, node)


def fixed(lab):
    """Apply until it is whole: exit 0, HEALTH_OK, and one more run changes nothing on any host; return words for it."""
    done = avadm("apply")
    assert done.returncode == 0, done.stdout + done.stderr
    healthy(lab)
    assert unchanged(lab)
    return "the next apply fixed it (exit 0, HEALTH_OK), the one after changed nothing"


def unchanged(lab):
    """Assert that an apply that does everything again changes nothing on any host."""
    done = avadm("apply", "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((latest() / "summary.json").read_text())
    assert set(summary["hosts"]) == {n["name"] for n in lab.nodes}
    changed = {name: h["changed"] for name, h in summary["hosts"].items()}
    assert changed == dict.fromkeys(changed, 0), summary["changes"]
    return True


def edit_site(lab, change):
    """Change the site file's data with a function, comments kept; return its former text."""
    before, yaml, out = lab.site_path.read_text(), YAML(), StringIO()
    data = yaml.load(before)
    change(data)
    yaml.dump(data, out)
    lab.site_path.write_text(out.getvalue())
    return before


def clean_end(text):
    """Return the last lines of what was printed (the failure summary), as one; no one may ever see a traceback."""
    assert "Traceback" not in text, text
    return " ".join(re.sub(r"[^\x20-\x7e]+", " ", " ".join(text.strip().splitlines()[-30:])).split())


def services(lab, node):
    """Return the services of ours that run on a node, and its mounts of cephfs."""
    units = lab.sh(node, "systemctl list-units --state=active --type=service,mount --plain --no-legend")
    return {u.split()[0] for u in units.splitlines() if re.search(f"{SERVICES}|cephfs.mount", u)}
