"""The forms: what they make is what the API would make of the same words; what is wrong is reported before and after."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ava.domain.spec import Spec
from ava.web import definition_form, forms
from tests.unit.ava.api.site import GIB, NOW, Site
from tests.unit.ava.web.browser import Browser
from tests.unit.ava.web.sample_site import inhabit

SINGLE = {
    "like": "single",
    "name": "mnist",
    "image": "registry.local/torch:2",
    "command": "python train.py --lr 0.1",
    "worker.replicas": "1",
    "worker.gpu": "2",
    "worker.cpu": "4",
    "worker.memory": "16",
    "queue": "default",
    "do": "start",
}
MPI = SINGLE | {
    "like": "mpi",
    "launcher.gpu": "0",
    "launcher.cpu": "0.5",
    "launcher.memory": "1",
    "worker.replicas": "3",
}
TF = SINGLE | {
    "like": "tensorflow",
    "ps.replicas": "1",
    "ps.gpu": "0",
    "ps.cpu": "1",
    "ps.memory": "2",
    "chief.replicas": "0",
    "worker.replicas": "2",
    "worker.gpu": "1",
}


def newest(site: Site) -> Any:
    # Lists have outlines of definitions alone.
    return site.db.runs.get(site.db.runs.list(owner="ann", limit=1).items[0].id)


def test_a_single_training_starts_as_it_was_filled_in(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/trainings/new")
    more = {
        "env": "LR=0.1\nDEBUG=",
        "hours": "1.5",
        "retries": "2",
        "priority": "70",
        "gpu_model": "",
        "node": "",
    }
    answer = ann.send("/trainings/new", SINGLE | more)
    run = newest(site)
    assert answer.headers["location"] == f"/runs/{run.id}?done=started"
    assert run.spec["command"] == ["python", "train.py", "--lr", "0.1"]
    assert run.spec["env"] == {"LR": "0.1", "DEBUG": ""}
    assert (run.spec["time_limit"], run.spec["retries"], run.priority) == (5400, 2, 70)
    assert (run.asks.gpu, run.asks.cpu, run.asks.memory) == (2, 4000, 16 * GIB)
    assert "It is started." in ann.open(answer.headers["location"]).text


def test_tensorflow_and_mpi_trainings_have_their_roles(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/trainings/new?like=mpi")
    assert ann.send("/trainings/new", MPI | {"name": "mpi"}).status_code == 303
    roles = {r["name"]: r for r in newest(site).spec["roles"]}
    assert (set(roles), roles["worker"]["replicas"]) == ({"launcher", "worker"}, 3)
    assert roles["launcher"]["ends_run"]
    assert roles["launcher"]["each"]["cpu"] == 500
    assert ann.send("/trainings/new", TF | {"name": "tf"}).status_code == 303
    spec = newest(site).spec
    assert ([r["name"] for r in spec["roles"]], spec["distributed"]) == (["ps", "worker"], "tensorflow")


def test_a_workbench_starts_and_a_second_click_makes_no_second_one(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/workbenches/new")
    data = {"name": "notebook", "image": "registry.local/base:1", "worker.cpu": "2", "worker.memory": "8"}
    data |= {"key": "one-click", "do": "start"}
    first, second = ann.send("/workbenches/new", data), ann.send("/workbenches/new", data)
    assert first.headers["location"] == second.headers["location"]
    assert [r.kind.value for r in site.db.runs.list(owner="ann").items] == ["workbench"]


def test_what_is_wrong_is_reported_beside_its_field_and_what_was_typed_stays(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/trainings/new")
    before = site.state()
    answer = ann.send(
        "/trainings/new", SINGLE | {"name": "No Good", "worker.cpu": "many", "worker.gpu": "99"}
    )
    assert answer.status_code == 422
    assert site.state() == before
    text = answer.text
    assert 'value="No Good"' in text
    assert 'value="many"' in text
    for field in ("name", "worker.cpu"):
        assert re.search(rf'<p class="error" id="e-{re.escape(field)}">\S', text), field
        assert re.search(rf'aria-describedby="e-{re.escape(field)}[^"]*" aria-invalid="true"', text), field
    assert '<p class="error" id="e-worker.memory"></p>' in text
    assert "1 to 200 lower-case letters" in text


def test_what_is_wrong_comes_beside_its_field_while_one_types(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/trainings/new")
    typed = SINGLE | {"name": "No Good", "image": "", "worker.cpu": "many"}
    text = ann.send("/trainings/check", typed).text
    beside = dict(re.findall(r'<p class="error" id="e-([a-z_.]+)" hx-swap-oob="[^"]*">(.*?)</p>', text))
    assert "lower-case letters" in beside["name"]
    assert "Invalid value for cpu." in beside["worker.cpu"]
    assert beside["worker.gpu"] == ""
    # Of an empty field nothing new is stated: what stands there since the form was sent stays.
    assert "image" not in beside


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"worker.gpu": "99"}, "It asks for more GPUs than the whole quota of group vision."),
        ({"queue": "vip"}, "There is no queue vip."),
        ({"env": "NVIDIA_VISIBLE_DEVICES=all"}, "The platform sets NVIDIA_VISIBLE_DEVICES itself."),
        ({"env": "novalue"}, "A line is not NAME=VALUE."),
        (
            {"git_url": "https://u:secret@host/x", "git_commit": "abcdef0"},
            "The URL holds a user or a password.",
        ),
        ({"worker.memory": "1e9"}, "Invalid value for memory."),
        ({"name": "x" * 300}, "Invalid value for name."),
        ({"gpu_model": "V100", "worker.gpu": "0"}, "A GPU model is named and no GPU is asked for."),
    ],
)
def test_the_check_says_what_the_api_would_refuse_and_makes_nothing(
    site: Site, change: dict[str, str], message: str
) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/trainings/new")
    before = site.state()
    answer = ann.send("/trainings/check", SINGLE | change, headers={"hx-request": "true"})
    assert (answer.status_code, message in answer.text) == (200, True), answer.text
    assert "secret@" not in answer.text
    assert site.state() == before
    sent = ann.send("/trainings/new", SINGLE | change)
    assert (sent.status_code, message in sent.text) == (422, True)


def test_the_check_of_what_is_right_says_what_it_asks_for_and_what_the_group_has_left(site: Site) -> None:
    inhabit(site)
    ann = Browser(site).log_in("ann")
    ann.open("/trainings/new")
    text = ann.send("/trainings/check", SINGLE | {"name": "new"}).text
    assert "Ready to submit." in text
    assert "2 GPU · 4 CPU · 16 GiB" in text
    assert "5 available" in text
    # Three of eight are in use: six fit the quota and not what is left of it.
    text = ann.send("/trainings/check", SINGLE | {"name": "new", "worker.gpu": "6"}).text
    assert "It can be started and will wait" in text


def test_an_unfinished_form_is_not_blamed_for_what_is_still_empty(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/trainings/new")
    text = ann.send("/trainings/check", {"like": "single"}).text
    assert 'class="notice bad"' not in text


def test_nodes_and_models_that_are_free_are_offered_and_one_can_be_picked(site: Site) -> None:
    inhabit(site)
    ann = Browser(site).log_in("ann")
    home = ann.open("/").text
    assert 'href="/trainings/new?node=gpu-02&amp;cluster=default"' in home
    page = ann.open("/trainings/new?node=gpu-02&cluster=default").text
    assert '<option value="gpu-02" selected>gpu-02 (8 GPUs and 80 cores free)</option>' in page
    assert "V100-SXM2-32GB (10 free)" in page
    assert 'value="gpu-04"' not in page
    assert (
        ann.send(
            "/trainings/new", SINGLE | {"name": "new", "node": "gpu-02", "cluster": "default"}
        ).status_code
        == 303
    )
    assert newest(site).spec["node"] == "gpu-02"


@pytest.mark.parametrize(
    "text",
    [
        "python train.py",
        "python -c 'print(1)'",
        "cd /x && make | tee log",
        "echo $HOME",
        'a "b c" d',
        "one",
        "a 'b",
    ],
)
def test_a_command_line_comes_back_as_it_was(text: str) -> None:
    words = definition_form.command(text)
    again = definition_form.command(definition_form.line(words))
    assert again == words
    assert words[:2] == ["bash", "-c"] or "&&" not in text


@pytest.mark.parametrize("form", [SINGLE, MPI, TF, SINGLE | {"node": "gpu-1", "hours": "0.5", "env": "A=1"}])
def test_a_stored_definition_fills_the_form_that_makes_it_again(form: dict[str, str]) -> None:
    plain = definition_form.spec_of(forms.Form(list(form.items())), "training", form["like"])
    first = Spec.model_validate(plain)
    values, like = definition_form.values(first.model_dump(mode="json"), "mnist")
    again = definition_form.spec_of(forms.Form(list(values.items())), "training", like)
    assert like == form["like"]
    assert Spec.model_validate(again) == first


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"roles": [{"name": "worker", "command": ["python", "w.py"]}]}, "trainings"),
        ({"roles": [{"name": "worker"}, {"name": "judge"}]}, "trainings"),
        ({}, "workbenches"),
    ],
)
def test_what_the_form_cannot_show_is_not_changed_there(site: Site, more: dict[str, Any], kind: str) -> None:
    made = site.run(name="odd", **more)
    answer = Browser(site).log_in("ann").ask("GET", f"/{kind}/new?from={made['definition']}")
    assert answer.status_code == 409
    assert "Change it as a file" in answer.text


def test_a_run_is_stopped_and_started_again(site: Site) -> None:
    ids = inhabit(site)
    ann = Browser(site).log_in("ann")
    page = ann.open(f"/runs/{ids['running']}")
    assert "Start again" not in page.text
    assert ann.send(f"/runs/{ids['running']}/stop").headers["location"].endswith("?done=stopped")
    assert site.db.runs.get(ids["running"]).stop == NOW
    page = ann.open(f"/runs/{ids['done']}").text
    assert "Start again" in page
    definition = site.db.runs.get(ids["done"]).definition
    answer = ann.send(f"/definitions/{definition}/start", {"key": "again"})
    assert newest(site).name == "mnist"
    assert answer.headers["location"] == f"/runs/{newest(site).id}?done=started"


def test_why_a_run_waits_is_reported_with_its_place_and_a_remedy(site: Site) -> None:
    ids = inhabit(site)
    text = Browser(site).log_in("ann").open(f"/runs/{ids['waiting']}").text
    assert "1 free of 8 GPUs" in text
    assert "Wait until runs of the group end" in text
    assert "0 runs are looked at before it in its queue." in text
    chinese = Browser(site, "zh").log_in("ann").open(f"/runs/{ids['waiting']}").text
    assert "用户组 vision 共 8 GPU，空闲 1，需要 4。" in chinese
    failed = Browser(site).log_in("ann").open(f"/runs/{ids['failed']}").text
    assert "it used more memory than its limit" in failed
