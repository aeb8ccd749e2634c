"""Limits of data sets over REST: the site's where none is named, and the sum of them for each owner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ava.services.config import Config
from tests.unit.ava.api.site import GIB, Site, codes


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, config={"data_set_quota": 4 * GIB, "owner_quota": 10 * GIB})
    yield made
    made.close()


def make(site: Site, name: str, who: str = "ann", **more: Any) -> Any:
    return site.call("POST", "/data-sets", who, json={"name": name} | more)


def test_a_data_set_has_the_sites_limit_where_none_is_named(site: Site) -> None:
    assert make(site, "a").json()["quota"] == 4 * GIB
    assert make(site, "b", quota=GIB).json()["quota"] == GIB
    assert make(site, "c", quota=5 * GIB).json()["quota"] == 5 * GIB
    refused = make(site, "d")
    assert (refused.status_code, codes(refused)) == (409, ["data-sets-quota"])
    (problem,) = refused.json()["problems"]
    assert (
        problem["found"] == "10 GiB of the others and 4 GiB of this one"
        and problem["wanted"] == "at most 10 GiB"
    )
    shown = site.call("GET", "/users/me/storage", "ann").json()
    assert (shown["data_sets"], shown["data_sets_most"]) == (10 * GIB, 10 * GIB)
    assert make(site, "d", "ben").status_code == 201


@pytest.mark.parametrize("quota", [0, -1, 2**61, "5GiB", 1.5])
def test_what_is_no_limit_is_refused(site: Site, quota: Any) -> None:
    assert make(site, "a", quota=quota).status_code == 422


def test_other_sources_have_none(site: Site) -> None:
    source = {"kind": "cache", "path": "s3/x"}
    assert codes(make(site, "a", "root2", source=source, quota=GIB)) == ["quota-unfit"]
    assert make(site, "a", "root2", source=source).json()["quota"] is None


def test_a_site_without_limits_stays_as_it_was(tmp_path: Path) -> None:
    site = Site(tmp_path)
    assert make(site, "a").json()["quota"] is None
    assert site.call("GET", "/users/me/storage", "ann").json()["data_sets_most"] is None
    site.close()


def test_the_sum_needs_a_limit_of_each() -> None:
    with pytest.raises(ValidationError, match="owner_quota needs data_set_quota"):
        Config(sealing_key=Path("k"), owner_quota=GIB)
