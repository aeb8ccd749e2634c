"""What the doctor knows of a site's parts: their ports, and their virtual addresses."""

from avadm.doctor.parts import parameters, site_facts
from avadm_lab.layout import WRITTEN


def asked(site_file, name):
    facts = site_facts(site_file)
    return set(parameters(site_file, facts, next(n for n in facts.nodes if n.name == name), None)["ports"])


def test_every_part_is_asked_for_its_ports_where_it_runs(site):
    every, none = site(tuple(WRITTEN)), site(())
    assert {n: asked(every, n) - asked(none, n) for n in ("stor1", "stor3", "comp1", "comp3")} == {
        "stor1": {7443},
        "stor3": set(),
        "comp1": {5004, 5006, 19998, 19999, 29999, 29998, 9428},
        "comp3": {5432, 8008},
    }


def test_the_object_stores_address_is_one_that_someone_has_to_hold(site):
    assert site_facts(site(("objects",))).addresses["10.77.0.249"] == "rgw"
    assert "rgw" not in site_facts(site(())).addresses.values()
