"""Forms of people and what is theirs: approvals, groups, keys, tokens, data sets, usage, the account."""

from __future__ import annotations

import html
from pathlib import Path

import httpx

from tests.unit.ava.api.oidc_site import provided
from tests.unit.ava.api.pushed_images import pushing
from tests.unit.ava.api.site import GIB, WORD, Site, codes
from tests.unit.ava.web.browser import Browser
from tests.unit.ava.web.sample_site import inhabit

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh"


def test_a_day_of_an_administrator_by_forms_alone(site: Site) -> None:
    newcomer = Browser(site)
    newcomer.open("/register")
    wanted = {"name": "mia", "email": "mia@example.org", "password": WORD, "again": WORD}
    assert newcomer.send("/register", wanted | {"again": "other"}).status_code == 422
    assert newcomer.send("/register", wanted).headers["location"] == "/login?done=registered"
    root = Browser(site).log_in("root2")
    assert "1 account waits for approval" in root.open("/").text
    root.open("/admin/users?state=pending")
    root.send("/admin/groups", {"name": "robots", "gpu": "2", "cpu": "8", "memory": "32", "storage": ""})
    group = site.db.groups.get("robots")
    assert (group.quota.gpu, group.quota.cpu, group.quota.memory, group.quota.storage) == (
        2,
        8000,
        32 * GIB,
        None,
    )
    root.send("/admin/users/mia", {"state": "active", "group": "robots", "back": "list"})
    assert [u.name for u in site.db.groups.members("robots")] == ["mia"]
    mia = Browser(site).log_in("mia")
    assert "robots" in mia.open("/").text
    root.open("/groups/robots")
    assert root.send("/groups/robots/quota", {"gpu": "", "cpu": "0.5", "memory": "1"}).status_code == 303
    assert site.db.groups.get("robots").quota.gpu is None
    assert root.send("/groups/robots/quota", {"gpu": "-1"}).status_code == 422
    root.send("/queues", {"name": "day", "pool": "gpu", "gpu": "2", "cpu": "", "memory": "", "priority": "5"})
    assert {q.name: q.priority for q in site.db.queues.list()}["day"] == 5
    root.send("/pools", {"name": "fast", "gpu": "1", "selector": "a.io/fast=yes", "cpu_ratio": "1.5"})
    assert {p.name: p.cpu_ratio for p in site.db.pools.list()}["fast"] == 1.5
    root.send("/admin/users/mia", {"state": "disabled"})
    assert mia.ask("GET", "/").headers["location"] == "/login"
    log = root.open("/admin/audit?object=user+mia").text
    assert "registrations.make" in log
    assert "users.change" in log


def test_before_someone_leaves_a_group_or_is_shut_out_the_page_names_their_runs(site: Site) -> None:
    run = site.run("ben")["id"]
    root = Browser(site).log_in("root2")
    for page in ("/groups/vision", "/admin/users/ben"):
        assert 'href="/groups/vision/members/ben/remove"' in root.open(page).text
    assert f"/runs/{run}" in root.open("/groups/vision/members/ben/remove").text
    assert root.send("/groups/vision/members/ben/remove").status_code == 303
    assert site.db.runs.get(run).stop is None
    assert 'name="stop_runs"' in root.open("/admin/users/ben/disable").text
    root.send("/groups/vision/members/ben/remove", {"stop_runs": "1"})
    assert site.db.runs.get(run).stop is not None
    site.db.groups.add_member("vision", "ben", site.now)
    again = site.run("ben", "two")["id"]
    assert f"/runs/{again}" in root.open("/admin/users/ben/disable").text
    root.send("/admin/users/ben", {"state": "disabled", "stop_runs": "1"})
    assert site.db.users.get("ben").state == "disabled" and site.db.runs.get(again).stop is not None
    ann = Browser(site).log_in("ann")
    assert ann.ask("GET", "/groups/vision/members/ann/remove").status_code == 404
    assert ann.ask("GET", "/admin/users/ben/disable").status_code == 404


