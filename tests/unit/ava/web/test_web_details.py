"""Small things of pages that a reader stumbles over: what is offered, how times and objects are named, what a form overwrites."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ava.domain.folders import Folder, FolderKind
from ava.images.catalogue import Offered, completed
from ava.services.logs.interface import NoLogs
from ava.web import assets
from ava.web.i18n import Translator
from tests.unit.ava.api.site import NOW, Site
from tests.unit.ava.web.browser import Browser
from tests.unit.ava.web.sample_site import inhabit

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
    quota = {"gpu": 4, "cpu": 32_000, "memory": 2**38, "storage": None}
    assert site.call("PUT", "/groups/vision/quota", "root2", json=quota).status_code == 200
    page = root.open("/admin/audit?action=groups.quota").text
    report = re.findall(r"<code>([^<]+)</code>", page[page.index('class="raw"') :])
    assert {"quota gpu: 4", "quota cpu: 32", "quota memory: 256 GiB", "quota storage: no limit"} <= set(
        report
    )
    assert site.call("GET", "/audit?action=none", "root2").json()["items"] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_times_have_one_format_in_every_language(language: str) -> None:
    assert Translator(language).time(NOW) == "2026-11-24 12:00:00 UTC"


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
        return [*site.db.queues.list(), *site.db.pools.list()]

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
    assert {"fresh", known} <= {one.name for one in (*site.db.queues.list(), *site.db.pools.list())}


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
    site.db.queues.delete("fresh", site.now)
    assert site.call("PUT", "/queues/fresh", "root2", json={}, headers={"If-Match": "*"}).status_code == 404
    assert (
        site.call("PUT", "/queues/fresh", "root2", json={}, headers={"If-None-Match": "*"}).status_code == 200
    )


def test_no_one_is_approved_into_no_group(site: Site) -> None:
    inhabit(site)
    root = Browser(site).log_in("root2")
    root.open("/admin/users?state=pending")
    answer = root.send("/admin/users/carl", {"state": "active", "group": "", "back": "list"})
    assert (answer.status_code, "No group is chosen for carl." in answer.text) == (422, True)
    assert site.db.users.get("carl").state == "pending"


def test_a_queued_run_has_no_section_of_figures(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    run = site.run(name="waits")["id"]
    assert 'id="charts"' not in ann.open(f"/runs/{run}").text
    site.db.runs.admit(run, site.now)
    assert 'id="charts"' in ann.open(f"/runs/{run}").text


def test_the_page_of_a_run_says_that_no_logs_are_kept(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    run = site.run(name="quiet")["id"]
    none = "This site keeps no logs of runs."
    page = ann.open(f"/runs/{run}").text
    assert ('id="log"' in page, none in page) == (True, False)
    site.services.logs = NoLogs()
    page = ann.open(f"/runs/{run}").text
    assert ('id="log"' in page, none in page) == (False, True)


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


def test_the_button_that_removes_is_read_on_its_own_ground() -> None:
    css = (STATIC / "ava.css").read_text()
    (rule,) = re.findall(r"^\.main\.bad:is\(button, \.button\) \{(.*?)\}", css, re.M)
    assert "background: var(--bad)" in rule and "color: var(--accent-ink)" in rule
    inks = re.findall(r"--accent-ink: (#[0-9a-f]{6})", css)
    for ink, ground in zip(inks, re.findall(r"--bad: (#[0-9a-f]{6})", css), strict=True):
        assert contrast(ink, ground) >= 4.5


@pytest.mark.parametrize("path", ["/queues?new=1", "/admin/groups", "/groups/vision"])
def test_a_form_of_quotas_explains_empty_fields_once(site: Site, path: str) -> None:
    inhabit(site)
    page = Browser(site).log_in("root2").open(path).text
    assert page.count("An empty field sets no limit.") == 1
    assert "empty: no limit" not in page


def test_the_page_of_a_user_has_one_main_button_in_each_part(site: Site) -> None:
    inhabit(site)
    root = Browser(site).log_in("root2")
    page = root.open("/admin/users/ann").text
    parts = re.split(r"<section ", page.split('<main id="main"', 1)[1])
    assert [re.findall(r"<h2[^>]*>(.*?)</h2>", part)[0] for part in parts[1:]] == [
        "Groups",
        "Password",
        "Account and rights",
    ]
    for part in parts:
        assert len(re.findall(r'class="(?:button )?main"', part)) <= 1, part
    assert "Disable" not in parts[0] and "Make administrator" not in parts[0]
    assert "Make an invitation" in parts[2] and 'name="new"' in parts[2]
    (disable,) = re.findall(r'<a class="([^"]*)" href="/admin/users/ann/disable">', parts[3])
    assert disable == "button bad"
    waiting = root.open("/admin/users/carl").text
    assert re.search(r'<button class="main">Approve', waiting)
    assert re.search(r'action="/admin/users/carl/delete".*?<button class="bad">Delete', waiting, re.S)


def test_data_sets_are_filtered_by_tabs_and_created_by_buttons(site: Site) -> None:
    inhabit(site)
    root = Browser(site).log_in("root2")
    for path, chosen in (("/data", "Yours and shared with you"), ("/data?all=1", "All users")):
        page = root.open(path).text
        (tabs,) = re.findall(r'<nav class="tabs".*?</nav>', page, re.S)
        assert re.findall(r'aria-current="page">(.*?)</a>', tabs) == [chosen]
        (buttons,) = re.findall(r'<div class="actions">(.*?)</div>', page, re.S)
        assert {label.split(" from ")[0] for label in re.findall(r">([^<]+)</a>", buttons)} == {
            "New data set"
        }
    assert 'class="tabs"' not in Browser(site).log_in("ann").open("/data").text


def test_the_form_of_a_service_asks_for_replicas_in_one_part(site: Site) -> None:
    inhabit(site)
    page = Browser(site).log_in("ann").open("/services/new").text
    parts = [part for part in re.split(r"<section ", page) if "replicas" in part.lower() and "<input" in part]
    fields = {"worker.replicas", "scaling.least", "scaling.most", "scaling.requests"}
    holding = [part for part in parts if any(f'name="{name}"' in part for name in fields)]
    assert len(holding) == 1 and all(f'name="{name}"' in holding[0] for name in fields)
    assert page.count('name="worker.replicas"') == 1


def test_no_script_formats_times_by_the_browser() -> None:
    for path in STATIC.glob("*.js"):
        assert not re.search(r"DateTimeFormat|toLocale\w*String", path.read_text()), path.name


def test_a_data_set_of_a_form_is_written_to_only_once_it_is_chosen(site: Site) -> None:
    inhabit(site)
    page = Browser(site).log_in("ann").open("/trainings/new").text
    (row,) = re.findall(r'<ul class="plainlist sets">(.*?)</ul>', page, re.S)
    assert re.search(r'class="check write">.*? Write to imagenet-small</label>', row)
    css = (STATIC / "ava.css").read_text()
    assert re.search(r'\.sets li:not\(:has\(\[name="data_set"\]:checked\)\) \.write \{ display: none', css)


def test_the_form_offers_images_of_the_site(site: Site) -> None:
    inhabit(site)
    rows = completed({"ava-pytorch": {"image": "registry.test/pytorch:1"}})
    site.services.config.images["ava-pytorch"] = Offered.model_validate(rows["ava-pytorch"])
    offered = [row["name"] for row in site.call("GET", "/images", "ann").json()]
    page = Browser(site).log_in("ann").open("/trainings/new").text
    shown = re.findall(r'data-fill="f-image" data-value="([^"]+)"', page)
    assert shown and set(shown) <= set(offered)
    assert "data-fill" in (STATIC / "ava.js").read_text().replace("dataset.fill", "data-fill")


def test_the_page_of_a_group_has_its_storage(site: Site) -> None:
    inhabit(site)
    page = Browser(site).log_in("root2").open("/groups/speech").text
    (storage,) = re.findall(r'<dl class="shares storage">(.*?)</dl>', page, re.S)
    assert "—" in storage and "of 2 TiB" in storage
    site.db.folders.record(Folder(FolderKind.GROUP, "speech", used=2**40, files=7, seen=site.now))
    page = Browser(site).log_in("root2").open("/groups/speech").text
    (storage,) = re.findall(r'<dl class="shares storage">(.*?)</dl>', page, re.S)
    assert "<b>1 TiB</b>" in storage and 'aria-label="1 TiB of 2 TiB used"' in storage


def test_links_above_a_title_do_not_repeat_it(site: Site) -> None:
    ids = inhabit(site)
    ann = Browser(site).log_in("ann")
    for path in (f"/runs/{ids['running']}", f"/definitions/{ids['definition']}", f"/data/{ids['data']}"):
        page = ann.open(path).text
        (title,) = re.findall(r"<h1>\s*([^\s<]+)", page)
        above = re.findall(r'<p class="crumbs">(.*?)</p>', page, re.S)
        assert above and f">{title}<" not in above[0], path


def test_what_changes_an_object_is_named_edit(site: Site) -> None:
    ids = inhabit(site)
    ann, root = Browser(site).log_in("ann"), Browser(site).log_in("root2")
    pages = [ann.open(path).text for path in ("/trainings", f"/definitions/{ids['definition']}")]
    for page in [*pages, root.open("/admin/users").text]:
        assert ">Edit</a>" in page and ">Change</a>" not in page


def test_what_is_expected_begins_a_sentence_beside_a_field(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/trainings/new")
    form = {"like": "single", "name": "No Good", "image": "a:1", "worker.cpu": "1"}
    text = ann.send("/trainings/check", form).text
    assert "wanted:" not in text
    assert re.search(r'id="e-name"[^>]*>[^<]*\. Expected: [^<]*\.', text)
