"""`avadm ava apply` and its parts against a real API: what is done once is done, and no one is removed unasked."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

from ava.client import Client
from ava.domain.model import UserState
from tests.unit.ava.api.site import GIB
from tests.unit.ava.served import Served
from tests.unit.fakes.cli import refusals
from tests.unit.platform_users.conftest import Master

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh"
WANTED = f"""\
users:
  - {{name: zoe, email: zoe@example.org, ssh_keys: {{laptop: {KEY} zoe@home}}, default_group: robots, home: 100GiB}}
  - {{name: yan, email: yan@example.org, admin: true}}
  - {{name: ann, email: ann@example.org, default_group: robots}}
groups:
  - {{name: vision, members: [ann]}}
  - {{name: robots, members: [zoe, ann], quota: {{gpu: 4, memory: 64GiB, storage: 1TiB, disk: 200GiB}}}}
"""
Verb = Callable[..., Result]


def lines(done: Result) -> list[str]:
    assert done.exit_code == 0, (done.output, done.exception)
    return [line for line in done.stdout.splitlines() if not line.startswith("  ")]


def test_the_whole_file_is_brought_there_and_a_second_time_changes_nothing(
    served: Served, verb: Verb, root: Client
) -> None:
    done = verb("apply", "FILE", people=WANTED)
    assert "user zoe: make, zoe@example.org" in lines(done)
    assert "group robots: make with gpu 4, memory 64 GiB, storage 1 TiB, disk 200 GiB" in lines(done)
    quota = root.group("robots").quota
    assert (quota.gpu, quota.cpu, quota.memory, quota.storage) == (4, 0, 64 * GIB, 2**40)
    assert quota.disk == 200 * GIB
    assert {m.name for m in root.members("robots")} == {"zoe", "ann"}
    assert root.user("ann").default_group == root.user("zoe").default_group == "robots"
    assert root.user("yan").admin and root.home("zoe").chosen == 100 * GIB
    assert [k.value for k in root.keys_of("zoe")] == [KEY]
    before = served.state()
    again = verb("apply", "FILE")
    assert lines(again) == ["Nothing to change."]
    assert "--prune member:vision/ben" in again.stderr
    after = served.state()
    # The verb's own token came and went.
    assert after == before


def test_a_new_user_chooses_a_password_by_the_link_that_is_shown_once(served: Served, verb: Verb) -> None:
    done = json.loads(verb("users", "FILE", "--json", people=WANTED).stdout)
    links = {one["user"]: one["url"] for one in done["links"]}
    assert set(links) == {"zoe", "yan"}
    assert links["zoe"].startswith("https://ava.t.test/invitation#")
    with Client(served.url) as zoe:
        zoe.use_invitation(links["zoe"].partition("#")[2], "a password of her own")
        zoe.login("zoe", "a password of her own")
        assert zoe.me().name == "zoe"
    assert json.loads(verb("users", "FILE", "--json").stdout)["links"] == []
    assert "https://ava.t.test/invitation#" in verb("invite", "yan").stdout


def test_check_shows_the_difference_and_changes_nothing(served: Served, verb: Verb) -> None:
    before = served.state()
    done = verb("apply", "FILE", "--check", people=WANTED)
    assert "would group robots: member zoe: put in  (people.yml:7 groups[1].members[0])" in lines(done)
    assert lines(done)[-1].endswith("changes, none made.")
    assert {k: v for k, v in served.state().items() if k != "secrets"} == {
        k: v for k, v in before.items() if k != "secrets"
    }


def test_each_verb_does_its_part_alone(verb: Verb, root: Client) -> None:
    assert refusals(verb("groups", "FILE", people=WANTED))[0].check == "people-unknown"
    verb("users", "FILE")
    assert "robots" not in {g.name for g in root.groups(all=True)}
    verb("groups", "FILE")
    assert root.group("robots").quota.gpu == 0
    assert lines(verb("quotas", "FILE"))[0] == (
        "group robots: quota: gpu 0 → 4, memory 0 bytes → 64 GiB, storage none → 1 TiB, disk 0 bytes → 200 GiB"
    )
    assert root.group("robots").quota.gpu == 4


def test_what_the_file_leaves_out_of_a_quota_stays(verb: Verb, root: Client) -> None:
    before = root.group("vision").quota
    verb("quotas", "FILE", people="groups: [{name: vision, quota: {gpu: none}}]")
    assert root.group("vision").quota == before.model_copy(update={"gpu": None})


def test_names_that_no_one_has_are_all_reported_before_anything_is_done(served: Served, verb: Verb) -> None:
    people = "users: [{name: zoe, email: z@e.org, default_group: none-such}]\ngroups: [{name: vision, members: [noone, ann]}]"
    done = refusals(verb("apply", "FILE", people=people))
    assert [(f.found, f.where) for f in done] == [
        ("noone", "people.yml:2 groups[0].members[0]"),
        ("none-such", "people.yml:1 users[0].default_group"),
    ]
    assert "zoe" not in {user.name for user in served.db.users.list(limit=500).items}


def test_what_the_platform_refuses_is_reported_with_the_line_and_the_rest_is_done(
    verb: Verb, root: Client
) -> None:
    people = """\
