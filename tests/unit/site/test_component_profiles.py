"""Components at another profile than the site's: what they bring, and that nothing else changes."""

import re
from fnmatch import fnmatchcase

import pytest

from avadm.components.base import variables as base
from avadm.components.catalog import UPGRADES
from avadm.operations import upgrade
from avadm.site import profile as profiles
from avadm.site.load import examine
from tests.unit.fakes import roles, sites
from tests.unit.site.corpus import BASE

NEWER = "lab-bookworm-newer"
CEPH = "lab-bookworm-ceph-18"


def mixed(*components, to=NEWER):
    found = profiles.load("lab-bookworm")
    for name in components:
        one = UPGRADES[name][1]
        found = found.with_component(one.programs, one.roles, profiles.load(to))
    return found


def test_a_component_brings_its_version_and_its_source_alone():
    before, after = profiles.load("lab-bookworm"), mixed("etcd")
    assert {c for c in after.versions if after.versions[c] != before.versions[c]} == {"etcd"}
    assert after.packages == before.packages
    assert after.sources["debian-13"].packages == ["etcd-server", "etcd-client"]
    assert set(after.sources["debian-13"].versions) == {"etcd-server", "etcd-client"}


def test_what_a_package_needs_of_its_source_comes_along():
    assert mixed("prometheus").sources["debian-13"].packages == ["prometheus", "promtool"]


def test_ceph_brings_all_that_its_packages_need_and_no_other_component():
    before, after = profiles.load("lab-bookworm"), mixed("ceph", to=CEPH)
    assert {c for c in after.versions if after.versions[c] != before.versions[c]} == {"ceph"}
    [source] = after.sources.values()
    assert {"libc6", "python3", "python3-cherrypy3", "radosgw", "base-files"} <= set(source.packages)
    assert source.versions == profiles.load(CEPH).sources["debian-13-ceph"].versions
    assert not {p for p in source.packages if p.startswith(("systemd", "postgresql", "docker"))}


def test_ceph_and_the_others_share_a_release_and_each_line_and_pin_is_written_once(site):
    both = mixed("etcd", to=NEWER)
    one = UPGRADES["ceph"][1]
    both = both.with_component(one.programs, one.roles, profiles.load(CEPH))
    found = files(both, site, "m")
    assert found["avadm.list"]["content"].count(" trixie ") == 1
    text = found["avadm.pref"]["content"]
    assert text.count("Package: *\n") == 1
    assert text.count("Package: libc6\n") == text.count("Package: etcd-server\n") == 1


def test_a_node_without_ceph_keeps_its_own_c_library(site):
    apart = sites.site(sites.node("m", 1, "mon", "osd"), sites.node("e", 2, "master", "etcd"))
    found = files(mixed("ceph", to=CEPH), apart, "e")
    assert {one["state"] for one in found.values()} == {"absent"}


def test_what_ceph_brings_along_follows_no_other_component():
    # curl is a package of the base and of haproxy's role too.
    haproxy = profiles.load("lab-bookworm").with_component(
        ["haproxy"], ["objects_vip", "base"], profiles.load(CEPH)
    )
    assert "debian-13-ceph" not in haproxy.sources
    both = mixed("ceph", to=CEPH).with_component(["haproxy"], ["objects_vip"], profiles.load(NEWER))
    assert both.sources["debian-13-ceph"].versions["curl"] == "8.14.*"


def test_a_profile_that_brings_the_base_files_of_the_next_release_accepts_that_release():
    assert profiles.load("lab-bookworm").releases() == ["12"]
    assert mixed("ceph", to=CEPH).releases() == ["12", "13"]


def test_all_components_together_are_the_other_profile():
    newer = profiles.load(NEWER)
    assert upgrade._content(mixed(*UPGRADES)) == upgrade._content(newer)
    assert mixed("etcd", "prometheus").versions != newer.versions


def test_nodes_get_the_same_files_in_whichever_order_components_came(site):
    orders = (mixed(*UPGRADES), mixed(*reversed(UPGRADES)), profiles.load(NEWER))
    texts = [files(one, site, "m") for one in orders]
    assert texts[0] == texts[1] == texts[2]


