"""Forms that create and forms that edit are apart: none overwrites by name."""

from __future__ import annotations

import re

import pytest

from tests.unit.ava.api.site import SPEC, Site
from tests.unit.ava.web.browser import Browser
from tests.unit.ava.web.sample_site import KEY

KINDS = {"trainings": "training", "workbenches": "workbench", "services": "service"}


@pytest.mark.parametrize("plural", KINDS)
@pytest.mark.parametrize("do", ["store", "start"])
def test_a_new_definition_never_replaces_one_and_an_edited_one_keeps_its_name(
    site: Site, plural: str, do: str
) -> None:
    def stored() -> dict[str, str]:
        found = site.db.definitions.list(owner="ann", whole=True).items
        return {one.name: str(one.spec["image"]) for one in found}

    ann = Browser(site).log_in("ann")
    form = {"name": "mine", "image": "registry.local/a:1", "worker.cpu": "1", "worker.memory": "1", "do": do}
    form |= {"serving.port": "8080"} if plural == "services" else {}
    assert 'name="edit"' not in ann.open(f"/{plural}/new").text
    assert ann.send(f"/{plural}/new", form | {"do": "store"}).status_code == 303
    other = form | {"image": "registry.local/b:1"}
    text = f"A {KINDS[plural]} named mine already exists."
    assert text in ann.send(f"/{plural}/check", other, headers={"hx-request": "true"}).text
    answer = ann.send(f"/{plural}/new", other)
    assert (answer.status_code, text in answer.text) == (409, True), answer.text
    assert stored() == {"mine": "registry.local/a:1"}
    assert not site.db.runs.list(owner="ann").items
    # The same again is no other one: a second click.
    assert ann.send(f"/{plural}/new", form | {"do": "store"}).status_code == 303
    (one,) = site.db.definitions.list(owner="ann").items
    page = ann.open(f"/{plural}/new?from={one.id}").text
    assert f'type="hidden" name="edit" value="{one.id}"' in page and "Edit mine</h1>" in page
    assert not re.search(r'id="f-name"', page)
    edited = other | {"edit": one.id, "name": "elsewhere"}
    assert "already exists" not in ann.send(f"/{plural}/check", edited).text
    assert ann.send(f"/{plural}/new", edited).status_code == 303
    assert stored() == {"mine": "registry.local/b:1"}
    copy = ann.open(f"/{plural}/new?copy={one.id}").text
    assert 'value="registry.local/b:1"' in copy and 'name="edit"' not in copy
    assert re.search(r'id="f-name"[^>]* value=""', copy)
    root = Browser(site).log_in("root2")
    root.open("/")
    assert root.ask("GET", f"/{plural}/new?from={one.id}").status_code == 404
    assert root.send(f"/{plural}/new", edited).status_code == 404
    assert not site.db.definitions.list(owner="root2").items


def test_a_run_replaces_no_definition_where_that_is_shown(site: Site) -> None:
    body = {"name": "mine", "spec": SPEC}
    assert site.call("POST", "/runs", "ann", json=body).status_code == 201
    other = body | {"spec": SPEC | {"image": "registry.local/b:1"}}
    assert site.call("POST", "/runs", "ann", json=other | {"replace": False}).status_code == 409
    assert len(site.db.runs.list(owner="ann").items) == 1
    assert site.call("POST", "/runs", "ann", json=other).status_code == 201


def test_a_new_key_replaces_none(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/keys")
    form = {"kind": "ssh", "name": "laptop", "value": KEY}
    assert ann.send("/keys", form).status_code == 303
    other = KEY.replace("IJHt8", "IJHt9")
    answer = ann.send("/keys", form | {"value": other})
    assert (answer.status_code, "A key named laptop already exists." in answer.text) == (409, True)
    assert site.db.keys.list("ann", "ssh")["laptop"].split()[1] == KEY.split()[1]
    put = {"value": other}
    assert (
        site.call("PUT", "/keys/ssh/laptop", "ann", json=put, headers={"If-None-Match": "*"}).status_code
        == 409
    )
    assert site.call("PUT", "/keys/ssh/laptop", "ann", json=put).status_code == 200


def test_a_new_data_set_or_group_replaces_none(site: Site) -> None:
    root = Browser(site).log_in("root2")
    root.open("/data")
    assert root.send("/data", {"name": "faces"}).status_code == 303
    (made,) = site.db.data_sets.list().items
    root.send("/data/new", {"source": "nfs", "name": "faces", "server": "nfs.test", "path": "/x"})
    assert list(site.db.data_sets.list().items) == [made]
    before = site.db.groups.get("vision")
    root.open("/admin/groups")
    answer = root.send("/admin/groups", {"name": "vision", "gpu": "1"})
    assert (answer.status_code, "vision" in answer.text) == (409, True)
    assert site.db.groups.get("vision") == before