users:
  - {name: zoe, email: ann@example.org}
  - {name: yan, email: yan@example.org}
"""
    done = verb("users", "FILE", people=people)
    assert done.return_value == 1
    assert "people.yml:2 users[0]" in done.stderr and "ann@example.org is taken" in done.stderr
    assert root.user("yan").state == "active"


def test_prune_takes_away_what_it_names_and_nothing_else(verb: Verb, root: Client, served: Served) -> None:
    served.db.keys.put("ann", "ssh", "old", KEY, served.now)
    served.db.groups.create("empty", root_quota(served), served.now)
    people = "users: [{name: ann, email: ann@example.org}]\ngroups: [{name: vision, members: [ann]}]"
    names = [
        "--prune",
        "member:vision/*",
        "--prune",
        "user:eve",
        "--prune",
        "group:empty",
        "--prune",
        "key:ann/old",
    ]
    verb("apply", "FILE", *names, people=people)
    assert [m.name for m in root.members("vision")] == ["ann"]
    assert [u.name for u in root.users(state="disabled")] == ["eve"], "ben and root2 were not named"
    assert {g.name for g in root.groups(all=True)} == {"vision"} and root.keys_of("ann") == []


def root_quota(served: Served) -> object:
    return next(g.quota for g in served.db.groups.list().items)


@pytest.mark.parametrize(
    "name", ["user:root2", "user:ann", "user:noone", "ben", "pool:gpu", "user:", "group:vision"]
)
def test_prune_refuses_what_is_none_what_the_file_has_and_who_asks(
    verb: Verb, served: Served, name: str
) -> None:
    people = "users: [{name: ann, email: ann@example.org}]\ngroups: [{name: vision, members: [ann, ben]}]"
    before = served.state()["users"]
    done = refusals(verb("apply", "FILE", "--prune", name, people=people))
    assert done[0].where == f"--prune {name}"
    assert served.state()["users"] == before


def test_a_registered_user_is_let_in_and_one_is_shut_out(verb: Verb, root: Client) -> None:
    root.register("newcomer", "new@example.org", "twelve characters")
    people = """\
users:
  - {name: newcomer, email: new@example.org}
  - {name: ben, email: ben@example.org, state: disabled}
"""
    assert lines(verb("users", "FILE", people=people)) == [
        "user newcomer: state: pending → active",
        "user ben: state: active → disabled",
    ]


def test_the_secret_goes_by_standard_input_alone_and_the_token_ends_with_the_verb(
    verb: Verb, master: Master, served: Served
) -> None:
    verb("apply", "FILE", "--as", "root2", people=WANTED)
    [(command, secret)] = master.sent
    assert len(secret) == 43 and secret not in command
    assert command.endswith("--name root2")
    with (
        Client(served.url, token=f"ava_x.{secret}") as gone,
        pytest.raises(Exception, match="Authentication required"),
    ):
        gone.me()


def test_a_platform_of_before_says_how_to_bring_it_up_to_date(verb: Verb, master: Master) -> None:
    master.reply = {"rc": 2, "err": "admin: error: argument verb: invalid choice: 'lend'\n"}
    [found] = refusals(verb("apply", "FILE", people=WANTED))
    assert "avadm apply ava" in found.remedy


def test_a_wrong_file_is_refused_before_anyone_is_asked(verb: Verb, master: Master) -> None:
    assert verb("apply", "FILE", people="users: [{name: zoe}]").exit_code != 0
    assert master.sent == []


def test_what_the_file_does_not_say_of_a_user_stays(verb: Verb, root: Client, served: Served) -> None:
    root.change_user("ben", state="disabled")
    people = """\
users:
  - {name: root2, email: root2@example.org}
  - {name: ben, email: ben@example.org}
"""
    assert lines(verb("users", "FILE", people=people)) == ["Nothing to change."]
    assert root.user("root2").admin and root.user("ben").state == "disabled"


def test_members_of_groups_that_the_file_does_not_have_are_found_by_a_pattern(
    verb: Verb, root: Client
) -> None:
    verb("apply", "FILE", "--prune", "member:vis*/ann", people="groups: []")
    assert [m.name for m in root.members("vision")] == ["ben"]


def test_the_file_vouches_for_the_addresses_that_it_has(served: Served, verb: Verb, root: Client) -> None:
    mail = {"email_confirmation": {"address": "https://ava.t.test"}}
    config = served.services.config
    served.services.config = config.model_validate(config.model_dump() | mail)
    served.db.users.create("mia", "mia@example.org", "hash", served.now, state=UserState.ACTIVE)
    people = "users: [{name: mia, email: mia@example.org}]"
    assert root.user("mia").email_confirmed is False
    assert lines(verb("users", "FILE", people=people))[0] == "user mia: email: confirm mia@example.org"
    assert root.user("mia").email_confirmed is True
    assert lines(verb("users", "FILE")) == ["Nothing to change."]
