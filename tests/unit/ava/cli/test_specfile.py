"""What a file says is what is started: amounts, keys that stand twice, aliases, and fields at the wrong level."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ava.cli import specfile
from ava.domain.problems import ApiError
from ava.web.definition_form import written

HEAD = "name: n\nimage: a/b\n"


def load(tmp_path: Path, text: str) -> specfile.SpecFile:
    file = tmp_path / "t.yml"
    file.write_text(text)
    return specfile.load(file)


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(ApiError) as caught:
        load(tmp_path, text)
    return "\n".join(f"{p.what} {p.where} {p.found} {p.wanted} {p.remedy}" for p in caught.value.problems)


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [("16", 16000), ("1.5", 1500), ("0.25", 250), ("'2'", 2000), ("500m", 500), ("4 cores", 4000)],
)
def test_cpu_is_in_cores(tmp_path: Path, text: str, thousandths: int) -> None:
    found = load(tmp_path, HEAD + f"roles: [{{each: {{cpu: {text}, cpu_limit: {text}}}}}]\n")
    each = found.spec["roles"][0]["each"]
    assert (each["cpu"], each["cpu_limit"]) == (thousandths, thousandths)


@pytest.mark.parametrize("text", ["2000", "0", "-1", "true", ".inf", ".nan"])
def test_what_can_be_no_cores_is_refused(tmp_path: Path, text: str) -> None:
    assert "roles[0].each.cpu" in refused(tmp_path, HEAD + f"roles: [{{each: {{cpu: {text}}}}}]\n")


def test_an_alias_is_converted_once(tmp_path: Path) -> None:
    found = load(
        tmp_path, HEAD + "roles:\n- {name: a, each: &e {cpu: 2, memory: 1GiB}}\n- {name: b, each: *e}\n"
    )
    assert [role["each"] for role in found.spec["roles"]] == [{"cpu": 2000, "memory": 2**30}] * 2


def test_one_pod_may_say_what_it_needs_at_the_top(tmp_path: Path) -> None:
    found = load(tmp_path, HEAD + "gpu: 1\ncpu: 4\nmemory: 8GiB\n")
    assert found.spec["roles"] == [{"each": {"gpu": 1, "cpu": 4000, "memory": 2**33}}]
    assert not {"gpu", "cpu", "memory"} & found.spec.keys()
    assert "t.yml:4: roles[0].each.memory" in refused(tmp_path, HEAD + "gpu: 1\nmemory: many\n")
    both = refused(tmp_path, HEAD + "gpu: 1\nroles: [{name: worker}]\n")
    assert "Move it to each of a role" in both


def test_a_field_at_the_wrong_level_is_reported_its_own(tmp_path: Path) -> None:
    reply = refused(
        tmp_path, HEAD + "each: {gpu: 1}\nreplicas: 2\nroles: [{image: a/c, gpus: 1, eech: {}}]\n"
    )
    assert "Did you mean each?" in reply, "eech, within a role"
    assert reply.count("Move it to an item of roles") == 2, "each and replicas"
    assert "Move it to the top of the definition." in reply, "image"


def test_no_hint_repeats_the_name_itself(tmp_path: Path) -> None:
    from ava.schemas.validation import known_fields

    for name in known_fields():
        assert f"Did you mean {name}?" not in refused(
            tmp_path, f"image: a/b\nname: n\nroles: [{{git: {{{name}: 1}}}}]\n"
        )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("env: {A: '1'}\nretries: 1\nenv: {B: '2'}\n", "env"),
        ("roles: [{name: a, name: b}]\n", "name"),
        ("roles:\n- each:\n    cpu: 1\n    cpu: 2\n", "cpu"),
    ],
)
def test_a_key_that_stands_twice_is_an_error_with_both_lines(tmp_path: Path, text: str, key: str) -> None:
    reply = refused(tmp_path, HEAD + text)
    assert reply.startswith(f"Duplicate key {key}. ") and "t.yml:" in reply and "first at line" in reply


def test_a_merge_may_be_overridden(tmp_path: Path) -> None:
    found = load(
        tmp_path, HEAD + "roles:\n- {name: a, each: &e {cpu: 2}}\n- {name: b, each: {<<: *e, cpu: 3}}\n"
    )
    assert [role["each"]["cpu"] for role in found.spec["roles"]] == [2000, 3000]


def bomb(levels: int, way: str) -> str:
    if way == "merge":
        lines = ["a0: &a0 {A: x}"] + [
            f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, levels)
        ]
    else:
        lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return HEAD + "\n".join(lines) + f"\nenv: *a{levels - 1}\n"


@pytest.mark.parametrize(
    "text",
    [
        bomb(9, "list"),
        bomb(9, "merge"),
        HEAD + "env: &e {A: *e}\n",
        "[" * 500_000,
        "{a: " * 100_000,
        "- " * 200_000,
    ],
    ids=["lists", "merges", "itself", "brackets", "braces", "dashes"],
)
def test_a_file_that_stands_for_very_much_is_refused_at_once(tmp_path: Path, text: str) -> None:
    began = time.thread_time()
    assert "cannot be understood" in refused(tmp_path, text)
    assert time.thread_time() - began < 5


@pytest.mark.parametrize("name", ["r1aaaaaaaaaaa", "t5basefinetun", "2026", "resnet-50_v1.5"])
def test_a_name_that_meets_the_rule_is_taken(tmp_path: Path, name: str) -> None:
    assert load(tmp_path, f"name: '{name}'\nimage: a/b\n").name == name


def test_a_definition_as_its_file_has_it_is_the_same_again(tmp_path: Path) -> None:
    spec = {
        "image": "a/b",
        "distributed": "tensorflow",
        "chief": False,
        "roles": [
            {"name": "worker", "each": {"cpu": 2500, "cpu_limit": 3000, "memory": 2**30}, "ends_run": False}
        ],
    }
    again = load(tmp_path, f"name: n\n{written(spec)}").spec
    assert again["chief"] is False
    assert again["roles"][0]["each"] == spec["roles"][0]["each"]  # type: ignore[index]
