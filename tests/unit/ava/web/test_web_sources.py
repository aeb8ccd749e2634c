"""The page of a data set whose bytes lie elsewhere: where, whether it can be read, how much of it is cached and since when."""

import re

import pytest

from ava.domain.data_sets import Elsewhere
from tests.unit.ava.api.site import NOW
from tests.unit.ava.web.browser import Browser

SOURCES = {
    "rbd": {"kind": "rbd", "image": "faces", "snapshot": "v1"},
    "nfs": {"kind": "nfs", "server": "nfs.test", "path": "/export"},
    "cache": {"kind": "cache", "path": "s3/faces"},
}


@pytest.fixture
def page(site):
    def show(kind, **seen):
        one = site.store.add_data_set("root2", "faces", SOURCES[kind], NOW)
        site.store.elsewhere_seen(Elsewhere(one.id, **seen))
        answer = Browser(site).log_in("root2").ask("GET", f"/data/{one.id}")
        assert answer.status_code == 200
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text))

    return show


def test_how_much_of_it_is_cached_is_shown_with_its_age(page):
    text = page("cache", size=400 * 2**20, cached=100 * 2**20, seen=NOW)
    assert re.search(r"In the cache 25 % of 400(\.0)? MiB, as of", text), text


def test_what_was_not_measured_is_no_figure(page):
    assert "In the cache not measured yet" in page("cache")
    text = page("cache", trouble="the cache does not say what it holds: TimeoutError")
    assert "the cache does not say what it holds" in text


def test_a_snapshot_that_is_not_there_says_why(page):
    text = page("rbd", trouble="there is no image rbd/faces <b>")
    assert "faces@v1" in text and "Can be read not yet" in text
    assert "there is no image rbd/faces &lt;b&gt;" in text


def test_a_servers_folder_is_named(page):
    assert "NFS nfs.test:/export" in page("nfs")