def test_a_component_can_go_back():
    newer, older = profiles.load(NEWER), profiles.load("lab-bookworm")
    back = newer.with_component(["prometheus"], ["prometheus"], older)
    assert back.versions["prometheus"] == older.versions["prometheus"]
    assert not {"prometheus", "promtool"} & set(back.sources["debian-13"].packages)


@pytest.mark.parametrize("name", [n for n in profiles.names() if profiles.load(n).sources])
def test_pins_are_of_the_profiles_own_versions(name):
    profile = profiles.load(name)
    for source in profile.sources.values():
        assert set(source.versions) <= set(source.packages)
        assert bool(source.versions) == bool(source.codename)
    for upgradable in [one for name, (_, one) in UPGRADES.items() if name not in upgrade.OWN]:
        for package, wanted in upgrade._moves(profile, upgradable).items():
            for source in profile.sources.values():
                if pattern := source.versions.get(package):
                    assert fnmatchcase(pattern, wanted), package


def files(profile, site, node):
    out = base._sources(site, site.node(node), profile)
    have = roles.variables("base") | out
    written = roles.written(
        next(t["avadm_service"]["files"] for t in roles.tasks("base", "main", "avadm.pref")), **have
    )
    return {
        path.rpartition("/")[2]: written[path]
        for path in written
        if path.endswith(("avadm.list", "avadm.pref"))
    }


@pytest.fixture
def site():
    return sites.site(sites.node("m", 1, "mon", "master", "etcd"), sites.node("s", 2, "osd"))


def test_only_nodes_with_the_component_get_its_source_and_pins(site):
    there, elsewhere = (files(mixed("etcd"), site, node) for node in ("m", "s"))
    assert {one["state"] for one in there.values()} == {"present"}
    assert {one["state"] for one in elsewhere.values()} == {"absent"}
    assert {one["state"] for one in files(profiles.load("lab-bookworm"), site, "m").values()} == {"absent"}


def test_everything_else_of_the_source_is_held_back(site):
    text = files(mixed("etcd"), site, "m")["avadm.pref"]["content"]
    stanzas = [s for s in re.split(r"\n\s*\n", text) if "Package:" in s]
    fields = [
        dict(line.split(": ", 1) for line in s.splitlines() if not line.startswith("#")) for s in stanzas
    ]
    assert fields[0] == {"Package": "*", "Pin": "release n=trixie", "Pin-Priority": "-1"}
    assert {f["Package"]: (f["Pin"], f["Pin-Priority"]) for f in fields[1:]} == {
        "etcd-server": ("version 3.5.*", "990"),
        "etcd-client": ("version 3.5.*", "990"),
    }


def test_a_site_with_sources_of_its_own_keeps_them(site):
    own = site.model_copy(
        update={"packages": site.packages.model_copy(update={"sources": ["deb http://mirror trixie main"]})}
    )
    found = files(mixed("etcd"), own, "m")
    assert (found["avadm.list"]["state"], found["avadm.pref"]["state"]) == ("absent", "present")


def load(tmp_path, lines):
    path = tmp_path / "site.yml"
    path.write_text(BASE.replace("profile: lab-bookworm\n", f"profile: lab-bookworm\n{lines}"))
    return examine(path)


def test_the_site_file_says_which_component_has_another_profile(tmp_path):
    site_file, findings = load(tmp_path, f"component_profiles: {{etcd: {NEWER}}}\n")
    assert findings == []
    assert site_file.profile.versions["etcd"] == "3.5."
    assert site_file.profile.versions["prometheus"] == "2.42."


@pytest.mark.parametrize(
    ("entry", "code"),
    [("etcd: lab-booksworm", "unknown-profile"), ("grafana: lab-bookworm-newer", "component-not-supported")],
)
def test_unknown_components_and_profiles_are_refused(tmp_path, entry, code):
    site_file, findings = load(tmp_path, f"component_profiles: {{{entry}}}\n")
    assert site_file is None
    assert [f.check for f in findings] == [code]
    assert re.search(r":\d+", findings[0].where)
