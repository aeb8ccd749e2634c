"""Images by the catalogue's names: listed, meant by definitions, kept by runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.ava.api.site import Site, codes, problems

FULL = "registry.site:5000/avadm/ava-base:1-0123456789ab"
ROWS = {
    "ava-base": {"image": FULL},
    "serve": {"image": "registry.site:5000/serve@sha256:ab", "uses": ["service"], "title": "ours"},
}


@pytest.fixture
def offering(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, config={"images": ROWS})
    yield made
    made.close()


def spec_of(site: Site, run: str) -> dict[str, object]:
    return dict(site.db.runs.get(run).spec)


def test_the_images_are_listed_with_what_is_in_them(offering: Site) -> None:
    base, serve = offering.call("GET", "/images", "eve").json()
    assert (base["name"], base["image"], base["python"]) == ("ava-base", FULL, "3.11")
    assert {"workbench", "training"} <= set(base["uses"])
    assert (serve["title"], serve["size"]) == ("ours", None)


def test_a_site_without_images_lists_none(site: Site) -> None:
    assert site.call("GET", "/images", "eve").json() == []


def test_a_run_has_the_image_that_the_name_meant_and_the_definition_keeps_the_name(offering: Site) -> None:
    run = offering.run(image="ava-base")
    assert spec_of(offering, run["id"])["image"] == FULL
    kept = offering.db.definitions.get(run["definition"])
    assert kept.spec["image"] == "ava-base"


def test_the_same_request_is_the_same_run_after_the_name_came_to_mean_another_image(offering: Site) -> None:
    body = {"name": "n", "spec": {"image": "ava-base", "command": ["true"]}, "key": "k"}
    first = offering.call("POST", "/runs", "ann", json=body).json()["id"]
    newer = offering.services.config.images["ava-base"].model_copy(update={"image": FULL + "c"})
    offering.services.config.images["ava-base"] = newer
    again = offering.call("POST", "/runs", "ann", json=body)
    assert (again.status_code, again.json()["id"]) == (201, first)
    other = body | {"spec": {"image": "ava-base", "command": ["false"]}}
    assert codes(offering.call("POST", "/runs", "ann", json=other)) == ["idempotency-key-reused"]


def test_without_a_command_the_catalogue_s_runs_so_that_the_init_process_is_before_it(offering: Site) -> None:
    run = offering.run(image="ava-base", command=[])
    assert spec_of(offering, run["id"])["command"] == ["bash"]


def test_an_image_in_full_is_left_as_it_is(offering: Site) -> None:
    assert spec_of(offering, offering.run(image=FULL)["id"])["image"] == FULL


@pytest.mark.parametrize(
    ("image", "code", "wanted"),
    [("ava-tensorflow", "image-not-offered", "ava-base"), ("serve", "image-unfit", "ava-base")],
)
def test_what_is_not_offered_or_not_for_this_is_refused(
    offering: Site, image: str, code: str, wanted: str
) -> None:
    offering.token("ann")
    before = offering.state()
    answer = offering.call(
        "POST", "/runs", "ann", json={"name": "n", "spec": {"image": image, "command": ["x"]}}
    )
    [problem] = problems(answer)
    assert (answer.status_code, problem["code"], problem["where"]) == (422, code, "body.spec.image")
    assert wanted in problem["wanted"]
    assert offering.state() == before


def test_code_from_git_is_refused_where_the_site_has_no_way_to_a_server(tmp_path: Path) -> None:
    made = Site(tmp_path, config={"git": False})
    git = {"url": "https://git.example.org/x.git", "commit": "0123456789"}
    answer = made.call("POST", "/runs", "ann", json={"name": "n", "spec": {"image": "a/b", "git": git}})
    made.close()
    assert codes(answer) == ["git-none"]
