"""Services by forms alone: made, updated by sending the form again, scaled within their bounds, stopped; no one else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ava.domain.spec import Spec
from ava.web import definition_form, forms
from tests.unit.ava.api.site import Site
from tests.unit.ava.web.browser import Browser, web_site

FORM = {
    "name": "mnist",
    "image": "registry.local/server:1",
    "command": "python -m server",
    "worker.replicas": "2",
    "worker.gpu": "1",
    "worker.cpu": "2",
    "worker.memory": "4",
    "queue": "default",
    "serving.model": "/data/models/mnist",
    "serving.port": "9000",
    "serving.health": "/healthz",
    "serving.starts_in": "60",
    "serving.access": "group",
    "scaling.least": "1",
    "scaling.most": "4",
    "scaling.requests": "2.5",
    "do": "start",
}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = web_site(tmp_path, config={"services_domain": "services.test"})
    yield made
    made.close()


def running(site: Site, ann: Browser, **more: str) -> str:
    ann.open("/services/new")
    where = ann.send("/services/new", FORM | more).headers["location"]
    run = where.rpartition("/")[2].partition("?")[0]
    assert not site.db.runs.admit(run, site.now)
    return run


def test_the_form_makes_what_the_api_would_and_shows_it_again(site: Site) -> None:
    plain = definition_form.spec_of(forms.Form(list(FORM.items())), "service", "single")
    spec = Spec.model_validate(plain)
    assert spec.serving is not None and spec.serving.scaling is not None
    assert (spec.serving.port, spec.serving.scaling.most, spec.serving.scaling.requests) == (9000, 4, 2.5)
    assert definition_form.covers(spec.model_dump(mode="json"), "service")
    values, _ = definition_form.values(spec.model_dump(mode="json"), "mnist")
    again = definition_form.spec_of(forms.Form(list(values.items())), "service", "single")
    assert Spec.model_validate(again) == spec


def test_a_service_is_started_updated_scaled_and_stopped(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    assert "You have no service yet" in ann.open("/services").text
    run = running(site, ann)
    page = ann.open(f"/runs/{run}").text
    address = site.call("GET", f"/runs/{run}/service", "ann").json()["address"]
    assert f'curl -H "Authorization: Bearer $TOKEN" {address}' in page.replace("&#34;", '"')
    assert "0 of 2" in ann.open("/services").text
    definition = site.db.runs.get(run).definition
    assert 'value="/data/models/mnist"' in ann.open(f"/services/new?from={definition}").text
    changed = ann.send("/services/new", FORM | {"edit": definition, "image": "registry.local/server:2"})
    assert changed.headers["location"] == f"/runs/{run}?done=started"
    assert site.db.model_services.get(run).target == 1
    assert "being rolled out; 0 serves" in ann.open(f"/runs/{run}").text
    assert ann.send(f"/runs/{run}/scale", {"replicas": "4"}).headers["location"] == f"/runs/{run}?done=scaled"
    assert site.db.model_services.get(run).wanted == 4
    for wrong in ("9", "0", "many", ""):
        answer = ann.send(f"/runs/{run}/scale", {"replicas": wrong})
        assert answer.status_code in (409, 422), wrong
        assert 'role="alert"' in answer.text
    assert site.db.model_services.get(run).wanted == 4
    ann.send(f"/runs/{run}/stop")
    assert site.db.runs.get(run).stop is not None


def test_users_who_may_call_a_public_service_is_shown_its_address_as_a_link(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    run = running(site, ann, **{"serving.access": "public"})
    assert 'rel="noopener noreferrer">https://mnist-' in ann.open(f"/runs/{run}").text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"serving.port": "80"}, "Invalid value for port."),
        ({"serving.port": "x"}, "Invalid value for port."),
        ({"serving.health": "http://other/"}, "Invalid value for health."),
        ({"scaling.least": "5"}, "The least replicas are more than the most."),
        ({"scaling.requests": "-1"}, "Invalid value for requests."),
        ({"worker.replicas": "9"}, "The replicas at the start are outside of the bounds."),
        ({"retries": "2"}, "A service runs until it is stopped."),
    ],
)
def test_what_cannot_be_served_is_reported_while_it_is_typed_and_refused(
    site: Site, change: dict[str, str], message: str
) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/services/new")
    before = site.state()
    assert message in ann.send("/services/check", FORM | change).text
    answer = ann.send("/services/new", FORM | change)
    assert (answer.status_code, message in answer.text) == (422, True)
    assert site.state() == before


@pytest.mark.parametrize("who", ["ben", "eve"])
def test_no_one_sees_scales_or_updates_anothers_service(site: Site, who: str) -> None:
    run = running(site, Browser(site).log_in("ann"))
    definition = site.db.runs.get(run).definition
    other = Browser(site).log_in(who)
    other.open("/services/new")
    before: Any = site.state()
    for path in (f"/runs/{run}", f"/services/new?from={definition}"):
        assert other.ask("GET", path).status_code == 404, path
    for path, data in ((f"/runs/{run}/scale", {"replicas": "3"}), (f"/runs/{run}/stop", {})):
        answer = other.send(path, data)
        assert (answer.status_code, "mnist-" in answer.text) == (404, False), path
    assert "mnist-" not in other.ask("GET", "/services").text
    assert site.state() == before
    # A form that does not come from a page of this login does nothing either, not even its owner's.
    ann = Browser(site).log_in("ann")
    assert ann.ask("POST", f"/runs/{run}/scale", data={"replicas": "3"}).status_code == 403
    assert site.db.model_services.get(run).wanted == 2


def test_a_run_that_is_no_service_is_not_scaled(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    run = site.run()["id"]
    ann.open(f"/runs/{run}")
    assert ann.send(f"/runs/{run}/scale", {"replicas": "2"}).status_code == 404
