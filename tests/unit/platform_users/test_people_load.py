"""A file of people: all that is wrong with it in one pass, each with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from avadm.errors import AvadmError
from avadm.platform_users.load import load
from avadm.platform_users.model import People, amount

GOOD = """\
users:
  - name: zoe
    email: zoe@example.org
    ssh_keys: {laptop: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh zoe@home}
    default_group: robots
    home: 100GiB
groups:
  - name: robots
    members: [zoe, ann]
    quota: {gpu: 8, cpu: 1.5, memory: 512GiB, storage: none}
"""


def found(tmp_path: Path, text: str) -> list[tuple[str, str, str]]:
    path = tmp_path / "people.yml"
    path.write_text(text)
    with pytest.raises(AvadmError) as caught:
        load(path)
    assert caught.value.exit_code == 2
    for finding in caught.value.findings:
        assert finding.found and finding.wanted and finding.remedy, finding
    return [(f.check, f.where, f.remedy) for f in caught.value.findings]


def test_amounts_are_counted_as_the_platform_counts_them(tmp_path: Path) -> None:
    (tmp_path / "people.yml").write_text(GOOD)
    people = load(tmp_path / "people.yml").people
    assert people.groups[0].quota.amounts() == {"gpu": 8, "cpu": 1500, "memory": 512 * 2**30, "storage": None}
    assert amount("storage", "1.5 TiB") == 3 * 2**39
    assert (amount("memory", "0"), amount("gpu", "none")) == (0, None)


def test_an_empty_file_wants_nothing(tmp_path: Path) -> None:
    (tmp_path / "people.yml").write_text("# no users yet\n")
    assert load(tmp_path / "people.yml").people == People()


def test_every_error_comes_in_one_pass_with_its_line(tmp_path: Path) -> None:
    text = """\
users:
  - name: Zoe
    email: nowhere
    password: secret secret
    admn: true
  - {name: ben, email: b@example.org, state: gone, home: 12 potatoes}
groups:
  - {name: robots, members: ben, quota: {gpu: 1.5, cpu: x, memory: 10GB}}
"""
    places = {where for _, where, _ in found(tmp_path, text)}
    assert places == {
        "people.yml:2 users[0].name",
        "people.yml:3 users[0].email",
        "people.yml:4 users[0].password",
        "people.yml:5 users[0].admn",
        "people.yml:6 users[1].state",
        "people.yml:6 users[1].home",
        "people.yml:8 groups[0].members",
        "people.yml:8 groups[0].quota.gpu",
        "people.yml:8 groups[0].quota.cpu",
        "people.yml:8 groups[0].quota.memory",
    }


def test_a_password_is_refused_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "people.yml").write_text("users: [{name: zoe, email: z@e.org, password: hunter2-hunter2}]\n")
    with pytest.raises(AvadmError) as caught:
        load(tmp_path / "people.yml")
    [finding] = caught.value.findings
    assert "no secrets" in finding.remedy
    assert "hunter2" not in str(caught.value.findings)


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("users: [{name: a, email: a@e.org}, {name: a, email: b@e.org}]", "people-twice"),
        ("users: [{name: a, email: a@e.org}, {name: b, email: A@e.org}]", "people-twice"),
        ("groups: [{name: g}, {name: g}]", "people-twice"),
        ("groups: [{name: g, members: [ann, ann]}]", "people-twice"),
        (
            "users: [{name: a, email: a@e.org, default_group: g}]\ngroups: [{name: g, members: [ann]}]",
            "people-default-group",
        ),
        ("- users", "wrong-value"),
        ("users: [", "yaml-syntax"),
    ],
)
def test_what_does_not_go_together_is_reported(tmp_path: Path, text: str, check: str) -> None:
    assert [c for c, _, _ in found(tmp_path, text + "\n")] == [check]


@pytest.mark.parametrize("made", [lambda path: None, lambda path: path.mkdir()], ids=["missing", "folder"])
def test_what_cannot_be_read_is_reported_as_a_file_of_people_and_not_as_a_site(
    tmp_path: Path, made: Callable[[Path], None]
) -> None:
    path = tmp_path / "people.yml"
    made(path)
    with pytest.raises(AvadmError) as caught:
        load(path)
    (finding,) = caught.value.findings
    assert finding.wanted == "a file of users and groups"
    assert "site" not in f"{finding.what} {finding.remedy}"