def test_queues_and_pools_are_deleted_when_nothing_uses_them(site: Site) -> None:
    run = site.run(queue="night", roles=[{"each": {"gpu": 1}}])["id"]
    root = Browser(site).log_in("root2")
    root.open("/queues")
    for path in ("/queues/night/delete", "/queues/default/delete", "/pools/gpu/delete"):
        answer = root.send(path)
        assert answer.status_code == 409, path
        assert 'role="alert"' in answer.text
    site.db.runs.stop(run, site.now, by="ann")
    assert root.send("/queues/night/delete").headers["location"] == "/queues?done=deleted"
    assert "night" not in {q.name for q in site.db.queues.list()}
    assert root.send("/pools/cpu/delete").headers["location"] == "/pools?done=deleted"
    assert "cpu" not in {p.name for p in site.db.pools.list()}
    assert f"/runs/{run}" in Browser(site).log_in("ann").open("/runs").text
    assert site.call("DELETE", "/queues/night", "root2").status_code == 404


def test_keys_and_tokens_are_made_shown_once_and_ended(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/keys")
    assert ann.send("/keys", {"kind": "ssh", "name": "laptop", "value": KEY}).status_code == 303
    assert "SHA256:" in ann.open("/keys").text
    assert ann.send("/keys", {"kind": "ssh", "name": "bad", "value": "ssh-rsa x"}).status_code == 422
    ann.send("/keys/ssh/laptop/delete")
    assert dict(site.db.keys.list("ann", "ssh")) == {}
    ann.open("/tokens")
    made = ann.send("/tokens", {"label": "ci", "days": "3"})
    secret = made.text.split('id="secret" tabindex="0">')[1].partition("<")[0]
    assert site.db.secrets.list("ann", "token")[0]["label"] == "ci"
    assert secret not in ann.open("/tokens").text
    ann.send(f"/tokens/{site.db.secrets.list('ann', 'token')[0]['id']}/end")
    assert list(site.db.secrets.list("ann", "token")) == []


def test_the_page_of_data_sets_says_what_their_limits_sum_up_to(site: Site) -> None:
    config = site.services.config
    site.services.config = config.model_copy(update={"data_set_quota": 4 * GIB, "owner_quota": 10 * GIB})
    ann = Browser(site).log_in("ann")
    assert "4 GiB where empty." in ann.open("/data").text
    assert ann.send("/data", {"name": "faces", "quota": "7"}).status_code == 303
    assert site.db.data_sets.list().items[0].quota == 7 * GIB
    assert "Limits of your data sets: 7 GiB of 10 GiB." in ann.open("/data").text
    refused = ann.send("/data", {"name": "more", "quota": ""})
    assert refused.status_code == 409
    assert "All data sets of ann may have 10 GiB together." in refused.text
    assert ann.send("/data", {"name": "more", "quota": "much"}).status_code == 422


def test_a_data_set_is_made_shared_taken_back_and_deleted(site: Site) -> None:
    ann, ben = Browser(site).log_in("ann"), Browser(site).log_in("ben")
    ann.open("/data")
    where = ann.send("/data", {"name": "faces"}).headers["location"].partition("?")[0]
    assert ben.ask("GET", where).status_code == 404
    assert ann.send(f"{where}/share", {"kind": "group", "name": "vision"}).status_code == 303
    assert "faces" in ben.open("/data").text
    shown = ben.open(where)
    assert shown.status_code == 200
    assert "Shared with" not in shown.text
    for path in ("/share", "/delete", "/limit"):
        assert ben.send(where + path, {"kind": "user", "name": "ben"}).status_code == 403, path
    assert "faces" in ben.open("/trainings/new").text
    ann.send(f"{where}/shares/group/vision/end")
    assert ben.ask("GET", where).status_code == 404
    ann.send(f"{where}/delete")
    assert "faces" not in ann.open("/data").text


def test_usage_of_a_month_is_shown_and_exported(site: Site) -> None:
    inhabit(site)
    ann = Browser(site).log_in("ann")
    page = ann.open("/usage?month=2026-11").text
    assert "resnet" not in page
    link = page.split('<a class="button" href="/api/v1/usage')[1].partition('"')[0].replace("&amp;", "&")
    exported = ann.ask("GET", "/api/v1/usage" + link)
    assert exported.headers["content-type"].startswith("text/csv")
    row = exported.text.splitlines()[1].split(",")
    assert row[2:4] == ["ann", "vision"]
    assert f">{round(float(row[5]), 2):g}</td>" in page
    assert Browser(site).log_in("eve").ask("GET", "/usage?group=vision").status_code == 404
    assert Browser(site).log_in("ben").ask("GET", "/usage?user=ann").status_code == 403


def test_the_account_page_changes_what_is_ones_own(site: Site) -> None:
    inhabit(site)
    ann = Browser(site).log_in("ann")
    other = Browser(site).log_in("ann")
    ann.open("/account")
    ann.send("/account/group", {"group": "speech"})
    assert site.db.users.get("ann").default_group == "speech"
    assert ann.send("/account/group", {"group": "nobodys"}).status_code in (404, 409)
    wrong = ann.send(
        "/account/password", {"current": "no", "new": "a new good password", "again": "a new good password"}
    )
    assert (wrong.status_code, "a new good password" in wrong.text) == (403, False)
    right = {"current": WORD, "new": "a new good password", "again": "a new good password"}
    assert ann.send("/account/password", right).status_code == 303
    assert other.ask("GET", "/").status_code == 303
    assert ann.ask("GET", "/").status_code == 200


def test_an_invited_person_chooses_a_password_and_logs_in_with_it(site: Site) -> None:
    made = site.call("POST", "/users/ann/invitation", "root2").json()["invitation"]
    ann = Browser(site)
    # The page is the same for everybody: the invitation comes behind the #, which no server sees.
    assert "data-from-address" in ann.open("/invitation").text
    wanted = {"invitation": made, "password": "another good password", "again": "another good password"}
    assert ann.send("/invitation", wanted | {"again": "other"}).status_code == 422
    assert ann.send("/invitation", wanted).headers["location"] == "/login?done=chosen"
    refused = ann.send("/invitation", wanted)
    assert refused.status_code == 403 and "not valid (any more)" in refused.text
    assert made not in str(ann.open("/login?done=chosen").url)
    assert "Your password is set" in ann.open("/login?done=chosen").text


def test_an_administrator_makes_invitations_each_shown_once(site: Site) -> None:
    root = Browser(site).log_in("root2")
    root.open("/admin/users")
    # Without a password the new person's page has the link at once.
    made = root.send("/admin/users", {"name": "mia", "email": "mia@example.org", "password": ""})
    assert made.status_code == 201
    first = _link(made.text)
    assert "This is the link for mia. It is shown this once." in made.text
    assert first not in root.open("/admin/users/mia").text
    second = _link(root.send("/admin/users/mia/invitation").text)
    assert first != second and first.startswith("https://ava.test/invitation#")
    mia, word = Browser(site), "another good password"
    mia.open("/invitation")
    wanted = {"invitation": first.partition("#")[2], "password": word, "again": word}
    assert mia.send("/invitation", wanted).headers["location"] == "/login?done=chosen"
    # The other one is void then.
    assert mia.send("/invitation", wanted | {"invitation": second.partition("#")[2]}).status_code == 403
    log = [(row["action"], row["object"]) for row in site.db.audit.list().items]
    assert log.count(("users.invite", "user mia")) == 2
    assert first.partition("#")[2] not in root.open("/admin/audit").text


def test_no_others_invite_and_no_one_who_cannot_login_is_invited(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/")
    assert ann.send("/admin/users/ben/invitation").status_code == 404
    assert ann.send("/admin/users/ann/invitation").status_code == 403
    root = Browser(site).log_in("root2")
    assert root.ask("POST", "/admin/users/ann/invitation").status_code == 403, "without the form's token"
    assert "/admin/users/ben/invitation" in root.open("/admin/users/ben").text
    root.send("/admin/users/ben", {"state": "disabled"})
    assert "/admin/users/ben/invitation" not in root.open("/admin/users/ben").text
    assert root.send("/admin/users/ben/invitation").status_code == 409


def test_who_is_not_let_in_by_the_sites_own_login_is_reported_why_on_a_page(
    site: Site, tmp_path: Path
) -> None:
    """A browser is sent there and back by redirections: no one is shown JSON."""
    fake = provided(site, tmp_path)
    html = {"accept": "text/html,application/xhtml+xml"}
    mia = Browser(site)
    query = fake.browser(mia.ask("GET", "/api/v1/oidc/login", headers=html).headers["location"])
    for _ in range(2):  # the second time the answer was used
        answer = mia.ask("GET", "/api/v1/oidc/callback", params=query, headers=html)
        assert answer.headers["content-type"].startswith("text/html")
        assert "content-security-policy" in answer.headers
    assert answer.status_code == 400
    query = fake.browser(mia.ask("GET", "/api/v1/oidc/login", headers=html).headers["location"])
    waits = mia.ask("GET", "/api/v1/oidc/callback", params=query, headers=html)
    assert waits.status_code == 403
    assert "This account may not log in yet." in waits.text
    query = fake.browser(mia.ask("GET", "/api/v1/oidc/login", headers=html).headers["location"])
    denied = mia.ask(
        "GET", "/api/v1/oidc/callback", params={"error": "x<y", "state": query["state"]}, headers=html
    )
    assert denied.status_code == 401
    assert "has not let you in" in denied.text
    assert "x&lt;y" in denied.text
    # A program is reported as by all else of the API.
    assert codes(site.call("GET", "/oidc/callback", headers={"accept": "*/*"})) == ["login-refused"]


def test_pushed_images_are_shown_with_their_space_and_deleted(site: Site) -> None:
    inhabit(site)
    ann = Browser(site).log_in("ann")
    shown = ann.open("/images").text
    wanted = (
        "users/ann/torch:2.1",
        "latest",
        "3 GiB",
        "8 GiB of 50 GiB used",
        "1 GiB are deleted",
        "without a tag",
        "docker push registry.site:5004/users/ann",
    )
    assert [w for w in wanted if w not in shown] == []
    assert "The images of groups/vision take up all the space that they may have. Nothing more" in shown
    # What is in use has no button; a member's definition is not shown by its name.
    assert 'value="users/ann/torch:2.1"' in shown
    assert 'value="users/ann/nlp/bert:1"' not in shown
    assert "a definition of ben" in shown
    done = ann.send("/images/delete", {"image": "users/ann/torch:2.1"})
    assert (done.status_code, done.headers["location"]) == (303, "/images?done=deleted")
    refused = ann.send("/images/delete", {"image": "users/ann/nlp/bert:1"})
    assert (refused.status_code, "The image is in use." in refused.text) == (409, True)
    assert "definition own-image" in refused.text
    assert ann.send("/images/delete", {"image": "users/ben/torch:1"}).status_code == 404
    assert ann.ask("GET", "/images?user=ben").status_code == 404
    assert "users/ann/torch" not in Browser(site).log_in("ben").open("/images").text


def test_without_an_answer_of_the_registry_the_sites_images_are_shown(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    assert "docker push" not in ann.open("/images").text
    counted = pushing(site)
    counted.accounts["users/ann"] = httpx.Response(502)
    answer = ann.open("/images")
    assert answer.status_code == 200
    assert "nothing can be pushed" in answer.text
    assert "Offered by the site" in answer.text
    refused = ann.send("/images/delete", {"image": "users/ann/torch:1"})
    assert (refused.status_code, "The registry does not answer." in refused.text) == (503, True)


def _link(page: str) -> str:
    return html.unescape(page.split('id="secret" tabindex="0">')[1].partition("<")[0])
