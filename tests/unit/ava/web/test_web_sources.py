"""Data sets of other sources: made by administrators in a form of the domain's own kinds, and what is seen of each."""

import re

import pytest

from ava.domain.data_sets import ExternalSource
from ava.web import data_source_form
from tests.unit.ava.api.site import NOW
from tests.unit.ava.web.browser import Browser, web_site
from tests.unit.ava.web.sample_site import NO_SNAPSHOT

SOURCES = {
    "rbd": {"image": "faces", "snapshot": "v1"},
    "nfs": {"server": "nfs.test", "path": "/export"},
    "cache": {"path": "s3/faces"},
    "hdfs": {"store": "hadoop", "path": "faces"},
}
"""What each kind wants to know; one that is added to the domain is added here."""
CONFIG = {"snapshots": True, "nfs_servers": ["nfs.test"], "hdfs_stores": ["hadoop"]}


@pytest.fixture
def site(tmp_path):
    made = web_site(tmp_path, config=CONFIG)
    yield made
    made.close()


@pytest.fixture
def root(site):
    browser = Browser(site).log_in("root2")
    browser.open("/data/new")
    return browser


@pytest.fixture
def page(site):
    def show(kind, language="en", **seen):
        one = site.db.data_sets.create("root2", "faces", {"kind": kind, **SOURCES[kind]}, NOW)
        site.db.external_sources.record(ExternalSource(one.id, **seen))
        browser = Browser(site, language).log_in("root2")
        texts = []
        for path in (f"/data/{one.id}", "/data"):
            answer = browser.ask("GET", path)
            assert answer.status_code == 200
            texts.append(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))
        return texts

    return show


def beside(text):
    """Return what is stated beside each field."""
    return dict(re.findall(r'<p class="error" id="e-([a-z]+)"[^>]*>(.*?)</p>', text, re.DOTALL))


def test_how_much_of_it_is_cached_is_shown_with_its_age(page):
    one, listed = page("cache", size=400 * 2**20, cached=100 * 2**20, seen=NOW)
    assert re.search(r"In the cache 25 % of 400(\.0)? MiB, as of", one), one
    assert "25 % cached" in listed
    assert re.search(r"Its source There", one)


def test_what_was_not_measured_is_no_figure(page):
    one, listed = page("cache", trouble="the cache does not say what it holds: TimeoutError")
    for text in (one, listed):
        assert "Not known yet" in text
        assert "the cache does not say what it holds" in text
        assert " %" not in text


def test_what_the_cache_does_not_find_is_not_there(page):
    one, listed = page("cache", seen=NOW, trouble="the cache has nothing at /s3/faces: gone")
    for text in (one, listed):
        assert "Not there the cache has nothing at /s3/faces: gone" in text


def test_a_snapshot_that_is_not_there_says_why(page):
    one, listed = page("rbd", trouble="there is no image rbd/faces <b>")
    assert "Block image faces Snapshot v1" in one
    for text in (one, listed):
        assert "Not there there is no image rbd/faces &lt;b&gt;" in text


def test_why_it_is_not_there_is_reported_in_the_readers_language(page):
    one, listed = page("rbd", "zh", trouble=NO_SNAPSHOT)
    for text in (one, listed):
        assert "不存在 镜像 rbd/faces 没有快照 v1" in text


def test_a_snapshot_that_nodes_can_mount_is_there(page):
    one, listed = page("rbd", volume="pvc-1")
    assert "Its source There Nodes can mount it." in one
    assert "Snapshot of a block image There" in listed


def test_of_a_servers_folder_nothing_is_claimed_that_no_one_has_seen(page):
    one, listed = page("nfs")
    assert "Server nfs.test Path /export" in one
    assert "Not known yet" in one and "shows when a run mounts it" in one
    assert "NFS Not known yet" in listed


def test_every_kind_of_the_domain_has_a_form_with_words(site, root):
    assert set(SOURCES) | {data_source_form.OWN} == set(data_source_form.KINDS)
    for kind, given in SOURCES.items():
        text = root.open(f"/data/new?source={kind}").text
        assert re.findall(r'<input id="f-(\w+)"', text) == ["name", *data_source_form.fields(kind)]
        assert set(data_source_form.fields(kind)) == set(given)
        assert f'href="?source={kind}" aria-current="page"' in text
        assert 'role="alert"' not in text


