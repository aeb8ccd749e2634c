"""The inventory: what Ansible reads from it, what is merged, what must not be in it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from avadm.components.base.variables import late_packages
from avadm.errors import AvadmError
from avadm.inventory.render import render_inventory
from avadm.inventory.variables import merge
from avadm.site.load import load
from avadm.site.vault import PASSWORD_ENV, Vault
from tests.unit.cost import calls
from tests.unit.fakes import sites

EXAMPLES = Path(__file__).parents[4] / "inventory"


@pytest.fixture
def site_file(tmp_path, monkeypatch):
    """Return a function: load a copy of an example, so that its vault is made elsewhere."""
    monkeypatch.delenv(PASSWORD_ENV, raising=False)

    def copy(name, **changes):
        data = yaml.safe_load((EXAMPLES / f"{name}.yml").read_text()) | changes
        path = tmp_path / f"{name}.yml"
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return load(path)

    return copy


@pytest.fixture
def lab(site_file):
    """Settings of the nodes of the lab's example."""
    return sites.rendered(site_file("lab"))


def nodes():
    return yaml.safe_load((EXAMPLES / "lab.yml").read_text())["nodes"]


def content(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", ["lab", "small"])
def test_examples_render(name, site_file, tmp_path):
    loaded = site_file(name)
    rendered = render_inventory(loaded, tmp_path / "inventory")
    first = content(tmp_path / "inventory")
    assert len(first) == len(loaded.site.nodes) + 2
    assert set(rendered.groups) >= {"mon", "mgr", "osd", "mds", "client", "prometheus", "alertmanager"}
    render_inventory(loaded, tmp_path / "inventory")
    assert content(tmp_path / "inventory") == first, "the second time nothing changes"


def test_256_nodes_cost_few_calls_each(tmp_path):
    shutil.copy(EXAMPLES / "dgx-256.yml", tmp_path)
    # 2.3 million, seconds of a core; each node looking at all others for each of its ports made them 5.1 million.
    assert calls(lambda: render_inventory(load(tmp_path / "dgx-256.yml"), tmp_path / "inventory")) < 3_500_000
    sizes = [p.stat().st_size for p in (tmp_path / "inventory/host_vars").iterdir()]
    assert len(sizes) == len(load(tmp_path / "dgx-256.yml").site.nodes)
    # A master has a dozen certificates, 20 KiB; what all nodes share would be hundreds of KiB.
    assert max(sizes) < 24_576, "a node's file holds only what is its own"


def test_ansible_reads_it(site_file, tmp_path):
    rendered = render_inventory(site_file("lab"), tmp_path / "inventory")
    command = [str(Path(sys.executable).parent / "ansible-inventory"), "-i", str(rendered.folder), "--list"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=EXAMPLES.parent)
    assert "WARNING" not in run.stderr
    listed = json.loads(run.stdout)
    assert listed["mon"]["hosts"] == ["storage1", "storage2", "storage3"]
    assert listed["rack_rack2"]["hosts"] == ["storage2", "compute2"]
    own = listed["_meta"]["hostvars"]["storage1"]
    assert own["ansible_host"] == "10.77.0.11"
    assert own["ansible_ssh_private_key_file"] == str(tmp_path / "id_ed25519")
    assert "StrictHostKeyChecking=yes" in own["ansible_ssh_common_args"]
    assert f"UserKnownHostsFile={tmp_path / 'known_hosts'}" in own["ansible_ssh_common_args"]


def test_connection_as_another_user(site_file, lab):
    assert sites.rendered(site_file("small")).all["ansible_become"] is True
    assert lab.all["ansible_become"] is False


def test_time_without_servers_comes_from_the_monitors(site_file, lab):
    assert lab.all["chrony_servers"] == ["10.77.0.11", "10.77.0.12", "10.77.0.13"]
    serve = [{**lab.all, **lab.hosts[n]}["chrony_serve"] for n in ("storage1", "compute1")]
    assert serve == [True, False]
    assert lab.all["chrony_allow"] == "10.77.0.0/24"
    small = sites.rendered(site_file("small"))
    assert small.all["chrony_servers"][0] == "ntp1.example.com"
    assert "chrony_serve" not in small.hosts["storage1"]


def test_the_nodes_for_etc_hosts_are_one_text_for_all(lab):
    lines = lab.all["base_hosts"].splitlines()
    assert len(lines) == 6
    assert lines[3] == "10.77.0.21 compute1.lab.internal compute1"
    assert not [name for name, own in lab.hosts.items() if "base_hosts" in own]


def test_packages_of_all_roles_of_a_node(lab):
    storage, compute = (set(lab.hosts[n]["base_packages"]) for n in ("storage1", "compute1"))
    assert {"ceph-mon", "ceph-osd", "chrony", "prometheus-node-exporter"} <= storage
    assert "ceph-osd" not in compute
    assert "prometheus-blackbox-exporter" in compute


def test_users_variables_come_last(site_file):
    own = nodes()
    own[0]["vars"] = {"chrony_allow": "10.0.0.0/8", "tree": {"b": 3}}
    extra = {"site_domain": "other", "base_packages": ["only-this"], "tree": {"a": 1, "b": 2}}
    out = sites.rendered(site_file("lab", nodes=own, extra_vars=extra))
    assert out.all["site_domain"] == "other"
    assert out.hosts["storage2"]["base_packages"] == ["only-this"], "over what each node's file would say"
    assert out.hosts["storage1"]["chrony_allow"] == "10.0.0.0/8"
    assert out.hosts["storage1"]["tree"] == {"a": 1, "b": 3}


def test_merge():
    assert merge({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}}) == {"a": {"b": 1, "c": 3}}
    assert merge([1], [2]) == [2]
    assert merge({"a": 1}, None) is None


