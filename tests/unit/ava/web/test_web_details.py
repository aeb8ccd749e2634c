"""Small things of pages that a reader stumbles over: what is offered, how times and objects are named, what a form overwrites."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ava.web import assets
from ava.web.words import Words
from tests.unit.ava.api.site import NOW, Site
from tests.unit.ava.web.browser import Browser
from tests.unit.ava.web.town import inhabit

STATIC = Path(assets.__file__).with_name("static")
TEMPLATES = Path(assets.__file__).with_name("templates")


def rows(page: str) -> dict[str, str]:
    """Return the rows of a page's tables by their first bold text."""
    found = re.findall(r"<tr[^>]*>.*?<b>(.*?)</b>(.*?)</tr>", page, re.S)
    return {name: " ".join(rest.split()) for name, rest in found}


def test_no_training_is_offered_on_a_node_that_is_full(site: Site) -> None:
    inhabit(site)
    nodes = rows(Browser(site).log_in("ann").open("/nodes").text)
    offered = {name for name, row in nodes.items() if "Train here" in row}
    assert offered == {"gpu-01", "gpu-02", "cpu-01"}
    assert "Full" in nodes["gpu-03"] and "Not accepting runs" in nodes["gpu-04"]


def test_the_audit_log_has_utc_times_and_names_and_is_filtered_by_action(site: Site) -> None:
    ids = inhabit(site)
    ann = Browser(site).log_in("ann")
    ann.open(f"/runs/{ids['running']}" if "running" in ids else f"/runs/{ids['bench']}")
    run = site.run(name="seen")["id"]
    ann.open(f"/runs/{run}")
    ann.send(f"/runs/{run}/stop")
    root = Browser(site).log_in("root2")
    page = root.open("/admin/audit").text
    assert "just now" not in page and " ago" not in page
    assert f">{NOW:%Y-%m-%d %H:%M:%S}<" in page
    assert re.search(rf"run <b>seen</b><span class=\"sub\">{run}", page)
    stops = root.open("/admin/audit?action=runs.stop").text
    assert set(re.findall(r"<td><code>(.*?)</code></td>", stops)) == {"runs.stop"}
    assert site.call("GET", "/audit?action=none", "root2").json()["items"] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_times_have_one_format_in_every_language(language: str) -> None:
    assert Words(language).time(NOW) == "2026-11-24 12:00:00 UTC"


@pytest.mark.parametrize(
    ("path", "known", "fields"),
    [
        ("queues", "night", {"priority": "7"}),
        ("pools", "gpu", {"gpu": "1", "selector": "a=b", "cpu_ratio": "1.5"}),
    ],
)
def test_a_form_makes_what_is_new_or_edits_what_is_known_and_never_the_other(
    site: Site, path: str, known: str, fields: dict[str, str]
) -> None:
    def state() -> list[object]:
        return [*site.store.queues(), *site.store.pools()]

    root = Browser(site).log_in("root2")
    assert 'name="name"' not in root.open(f"/{path}").text, "no form is open by itself"
    before = state()
    root.open(f"/{path}?new=1")
    answer = root.send(f"/{path}", fields | {"name": known})
    assert (answer.status_code, f"named {known} already exists" in answer.text) == (409, True)
    assert state() == before
    edit = root.open(f"/{path}?edit={known}").text
    assert 'name="name"' not in edit and f'name="edit" value="{known}"' in edit
    answer = root.send(f"/{path}", fields | {"edit": "unknown"})
    assert answer.status_code == 404
    assert state() == before
    assert root.send(f"/{path}", fields | {"edit": known}).status_code == 303
    assert root.send(f"/{path}", fields | {"name": "fresh"}).status_code == 303
    assert {"fresh", known} <= {one.name for one in (*site.store.queues(), *site.store.pools())}


def test_the_api_creates_or_edits_alone_where_it_is_asked_to(site: Site) -> None:
    body = {"gpu": True, "selector": {"a": "b"}}
    for path, name, sent in (("queues", "night", {}), ("pools", "gpu", body)):
        for headers, target, status in (
            ({"If-None-Match": "*"}, name, 409),
            ({"If-Match": "*"}, "fresh", 404),
            ({"If-None-Match": "*"}, "fresh", 200),
            ({"If-Match": "*"}, "fresh", 200),
            ({}, "fresh", 200),
            ({"If-Match": '"tag"'}, "fresh", 422),
        ):
            answer = site.call("PUT", f"/{path}/{target}", "root2", json=sent, headers=headers)
            assert answer.status_code == status, (path, target, headers, answer.text)
    site.store.delete_queue("fresh", site.now)
    assert site.call("PUT", "/queues/fresh", "root2", json={}, headers={"If-Match": "*"}).status_code == 404
    assert (
        site.call("PUT", "/queues/fresh", "root2", json={}, headers={"If-None-Match": "*"}).status_code == 200
    )


def test_nobody_is_approved_into_no_group(site: Site) -> None:
    inhabit(site)
    root = Browser(site).log_in("root2")
    root.open("/admin/users?state=pending")
    answer = root.send("/admin/users/carl", {"state": "active", "group": "", "back": "list"})
    assert (answer.status_code, "No group is chosen for carl." in answer.text) == (422, True)
    assert site.store.user("carl").state == "pending"


def test_a_queued_run_has_no_section_of_figures(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    run = site.run(name="waits")["id"]
    assert 'id="charts"' not in ann.open(f"/runs/{run}").text
    site.store.admit(run, site.now)
    assert 'id="charts"' in ann.open(f"/runs/{run}").text


def test_every_command_and_secret_of_a_page_can_be_copied() -> None:
    for path in TEMPLATES.glob("*.html"):
        text = path.read_text()
        assert "data-copy" not in text or path.name == "macros.html", f"{path.name}: use m.copied"
        for command in re.findall(r"<pre[^>]*>(.*?)</pre>", text, re.S):
            assert path.name == "macros.html" or not re.match(r"(ssh|curl|docker|ava) ", command), path.name


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_what_is_no_text_stands_out_from_its_ground_three_to_one() -> None:
    """WCAG 1.4.11: borders of fields, buttons and bars, squares of cards, fills."""
    css = (STATIC / "ava.css").read_text()
    schemes = re.findall(r":root \{(.*?)\n\s*\}", css, re.S)
    assert len(schemes) == 2
    for scheme in schemes:
        named = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", scheme))
        for ground in ("paper", "ground"):
            for name in ("edge", "good", "accent", "wait", "bad"):
                assert contrast(named[name], named[ground]) >= 3, (name, ground)
        for fill in ("accent", "wait", "bad"):
            assert contrast(named[fill], named["line"]) >= 3, f"{fill} on the bar's track"
    for rule in (r"^input, select, textarea \{", r"^button, \.button \{", r"^\.bar \{", r"^\.gpus i \{"):
        (line,) = [one for one in css.splitlines() if re.match(rule, one)]
        assert "var(--edge)" in line, rule
    assert not re.search(r"^code[^{]*\{[^}]*display: block", css, re.M), "a word of code stays in its line"
