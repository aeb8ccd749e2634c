"""Who is taken out of a group, or shut out: what they run is stopped where that is wanted, and public services always."""

from __future__ import annotations

import pytest

from ava.domain.model import Phase
from tests.unit.ava.api.site import SPEC, Site, codes
from tests.unit.ava.api.test_api_model_services import SERVING, running, served  # noqa: F401


def test_a_removed_member_neither_scales_nor_rewrites_a_service_of_the_group(served: Site) -> None:  # noqa: F811
    run = running(served)
    assert served.call("DELETE", "/groups/vision/members/ann", "root2").status_code == 204
    again = {
        "name": "mnist",
        "spec": SPEC | {"kind": "service", "serving": SERVING, "image": "registry.local/evil:1"},
    }
    for elsewhere in (False, True):
        if elsewhere:
            served.db.groups.create("other", served.db.groups.get("vision").quota, served.now)
            served.db.groups.add_member("other", "ann", served.now)
            assert codes(served.call("POST", "/runs", "ann", json=again)) == ["not-a-member"]
        for who in ("ann", "root2"):
            answer = served.call("POST", f"/runs/{run}/scale", who, json={"replicas": 8})
            assert (answer.status_code, codes(answer)) == (409, ["not-a-member"])
    assert (
        served.db.model_services.revision(run, 0)["image"] == SPEC["image"]
        and served.db.model_services.get(run).target == 0
    )
    assert served.db.definitions.list(owner="ann").items[0].spec["image"] == SPEC["image"]
    assert served.call("POST", f"/runs/{run}/stop", "ann").status_code == 202


def test_removal_stops_that_groups_runs_of_the_person_where_asked_for_and_no_others(site: Site) -> None:
    mine, running_, others = site.run("ben")["id"], site.run("ben", "two")["id"], site.run("ann")["id"]
    assert site.db.runs.admit(running_, site.now) == ()
    site.db.groups.create("other", site.db.groups.get("vision").quota, site.now)
    site.db.groups.add_member("other", "ben", site.now)
    site.db.users.set_default_group("ben", "other")
    elsewhere = site.run("ben", "three")["id"]
    assert site.call("DELETE", "/groups/vision/members/ben?stop_runs=true", "root2").status_code == 204
    assert site.db.runs.get(mine).phase is Phase.FINISHED
    assert site.db.runs.get(running_).stop is not None
    assert site.db.runs.get(others).stop is None and site.db.runs.get(elsewhere).stop is None
    lines = [
        (line["object"], line["who"])
        for line in site.db.audit.list(limit=20).items
        if line["action"] == "runs.stop"
    ]
    assert sorted(lines) == sorted((f"run {id}", "root2") for id in (mine, running_))


def test_it_is_taken_up_again_where_it_broke_off(site: Site) -> None:
    run = site.run("ben")["id"]
    assert site.call("DELETE", "/groups/vision/members/ben", "root2").status_code == 204
    assert site.db.runs.get(run).stop is None
    assert site.call("DELETE", "/groups/vision/members/ben", "root2").status_code == 404
    assert site.call("DELETE", "/groups/vision/members/ben?stop_runs=true", "root2").status_code == 204
    assert site.db.runs.get(run).phase is Phase.FINISHED
    assert site.call("DELETE", "/groups/vision/members/ben?stop_runs=true", "ann").status_code == 403


@pytest.mark.parametrize("all_", [False, True], ids=["public services", "all runs"])
def test_who_is_shut_out_serves_no_one_any_more(served: Site, all_: bool) -> None:  # noqa: F811
    public = running(served, name="open", serving=SERVING | {"access": "public"})
    inside, training = running(served), served.run(name="train")["id"]
    more = {"stop_runs": True} if all_ else {}
    assert served.call("PATCH", "/users/ann", "root2", json={"state": "disabled"} | more).status_code == 200
    assert served.db.runs.get(public).stop is not None
    assert (served.db.runs.get(inside).stop is not None) is all_
    assert (served.db.runs.get(training).phase is Phase.FINISHED) is all_


def test_no_one_stops_anothers_runs_by_a_change_of_their_own(site: Site) -> None:
    run = site.run("ben")["id"]
    answer = site.call("PATCH", "/users/ann", "ann", json={"email": "a@example.org", "stop_runs": True})
    assert answer.status_code == 403
    answer = site.call("PATCH", "/users/ben", "root2", json={"email": "b@example.org", "stop_runs": True})
    assert answer.status_code == 200 and site.db.runs.get(run).stop is None, (
        "only with the state that shuts out"
    )