def test_secrets_are_in_the_vault_only(site_file, tmp_path):
    loaded = site_file("small")
    rendered = render_inventory(loaded, tmp_path / "inventory")
    secrets = Vault.open(loaded.path).values()
    assert secrets
    text = "\n".join(content(rendered.folder).values())
    assert not [s for s in secrets if s in text]
    vault, password = f"@{tmp_path}/small.vault.yml", f"{tmp_path}/small.vault-pass"
    assert rendered.ansible_args()[-3:] == [vault, "--vault-password-file", password]


def test_nodes_that_left_leave_no_file(site_file, tmp_path):
    render_inventory(site_file("lab"), tmp_path / "inventory")
    render_inventory(site_file("lab", nodes=nodes()[:-1]), tmp_path / "inventory")
    assert not (tmp_path / "inventory/host_vars/compute3.yml").exists()


def test_foreign_inventory_is_left_alone(site_file, tmp_path):
    folder = tmp_path / "inventory"
    folder.mkdir()
    (folder / "hosts.yml").write_text("all: {}\n")
    with pytest.raises(AvadmError) as raised:
        render_inventory(site_file("lab"), folder)
    assert raised.value.findings[0].check == "inventory-foreign"
    assert (folder / "hosts.yml").read_text() == "all: {}\n"


def test_packages_of_parts_that_the_site_chose_come_with_the_others(site_file):
    given = nodes()
    for node in given:
        node["roles"] += ["alluxio_master", "alluxio_worker"] if node["name"] == "compute1" else []
        node["roles"] += ["rgw"] if node["name"] == "storage1" else []
    chosen = {
        "alluxio": {"mounts": [{"path": "/cephfs", "cephfs": "/cache"}]},
        "object_store": {"users": [], "buckets": []},
        "logs": {"stores": ["compute1"]},
    }
    with_them = site_file("lab", nodes=given, components=chosen)
    out = sites.rendered(with_them)
    own = set(out.hosts["compute1"]["base_packages"])
    assert {"openjdk-17-jre-headless", "libfuse2", "python3-boto3"} <= own
    assert not {"openjdk-17-jre-headless", "python3-boto3"} & set(out.hosts["storage1"]["base_packages"])
    # The shipper's package would start a daemon of its own: preflight asks for it, its role installs it.
    assert "syslog-ng-core" not in own
    late = late_packages(with_them.site, with_them.site.nodes[0], with_them.profile)
    assert "syslog-ng-core" in late
