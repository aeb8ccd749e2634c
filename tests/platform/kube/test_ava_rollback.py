"""AVA's former manifests, kept and applied again over those of a later version, at a real API server."""

import os

import pytest

from avadm_node.probes.ava import manifests, processes
from avadm_node.probes.health import kubectl as probe
from bench.control_plane import HYPERKUBE
from tests.platform.apiserver import api_server
from tests.unit.fakes import running
from tests.unit.site import test_render_ava as role

from avadm_kube_objects import Objects  # isort: skip - found once `running` is imported


FORMER, LATER = "0.1.0-" + "f" * 12, "0.1.0-" + "e" * 12
SPACE = "ava-system"
PRUNED = {
    "ava-base.yml": {"namespace": SPACE, "label": "app=ava", "kinds": ["networkpolicies"]},
    "ava.yml": {"namespace": SPACE, "label": "app=ava", "kinds": ["deployments", "daemonsets"]},
}
# No deployment: kubectl 1.9 waits until a controller has scaled one down that it deletes.
POLICY = """---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: later, namespace: ava-system, labels: {app: ava}}
spec: {podSelector: {}}
"""


@pytest.fixture
def apiserver():
    """Of its own: a site's has priorities of pods."""
    with api_server(gates="PodPriority=true") as server:
        yield server


@pytest.fixture
def kubectl(apiserver, tmp_path, monkeypatch):
    """As on a master: kubectl by its name, and root's way to the API."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/kubectl").symlink_to(HYPERKUBE)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(probe, "KUBECONFIG", str(apiserver.kubeconfig))
    return running.run_command


def applied(run, apiserver, folder):
    """Apply the manifests in a folder as the role does; return what differed."""
    found = []
    for name in manifests.NAMES:
        one = Objects(run, str(folder / name), str(apiserver.kubeconfig), prune=PRUNED[name])
        for gone in one.stale():
            one.remove(gone)
            found.append(gone["metadata"]["name"])
        if lack := one.differing():
            found += lack
            one.apply()
    return found


def written(folder, tmp_path, image_id, policy="", **have):
    """Write the manifests of a version, as the role renders them."""
    archive = role.ARCHIVE | {"image_id": f"sha256:{image_id * 64}"}
    folder.mkdir(exist_ok=True)
    own = tmp_path / f"render-{image_id}"
    own.mkdir()
    for name, source in zip(manifests.NAMES, ("base.yml.j2", "parts.yml.j2"), strict=True):
        (folder / name).write_text(role.manifest(own, source, ava_archive=archive, **have))
    with (folder / "ava-base.yml").open("a") as file:
        file.write(policy)


@pytest.mark.slow
def test_the_former_version_is_there_again_and_nothing_of_the_later(
    kubectl, apiserver, tmp_path, monkeypatch
):
    monkeypatch.setattr(processes, "way_in", lambda params: {"status": 200, "said": ""})
    monkeypatch.setattr(processes, "leases", lambda space, names: {})
    etc, kept = tmp_path / "etc", tmp_path / "kept"
    written(etc, tmp_path, "f")
    assert applied(kubectl, apiserver, etc)
    assert applied(kubectl, apiserver, etc) == [], "a second time changes nothing"
    assert manifests.keep({"tag": FORMER}, str(etc), str(kept)) == {"kept": True}
    written(etc, tmp_path, "e", POLICY, ava_settings={"api": {"session_hours": 7}})
    assert applied(kubectl, apiserver, etc)
    assert deployed() == {LATER}
    assert "later" in policies(kubectl, apiserver)
    assert "session_hours: 7" in config(kubectl, apiserver)
    assert applied(kubectl, apiserver, kept / FORMER)
    assert deployed() == {FORMER}
    assert "later" not in policies(kubectl, apiserver)
    assert "session_hours" not in config(kubectl, apiserver)
    assert applied(kubectl, apiserver, kept / FORMER) == []


def deployed():
    """Return the tags of the deployments' images, as the upgrade asks for them."""
    given = {"namespace": SPACE, "leases": [], "silent": [], "series": [], "port": 9090}
    found = processes.ask(given)
    assert {"api", "operator", "scheduler", "gate"} <= set(found["deployed"])
    return {one["image"].rpartition(":")[2] for one in found["deployed"].values()}


def asked(run, apiserver, *words):
    rc, out, err = run(["kubectl", "--kubeconfig", str(apiserver.kubeconfig), "--namespace", SPACE, *words])
    assert rc == 0, err
    return out


def config(run, apiserver):
    return asked(run, apiserver, "get", "configmap", "ava", "-o", "yaml")


def policies(run, apiserver):
    return asked(run, apiserver, "get", "networkpolicies", "-o", "name")
