"""The network plug-in's configuration as the role writes it."""

import json
import re

from tests.unit.fakes.roles import ROLES, service
from tests.unit.fakes.running import play


def test_the_plug_ins_configuration_is_json_as_ansible_hands_it_over(tmp_path):
    """Ansible turns text that looks like data into data, which would be written as python shows it."""
    given = service("calico")["files"][0]
    assert given["path"] == "/etc/cni/net.d/10-calico.conflist"
    source = ROLES / "calico/templates" / given["template"]
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / given["template"]).write_text(source.read_text())
    given = given | {"path": str(tmp_path / "conflist")}
    have = {"calico_etcd_servers": ["https://10.0.0.1:2379"], "calico_name": "w1", "calico_mtu": 1500}
    done = play(tmp_path, {"name": "write", "avadm_service": {"files": [given]}}, **have)
    assert done.returncode == 0, done.stdout
    plugins = json.loads((tmp_path / "conflist").read_text())["plugins"]
    assert [p["type"] for p in plugins] == ["calico", "portmap"]
    assert plugins[0]["policy"] == {"type": "k8s"}


def test_nothing_mounts_the_lock_of_iptables_before_it_is_a_file():
    unit = (ROLES / "calico/templates/calico-node.service.j2").read_text()
    made = re.search(r"^ExecStartPre=/bin/touch /run/xtables.lock$", unit, re.M)
    assert made is not None
    assert made.start() < unit.index("ExecStart=/usr/bin/docker run")
