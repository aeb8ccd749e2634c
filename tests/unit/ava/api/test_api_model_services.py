"""Services over REST: started, updated by the same request, scaled; who may call them is asked for each request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ava.db.tables import services
from ava.domain.model import Outcome
from ava.domain.model_services import former_address
from ava.services.auth import service_access
from tests.unit.ava.api.site import SPEC, Site, codes

SERVING = {"model": "/models/mnist"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, config={"services_domain": "services.test"})
    yield made
    made.close()


def serve(site: Site, who: str = "ann", name: str = "mnist", **more: Any) -> dict[str, Any]:
    spec = SPEC | {"kind": "service", "serving": SERVING} | more
    answer = site.call("POST", "/runs", who, json={"name": name, "spec": spec})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def running(site: Site, **more: Any) -> str:
    run = str(serve(site, **more)["id"])
    assert site.db.runs.admit(run, site.now) == ()
    return run


def host(site: Site, run: str) -> str:
    address = site.call("GET", f"/runs/{run}/service", "ann").json()["address"]
    return str(address).removeprefix("https://").removesuffix("/")


def ask(site: Site, host: str, who: str | None = None, **headers: str) -> httpx.Response:
    return site.call("GET", "/services/caller", who, headers={"x-forwarded-host": host} | headers)


def test_the_same_request_with_another_definition_updates_what_runs(served: Site) -> None:
    run = running(served)
    again = serve(served, image="registry.local/torch:3")
    assert (again["id"], again["attempt"]) == (run, 1)
    assert served.call("GET", f"/runs/{run}/service", "ann").json()["settled"] == 0
    assert serve(served)["attempt"] == 0
    assert len(served.db.runs.list().items) == 1
    served.db.runs.finish(run, Outcome.STOPPED, "", served.now)
    assert serve(served)["id"] != run


def test_an_update_that_can_never_fit_leaves_definition_and_service_as_they_were(served: Site) -> None:
    run = running(served)
    served.token("ann")
    before = served.state()
    spec = SPEC | {"kind": "service", "serving": SERVING, "roles": [{"replicas": 500}]}
    answer = served.call("POST", "/runs", "ann", json={"name": "mnist", "spec": spec})
    assert answer.status_code == 422 and codes(answer)
    assert served.state() == before
    assert served.db.model_services.get(run).wanted == 1


def test_it_is_scaled_within_its_bounds(served: Site) -> None:
    run = running(served, serving=SERVING | {"scaling": {"least": 2, "most": 4}})
    assert served.call("GET", f"/runs/{run}", "ann").json()["pods"] == 2
    answer = served.call("POST", f"/runs/{run}/scale", "ann", json={"replicas": 3})
    assert (answer.status_code, answer.json()["wanted"]) == (200, 3)
    assert codes(served.call("POST", f"/runs/{run}/scale", "ann", json={"replicas": 5})) == ["replicas"]
    training = served.run(name="train")["id"]
    assert served.call("POST", f"/runs/{training}/scale", "ann", json={"replicas": 1}).status_code == 404
    assert served.call("GET", f"/runs/{training}/service", "ann").status_code == 404


@pytest.mark.parametrize(
    ("more", "code", "where"),
    [
        ({"roles": [{"name": "a"}, {"name": "b"}]}, "service-roles", "body.spec.roles"),
        ({"time_limit": 60}, "field-not-allowed", "body.spec"),
        ({"retries": 1}, "field-not-allowed", "body.spec"),
        ({"serving": SERVING | {"scaling": {"least": 3, "most": 2}}}, "bounds", "body.spec.serving.scaling"),
        (
            {"roles": [{"replicas": 9}], "serving": SERVING | {"scaling": {"most": 2}}},
            "bounds",
            "body.spec.roles[0].replicas",
        ),
        ({"serving": SERVING | {"port": 80}}, "value-invalid", "body.spec.serving.port"),
        ({"serving": SERVING | {"health": "http://other/"}}, "value-invalid", "body.spec.serving.health"),
        ({"serving": SERVING | {"access": "all"}}, "value-invalid", "body.spec.serving.access"),
    ],
)
def test_what_cannot_be_served_is_refused_and_leaves_nothing(
    served: Site, more: dict[str, Any], code: str, where: str
) -> None:
    served.token("ann")
    before = served.state()
    spec = SPEC | {"kind": "service", "serving": SERVING} | more
    answer = served.call("POST", "/runs", "ann", json={"name": "mnist", "spec": spec})
    assert (answer.status_code, codes(answer), answer.json()["problems"][0]["where"]) == (422, [code], where)
    assert served.state() == before


def test_a_member_s_token_lets_in_and_says_who_it_is(served: Site) -> None:
    name = host(served, running(served))
    for who in ("ann", "ben"):
        answer = ask(served, name, who)
        assert (answer.status_code, answer.headers[service_access.WHO]) == (204, who)
        assert ask(served, f"{name.upper()}:443", who).status_code == 204


def test_no_other_user_gets_in(served: Site) -> None:
    name = host(served, running(served))
    assert ask(served, name).status_code == 401
    assert ask(served, name, authorization="Bearer ava_x.y").status_code == 401
    assert ask(served, name, cookie="__Host-ava=x").status_code == 401
    # Neither somebody of another group nor an administrator.
    assert [ask(served, name, who).status_code for who in ("eve", "root2")] == [403, 403]


def test_a_session_is_no_token(served: Site) -> None:
    name = host(served, running(served))
    opened = served.call("POST", "/sessions", json={"name": "ann", "password": "correct horse battery"})
    cookie = opened.headers["set-cookie"].split(";")[0]
    assert ask(served, name, cookie=cookie).status_code == 401


@pytest.mark.parametrize(
    "other", ["", "ava.test", "x.services.test", "mnist.services.test", "{}.evil.test", "{}"]
)
def test_a_host_name_that_is_no_service_s_is_answered_as_such(served: Site, other: str) -> None:
    name = host(served, running(served))
    label = name.partition(".")[0]
    assert ask(served, other.format(label), "ann").status_code == 404


def test_who_was_taken_out_of_the_group_or_has_no_account_any_more_is_out_within_seconds(
    served: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = host(served, running(served))
    assert ask(served, name, "ben").status_code == 204
    served.db.groups.remove_member("vision", "ben", served.now)
    assert ask(served, name, "ben").status_code == 204
    monkeypatch.setattr(service_access, "FRESH", 0.0)
    found = served.frame().state.callers
    monkeypatch.setattr(found, "_clock", lambda: 1e12)
    assert ask(served, name, "ben").status_code == 403


def test_a_new_service_has_80_bits_in_its_name_and_one_from_before_keeps_its_own(served: Site) -> None:
    run = running(served)
    first = host(served, run)
    assert re.fullmatch(r"mnist-[0-9a-f]{20}\.services\.test", first)
    assert ask(served, first, "ben").status_code == 204
    longest = host(served, running(served, name="x" * 200))
    served.frame().state.callers = None  # it remembers names for some seconds
    assert len(longest.partition(".")[0]) <= 63 and ask(served, longest, "ben").status_code == 204
    # As it was before this column was there.
    with served.db.engine.begin() as connection:
        connection.execute(services.update().where(services.c.run == run).values(address=None))
    kept = f"{former_address('ann', 'mnist')}.services.test"
    for _ in range(2):
        served.frame().state.callers = None
        assert host(served, run) == kept and ask(served, kept, "ben").status_code == 204
        assert ask(served, first, "ben").status_code == 404
        served.db.runs.finish(run, Outcome.STOPPED, "", served.now)
        run = running(served)


def test_where_services_have_no_names_they_have_no_address(site: Site) -> None:
    run = running(site)
    assert site.call("GET", f"/runs/{run}/service", "ann").json()["address"] is None
    assert ask(site, "x.services.test", "ann").status_code == 404


def test_a_run_comes_after_others_of_one_s_own(site: Site) -> None:
    first = site.run(name="samples")
    second = site.run(name="train", after=["samples"])
    assert second["state"] == "queued" and first["id"] in second["reason"]
    why = site.call("GET", f"/runs/{second['id']}/why", "ann").json()
    assert [r["code"] for r in why["reasons"]] == ["waits-for-run"]
    third = site.run(name="judge", after=[second["id"], first["id"]])
    site.call("POST", f"/runs/{first['id']}/stop", "ann")
    for run in (second, third):
        ended = site.call("GET", f"/runs/{run['id']}", "ann").json()
        assert (ended["outcome"], "waited for" in ended["reason"]) == ("aborted", True)


def test_no_one_comes_after_what_is_not_theirs_or_not_there(site: Site) -> None:
    theirs = site.run("ben", name="samples")
    site.token("ann")
    before = site.state()
    for name in ("none", "samples", theirs["id"]):
        body = {"name": "train", "spec": SPEC | {"after": [name]}}
        answer = site.call("POST", "/runs", "ann", json=body)
        assert (answer.status_code, codes(answer)) == (422, ["after-unknown"])
    assert site.state() == before
