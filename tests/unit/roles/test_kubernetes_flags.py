"""Each flag and feature gate that the roles set is known to every release of Kubernetes that avadm builds.

An unknown one keeps a server from starting: in an upgrade that would be found on the first master.
"""

from pathlib import Path

import pytest
import yaml

from avadm.artifacts.manifest import manifest
from tests.unit.roles.test_kube_units import UNITS, rendered, written

KNOWN = yaml.safe_load(Path(__file__).with_name("kubernetes_flags.yml").read_text())
KUBERNETES = manifest()["kubernetes"]
EXTERNAL = {"kube_apiserver_external_endpoints": True}


def flags(server):
    """Return flag to value of a server's unit, as its role writes it."""
    role = UNITS[server]
    more = EXTERNAL if role == "kube_apiserver" else {}
    text = rendered(role, written(role)[f"/etc/systemd/system/{server}.service"]["content"], **more)
    words = text.replace("\\\n", " ").partition(f" {server} ")[2].partition("\n")[0].split(" --")[1:]
    return {word.partition("=")[0].strip(): word.partition("=")[2].strip() for word in words}


def unknown(release, server, given):
    """Return the flags and gates that a server of a release does not know."""
    known = KNOWN[release][server]
    gates = [gate.partition("=")[0] for gate in given.get("feature-gates", "").split(",") if gate]
    return sorted(set(given) - set(known["flags"])) + sorted(set(gates) - set(known["gates"]))


def test_the_table_has_every_release_that_is_built():
    assert set(KNOWN) == {one.version for one in (KUBERNETES, *KUBERNETES.others)}


@pytest.mark.parametrize("release", KNOWN)
@pytest.mark.parametrize("server", UNITS)
def test_every_flag_and_gate_is_known(server, release):
    given = flags(server)
    assert len(given) > 4 and given["feature-gates"]
    assert unknown(release, server, given) == []


def test_one_that_a_release_lacks_is_found():
    given = {"init-config-dir": "/x", "feature-gates": "RunAsGroup=true"}
    assert unknown("1.9.11", "kubelet", given) == ["RunAsGroup"]
    assert unknown("1.10.13", "kubelet", given) == ["init-config-dir"]
