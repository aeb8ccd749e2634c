"""The hand-over to a site's own Prometheus, by the real ansible-playbook on this machine (connection local)."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from avadm import paths
from avadm.inventory.render import render_inventory
from avadm.remote.ansible import PlaybookRun, ansible_playbook, environment
from avadm.site.load import load

# No member answers at these addresses, and the login there is no concern of this machine's.
SITE = """
version: 1
name: t
profile: lab-bookworm
network: {management: 192.0.2.0/24, domain: example.test, filter: {enabled: false}}
components: {monitoring: {existing: ["http://prometheus.example.test:9090"]}}
ssh: {user: nobody}
extra_vars: {prometheus_handover_dir: %s, ansible_become_exe: /nonexistent, ansible_become_user: nobody}
nodes:
  - {name: stor1, address: 192.0.2.11, roles: [mon, mgr, osd, mds], devices: [{serial: A1}]}
  - {name: stor2, address: 192.0.2.12, roles: [mon, osd], devices: [{serial: A2}]}
  - {name: stor3, address: 192.0.2.13, roles: [mon, osd], devices: [{serial: A3}]}
"""


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["stor2", "stor1,stor3"])
def test_the_folder_is_written_whatever_nodes_the_run_is_limited_to(tmp_path: Path, limit: str) -> None:
    (tmp_path / "site.yml").write_text(SITE % (tmp_path / "handover"))
    rendered = render_inventory(load(tmp_path / "site.yml"), tmp_path / "inventory")
    # The last play alone: those before it would install on this machine.
    plays = yaml.safe_load((paths.home() / "playbooks/monitoring.yml").read_text())
    (tmp_path / "last.yml").write_text(yaml.safe_dump(plays[-1:]))
    wanted = PlaybookRun("monitoring", tmp_path / "last.yml", rendered.folder, (limit,))
    done = subprocess.run(
        [ansible_playbook(), *rendered.ansible_args(), "--limit", limit, tmp_path / "last.yml"],
        env={**os.environ, **environment(wanted, ansible_playbook()), "ANSIBLE_DISPLAY_OK_HOSTS": "yes"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written = {p.relative_to(tmp_path / "handover").as_posix() for p in tmp_path.glob("handover/**/*.*")}
    assert {"scrape_configs.yml", "HANDOVER.md", "rules/ceph.yml", "targets/node.json"} <= written
    assert any(name.startswith("dashboards/") for name in written)
