"""The network plug-in's configuration as the role writes it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import yaml

HOME = Path(__file__).parents[3]


def test_the_plug_ins_configuration_is_json_as_ansible_hands_it_over(tmp_path):
    """Ansible turns text that looks like data into data, which would be written as python shows it."""
    task = next(
        t
        for t in yaml.safe_load((HOME / "roles/calico/tasks/run.yml").read_text())
        if t["name"] == "Configure the network of pods"
    )
    given = task["avadm_files"]["files"][0] | {"path": str(tmp_path / "conflist")}
    given["content"] = given["content"].replace(
        "'conflist.j2'", f"'{HOME}/roles/calico/templates/conflist.j2'"
    )
    variables = {"calico_etcd_servers": ["https://10.0.0.1:2379"], "calico_name": "w1", "calico_mtu": 1500}
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "vars": {**variables, "ansible_python_interpreter": sys.executable},
        "tasks": [{"name": "write", "avadm_files": {"files": [given]}}],
    }
    (tmp_path / "hosts").write_text("localhost ansible_connection=local\n")
    (tmp_path / "p.yml").write_text(yaml.safe_dump([play]))
    command = [
        Path(sys.executable).parent / "ansible-playbook",
        "-i",
        tmp_path / "hosts",
        tmp_path / "p.yml",
    ]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    plugins = json.loads((tmp_path / "conflist").read_text())["plugins"]
    assert [p["type"] for p in plugins] == ["calico", "portmap"]
    assert plugins[0]["policy"] == {"type": "k8s"}


def test_nothing_mounts_the_lock_of_iptables_before_it_is_a_file():
    unit = (HOME / "roles/calico/templates/calico-node.service.j2").read_text()
    made = re.search(r"^ExecStartPre=/bin/touch /run/xtables.lock$", unit, re.M)
    assert made is not None
    assert made.start() < unit.index("ExecStart=/usr/bin/docker run")
