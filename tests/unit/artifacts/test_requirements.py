from dataclasses import replace

import pytest

from avadm.artifacts import manifest, requirements
from avadm.artifacts.manifest import Artifact
from avadm.components.catalog import PHASES
from avadm.inventory.digest import Digests
from avadm.inventory.model import Variables
from avadm.paths import home
from avadm.site.model import Site
from tests.unit.plan.test_phases import site as make_site

BASE = replace(PHASES[0], artifacts=("thing",))
GRAFANA = replace(PHASES[-1], artifacts=("other",))


@pytest.fixture
def site(artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> Site:
    things = {"thing": artifact, "other": artifact.model_copy(update={"name": "other"})}
    monkeypatch.setattr(manifest, "manifest", lambda: things)
    return make_site()


def test_a_site_needs_what_the_phases_with_nodes_install(site: Site) -> None:
    assert [a.name for a in requirements.needed(site, (BASE, GRAFANA))] == ["thing"], (
        "there is no grafana node"
    )


def test_of_optional_ones_a_site_needs_those_that_its_file_asks_for(site: Site) -> None:
    base = replace(BASE, optional=("other", "more"), wants=lambda _: ["other"])
    assert [a.name for a in requirements.needed(site, (base,))] == ["thing", "other"]


def test_the_profile_chooses_the_version_that_a_site_needs(
    site: Site, artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = artifact.model_copy(update={"version": "2.0.0", "further": True})
    thing = artifact.model_copy(update={"program": "thingd", "others": (other,)})
    monkeypatch.setattr(manifest, "manifest", lambda: {"thing": thing})
    assert [a.version for a in requirements.needed(site, (BASE,), {"thingd": "2."})] == ["2.0.0"]
    assert [a.version for a in requirements.needed(site, (BASE,), {"thingd": "1.2"})] == ["1.2.3"]
    [one] = requirements.missing(site, (BASE,), versions={"thingd": "2."})
    assert one.title == "thing 2.0.0"


def test_roles_are_reported_paths_and_checksums_of_what_the_cache_has(site, at, monkeypatch):
    monkeypatch.setattr(requirements, "needed", lambda _, **how: [at.artifact])
    assert requirements.variables(site, at.store) == {}
    sha256 = at.make().files["thing"].sha256
    report = {"version": "1.2.3", "files": {"thing": {"path": str(at.made), "sha256": sha256}}}
    assert requirements.variables(site, at.store) == {"thing": report}


def test_what_is_missing_or_damaged_is_refused_by_name_and_phase(site, at, store):
    [one] = requirements.missing(site, (BASE, PHASES[1]), store)
    finding = one.finding()
    assert "thing 1.2.3, which base installs, is absent" in finding.what
    assert "avadm artifacts build" in finding.remedy
    at.make()
    assert requirements.missing(site, (BASE,), store) == []
    at.made.write_text("bitter\n")
    [one] = requirements.missing(site, (BASE,), store)
    assert one.finding().found == "damaged"


def test_only_the_phases_that_install_an_artifact_depend_on_its_checksum() -> None:
    def digest(path: str, sha256: str, phase: int) -> str:
        report = {"thing": {"version": "1", "files": {"thing": {"path": path, "sha256": sha256}}}}
        return Digests(Variables({"artifacts": report}), home(), {}, {}).host((BASE, PHASES[-1])[phase], "h")

    assert digest("/a", "1", 0) == digest("/b", "1", 0), "where the controller keeps it is no input"
    assert digest("/a", "1", 0) != digest("/a", "2", 0)
    assert digest("/a", "1", 1) == digest("/a", "2", 1)