@pytest.mark.parametrize("kind", SOURCES)
def test_an_administrator_makes_one_of_every_kind(site, root, kind):
    assert (
        "Ready to save." in root.send("/data/check", {"source": kind, "name": "faces"} | SOURCES[kind]).text
    )
    answer = root.send("/data/new", {"source": kind, "name": "faces"} | SOURCES[kind])
    where = answer.headers["location"]
    made = site.db.data_sets.get(where.removeprefix("/data/").partition("?")[0])
    assert made.source == {"kind": kind, **SOURCES[kind]}
    assert made.owner == "root2"
    # Another one of this name is refused at the name.
    again = root.send("/data/new", {"source": "cache", "name": "faces", "path": "other"})
    assert again.status_code == 409
    assert "has another source" in beside(again.text)["name"]


def test_what_may_be_left_out_is(site, root):
    assert (
        "Ready to save."
        in root.send("/data/check", {"source": "hdfs", "name": "all", "store": "hadoop", "path": ""}).text
    )
    where = root.send("/data/new", {"source": "hdfs", "name": "all", "store": "hadoop", "path": ""}).headers
    made = site.db.data_sets.get(where["location"].removeprefix("/data/").partition("?")[0])
    assert made.source["store"] == "hadoop"
    assert not made.source.get("path")


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"source": "cache", "path": "/s3"}, "path", "a path of plain names, such as s3/faces"),
        ({"source": "cache", "path": "a/../b"}, "path", "a path of plain names"),
        ({"source": "nfs", "server": "nfs.test", "path": "export"}, "path", "from the root"),
        ({"source": "nfs", "server": "other.test", "path": "/e"}, "server", "reads no data sets from this server"),
        ({"source": "nfs", "server": "-o exec", "path": "/e"}, "server", "a host name or an IPv4 address"),
        ({"source": "rbd", "image": "--pool", "snapshot": "v1"}, "image", "first"),
        ({"source": "rbd", "image": "a", "snapshot": "pvc-1"}, "snapshot", "belongs to a volume of pods"),
        ({"source": "hdfs", "store": "other", "path": "a"}, "store", "no data sets from this HDFS"),
        ({"source": "nfs", "server": "other.test", "path": "e"}, "server path", "reads no data sets from this server"),
        ({"source": "folder", "name": "No Name"}, "name", "lower-case letters"),
        ({"source": "cache", "name": "No Name", "path": "s3"}, "name", "lower-case letters"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_shown_beside_its_field_while_one_types_and_when_it_is_sent(
    site, root, given, field, message
):
    form = {"name": "faces"} | given
    for path, status in (("/data/check", 200), ("/data/new", 422)):
        answer = root.send(path, form)
        assert answer.status_code == status
        found = {name: text for name, text in beside(answer.text).items() if text}
        assert set(found) == set(field.split()), path
        assert message in found[field.split()[0]]
    assert site.db.data_sets.list().items == ()


def test_of_empty_fields_nothing_is_shown_before_the_form_is_sent(root):
    text = root.send("/data/check", {"source": "rbd", "name": "", "image": "faces", "snapshot": ""}).text
    assert not any(beside(text).values())
    assert "Ready to" not in text
    sent = root.send("/data/new", {"source": "rbd", "name": "", "image": "faces", "snapshot": ""})
    assert sent.status_code == 422
    assert {name for name, reply in beside(sent.text).items() if reply} == {"name", "snapshot"}


def test_a_site_without_a_source_says_so_at_once(tmp_path):
    site = web_site(tmp_path)
    root = Browser(site).log_in("root2")
    for kind, reply in (("rbd", "mount no block images"), ("nfs", "from this server"), ("hdfs", "this HDFS")):
        assert reply in root.open(f"/data/new?source={kind}").text, kind
    site.close()


def test_users_make_folders_alone(site):
    ann = Browser(site).log_in("ann")
    text = ann.open("/data/new?source=nfs").text
    assert 'href="?source=' not in text
    assert re.findall(r'<input id="f-(\w+)"', text) == ["name"]
    before = site.state(), site.db.data_sets.list().items
    for kind, given in SOURCES.items():
        for path in ("/data/new", "/data/check"):
            answer = ann.send(path, {"source": kind, "name": "faces"} | given)
            assert answer.status_code == 403, (kind, path)
            assert "nfs.test" not in answer.text
    assert (site.state(), site.db.data_sets.list().items) == before
    assert ann.send("/data/new", {"source": "folder", "name": "mine"}).status_code == 303
    assert "/data/new" not in ann.open("/data").text
    assert "/data/new" in Browser(site).log_in("root2").open("/data").text
