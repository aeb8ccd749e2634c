from pathlib import Path

import pytest

from avadm.artifacts import recipe
from avadm.artifacts.manifest import FOLDER, Artifact, manifest
from avadm.doctor.checks import CHECKS
from avadm.risks.register import Risk, least_packages, register

ROOT = Path(__file__).parents[3]
KUBERNETES = manifest()["kubernetes"]
BUILDS = pytest.mark.parametrize(
    "build", [KUBERNETES, *KUBERNETES.others], ids=lambda artifact: str(artifact.version)
)
"""Each version of Kubernetes that avadm builds: the register is no worse after an upgrade."""


def test_what_shows_a_risk_is_there():
    for risk in register():
        for shown in risk.shown:
            if shown.startswith("suite cis "):
                controls = ROOT / "validation/avadm_validation/suites/cis/controls.yml"
                assert f'id: "{shown.removeprefix("suite cis ")}"' in controls.read_text(), shown
            elif shown.startswith("doctor "):
                assert shown.removeprefix("doctor ") in {check.id for check in CHECKS}, shown
            else:
                assert (ROOT / shown).is_file() or (FOLDER / shown).is_file(), (risk.ids, shown)


@BUILDS
def test_every_patch_has_its_risk_and_every_risk_its_patch(build: Artifact):
    named = {word for r in register() for word in r.by.replace(":", " ").split() if "security/" in word}
    assert {w.removeprefix("security/") for w in named} == {
        p.name for p in (build.folder / "security").glob("*.patch")
    }
    for risk in register():
        if risk.component == "kubernetes" and risk.state == "patched":
            assert risk.asked is not None
            patch = next(w for w in risk.by.replace(":", " ").split() if w.startswith("security/"))
            text = (build.folder / patch).read_text()
            assert any(i in text for i in risk.ids), risk.ids


@BUILDS
def test_the_build_that_is_asked_for_is_the_one_that_is_made(build: Artifact):
    steps = [s.action for s in recipe.load(build.folder).steps]
    [made] = [s for s in steps if isinstance(s, recipe.Build)]
    [commit] = {r.asked.commit for r in register() if r.asked and r.asked.commit}
    assert f"-X k8s.io/kubernetes/pkg/version.gitCommit={commit}" in made.ldflags
    assert f"-X k8s.io/kubernetes/pkg/version.gitVersion=v{build.version}" in made.ldflags
    tested = {p for s in steps if isinstance(s, recipe.Test) for p in s.packages}
    tests = build.folder / "tests"
    for path in tests.rglob("*_test.go"):
        folder = path.parent.relative_to(tests)
        staging = folder.is_relative_to("staging/src")
        assert str(folder.relative_to("staging/src") if staging else "k8s.io/kubernetes" / folder) in tested


@BUILDS
@pytest.mark.parametrize("plugin", ["glusterfs", "quobyte", "scaleio", "storageos", "git_repo"])
def test_dangerous_volumes_are_not_built_in(plugin: str, build: Artifact):
    text = (build.folder / "security/volume-plugins.patch").read_text().partition("--- ")[2]
    removed = [line for line in text.splitlines() if plugin in line]
    assert {line[0] for line in removed} == {"-"}
    # Once where it is imported, once or more where it is made; in kubelet, and in the controllers but for gitRepo.
    assert len([line for line in removed if "/pkg/volume/" in line]) == (1 if plugin == "git_repo" else 2)


def test_no_server_logs_more_than_the_least():
    for name in ("kube_apiserver", "kube_controllers", "kube_node"):
        text = (ROOT / f"roles/{name}/vars/main.yml").read_text() + (
            ROOT / f"roles/{name}/defaults/main.yml"
        ).read_text()
        assert "\n  v:" not in text and "vmodule" not in text, name


def test_traefik_follows_no_external_names():
    assert "allowExternalNameServices" not in (ROOT / "roles/ingress/templates/traefik.yml.j2").read_text()
    assert tuple(map(int, manifest()["traefik"].version.split("."))) >= (2, 4, 10)


def test_the_caches_log4j_has_the_mends():
    jars = [
        line.split()[1] for line in (FOLDER / "recipes/alluxio/jars.sha256").read_text().splitlines() if line
    ]
    assert [j for j in jars if "log4j-core" in j] == ["log4j-core-2.17.1.jar"]
    # reload4j is log4j 1 with its holes fixed.
    assert not [j for j in jars if j.startswith("log4j-1")]


def test_packages_are_asked_for_by_system():
    assert least_packages("Debian 12")["runc"].startswith("1.1.5")
    assert least_packages("Ubuntu 16.04") == {}


def test_what_is_closed_says_what_shows_it():
    with pytest.raises(ValueError, match="no evidence"):
        Risk(ids=("x",), component="c", title="t", exposed="e", state="mitigated", by="b")
