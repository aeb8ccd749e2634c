"""The command `ava`: what it prints, where, and its exit status; the token is no one else's to read."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from ava.cli import main, output
from ava.domain.model import Outcome
from ava.domain.placement.capacity import snapshot
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.model import Node
from ava.domain.resources import Resources
from ava.images.catalogue import Offered, completed
from ava.services.logs.interface import LogLine, NoLogs
from tests.unit.ava.api.pushed_images import image, pushing
from tests.unit.ava.api.site import GIB, NOW, WORD
from tests.unit.ava.served import Served

NANO = int(NOW.timestamp()) * 10**9


@dataclass
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def ava(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Run a verb as a user whose home is empty."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("AVA_SERVER", "AVA_CA", "AVA_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("ava.cli.runs.PERIOD", 0.05)

    def run(*argv: str, stdin: str = "") -> Result:
        monkeypatch.setattr("sys.stdin", _Stdin(stdin))
        for console in (output.console, output.stderr):
            console._width = 200
        capfd.readouterr()
        code = main.run(list(argv))
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return run


class _Stdin:
    def __init__(self, text: str) -> None:
        import io

        self._text, self.buffer = io.StringIO(text), io.BytesIO(text.encode())
        self.readline, self.read = self._text.readline, self._text.read

    def isatty(self) -> bool:
        return False


@pytest.fixture
def ann(ava: Run, served: Served) -> Run:
    assert ava("--server", served.url, "login", "-u", "ann", stdin=f"{WORD}\n").code == 0
    return ava


def test_login_keeps_a_token_for_its_owner_alone_and_log_out_ends_it(
    ann: Run, served: Served, tmp_path: Path
) -> None:
    file = tmp_path / "config/ava/login.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert WORD not in file.read_text()
    assert ann("list").code == 0
    assert ann("logout").code == 0
    assert served.db.secrets.list("ann", "token") == []
    assert "token" in file.read_text()
    assert json.loads(file.read_text())["token"] is None
    answer = ann("list")
    assert (answer.code, "ava login" in answer.err) == (2, True)


def test_a_wrong_password_is_exit_status_2_and_keeps_nothing(
    ava: Run, served: Served, tmp_path: Path
) -> None:
    answer = ava("--server", served.url, "login", "-u", "ann", stdin="wrong wrong wrong\n")
    assert (answer.code, answer.out) == (2, "")
    assert "do not belong together" in answer.err
    assert not (tmp_path / "config/ava/login.json").exists()


def test_a_token_that_others_can_read_is_not_used(ann: Run, tmp_path: Path) -> None:
    (tmp_path / "config/ava/login.json").chmod(0o644)
    answer = ann("list")
    assert (answer.code, "chmod 600" in answer.err) == (2, True)


def test_the_token_is_not_sent_to_another_server(ann: Run, served: Served) -> None:
    other = served.url.replace("127.0.0.1", "localhost")
    answer = ann("--server", other, "list")
    assert (answer.code, "not logged in" in answer.err) == (2, True)


def test_a_program_names_a_file_with_its_token(ava: Run, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(served.token("ann") + "\n")
    answer = ava("--server", served.url, "--token-file", str(file), "group", "list", "--json")
    assert [g["name"] for g in json.loads(answer.out)] == ["vision"]


def test_run_starts_a_training_and_prints_its_id_alone_on_standard_output(ann: Run, served: Served) -> None:
    answer = ann(
        "run",
        "--image",
        "local/torch:2",
        "--gpu",
        "1",
        "--cpu",
        "1.5",
        "--memory",
        "2GiB",
        "--",
        "python",
        "-u",
        "x.py",
        "--lr",
        "1",
    )
    run = served.db.runs.list().items[0]
    assert (answer.code, answer.out) == (0, f"{run.id}\n")
    assert (run.name, run.asks) == ("torch", Resources(1, 1500, 2 * GIB))
    # Lists have outlines of definitions alone.
    assert served.db.runs.get(run.id).spec["command"] == ["python", "-u", "x.py", "--lr", "1"]


def _when_started(served: Served, count: int, then: Callable[[str], None]) -> threading.Thread:
    """Do something as soon as there are so many runs."""

    def watch() -> None:
        end = time.monotonic() + 60
        while len(found := served.db.runs.list(limit=10).items) < count and time.monotonic() < end:
            time.sleep(0.05)
        then(found[0].id)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_waiting_ends_with_the_run_and_its_outcome_is_the_exit_status(ann: Run, served: Served) -> None:
    def play(outcome: Outcome, run: str) -> None:
        served.admit(run)
        served.finish(run, outcome, "Because.")

    for count, (outcome, code) in enumerate(((Outcome.SUCCEEDED, 0), (Outcome.FAILED, 1)), 1):
        _when_started(served, count, partial(play, outcome))
        answer = ann("run", "--image", f"a/{outcome.value}", "--wait")
        assert (answer.code, f"{outcome.value}. Because." in answer.err) == (code, True)


def test_following_prints_the_log_and_ends_with_the_run(ann: Run, served: Served) -> None:
    def play(run: str) -> None:
        served.admit(run)
        served.logs.later = [
            LogLine(NANO + 1, f"{run}-0-worker-0", "epoch 1 \x1b[31mred"),
            LogLine(NANO + 2, f"{run}-0-worker-0", "epoch 2"),
        ]
        threading.Timer(0.5, served.finish, [run]).start()

    _when_started(served, 1, play)
    answer = ann("run", "--image", "a/b", "--follow")
    assert answer.code == 0
    assert answer.out.splitlines()[1:] == ["epoch 1 \\x1b[31mred", "epoch 2"], (
        "what would steer the terminal is shown"
    )


def test_a_run_whose_log_cannot_be_followed_is_waited_for(ann: Run, served: Served) -> None:
    def play(run: str) -> None:
        served.admit(run)
        threading.Timer(0.5, served.finish, [run]).start()

    served.services.logs = NoLogs()
    _when_started(served, 1, play)
    answer = ann("run", "--image", "a/b", "--follow")
    assert (answer.code, "This site keeps no logs of runs." in answer.err) == (0, True)
    assert "succeeded" in answer.err


def test_a_file_is_submitted_and_human_amounts_are_understood(
    ann: Run, served: Served, tmp_path: Path
) -> None:
    file = tmp_path / "t.yml"
    file.write_text(
        "name: dist\nimage: local/tf:1\ndistributed: tensorflow\nroles:\n"
        "  - {name: ps, each: {cpu: 500m, memory: 512MiB}}\n  - {name: worker, replicas: 2, each: {gpu: 1, memory: 1.5 GiB}}\n"
    )
    assert ann("submit", "-f", str(file), "--check").code == 0
    assert served.db.runs.list().items == ()
    answer = ann("submit", "-f", str(file), "--json")
    assert json.loads(answer.out)["asks"] == {"gpu": 2, "cpu": 2500, "memory": 512 * 2**20 + 3 * GIB}


def test_a_name_like_an_id_is_found_and_an_id_goes_before_it(ann: Run, served: Served) -> None:
    assert ann("run", "--image", "a/b", "--name", "t5basefinetun").code == 0
    (first,) = served.db.runs.list().items
    assert json.loads(ann("show", "t5basefinetun", "--json").out)["run"]["id"] == first.id
    assert ann("run", "--image", "a/b", "--name", first.id, "--after", "t5basefinetun").code == 0
    assert json.loads(ann("show", first.id, "--json").out)["run"]["name"] == "t5basefinetun"
    answer = ann("show", "r1aaaaaaaaaaa")
    assert (answer.code, "Run r1aaaaaaaaaaa not found" in answer.err) == (2, True)


def test_all_problems_of_a_file_are_reported_with_their_lines_and_nothing_is_sent(
    ann: Run, served: Served, tmp_path: Path
) -> None:
    file = tmp_path / "bad.yml"
    file.write_text(
        "name: Bad Name\nimage: a/b\ncomand: [x]\nroles:\n  - name: worker\n    each:\n      memory: lots\nretries: '3'\n"
    )
    answer = ann("submit", "-f", str(file))
    assert answer.code == 2
    for line in (
        f"{file}:1: name",
        f"{file}:3: comand",
        f"{file}:7: roles[0].each.memory",
        f"{file}:8: retries",
    ):
        assert f"where    {line}" in answer.err
    assert "Did you mean command?" in answer.err
    assert served.db.definitions.list().items == ()


def test_what_the_server_refuses_has_its_line_too(ann: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.yml"
    file.write_text("name: a\nimage: a/b\n\nqueue: vip\n")
    answer = ann("submit", "-f", str(file))
    assert (answer.code, f"{file}:4: queue" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"image: [", "t.yml:"),
        (b"- a", "holds no definition"),
        (b"", "holds no definition"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a: &a [*a]\nimage: x", "line 1 contains itself"),
        (b"name: x\nimage: !!python/object/apply:os.system [id]", "neither YAML"),
        (b"name: x\nimage: a\ntime_limit: 2026-01-01", "time_limit"),
        (b"x" * (2**20 + 1), "too large"),
    ],
)
def test_files_that_are_none_are_refused_in_a_sentence(
    ann: Run, tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "t.yml"
    file.write_bytes(content)
    answer = ann("submit", "-f", str(file), "--check")
    assert (answer.code, message in answer.err) == (2, True), answer.err
    assert "Traceback" not in answer.err


def test_a_file_that_is_not_there_and_standard_input(ann: Run, tmp_path: Path, served: Served) -> None:
    assert "cannot be read" in ann("submit", "-f", str(tmp_path / "none")).err
    answer = ann("submit", "-f", "-", stdin='{"name": "j", "image": "a/b"}')
    assert answer.out.strip() == served.db.runs.list().items[0].id


def test_explain_lists_each_cause_and_remedy(ann: Run, served: Served) -> None:
    from ava.domain.problems import Problem

    run = served.run()["id"]
    served.db.runs.set_waits_for(
        run,
        [
            Problem(
                "quota-used-up",
                "The quota of group vision has no room.",
                "group vision",
                "0 left",
                "1 GPU",
                "Stop one.",
            )
        ],
    )
    answer = ann("explain", "mnist")
    assert answer.code == 0
    for part in ("is queued", "next in its queue", "no room", "0 left; expected: 1 GPU", "Stop one."):
        assert part in answer.out


def test_why_explains_a_pod_that_fails(ann: Run, served: Served) -> None:
    run = served.run()["id"]
    served.admit(run, "Failed", reason="OOMKilled", exit_code=137)
    assert "more memory than its limit" in ann("explain", run).out


def test_list_show_stop_queue_and_groups(ann: Run, served: Served) -> None:
    run = served.run()["id"]
    served.admit(run)
    assert run in ann("list").out
    assert [r["id"] for r in json.loads(ann("list", "--json").out)] == [run]
    shown = ann("show", "mnist").out
    assert "running" in shown
    assert f"{run}-0-worker-0" in shown
    assert "default" in ann("queue", "list").out
    assert "vision" in ann("group", "list").out
    assert "stopping" in ann("stop", run).err
    assert "stopping" in ann("stop", run).err, "twice does no harm"
    assert ann("stop", "r0000000000000").code == 2


def test_the_cluster_shows_free_gpus_per_node_and_model_and_how_old_that_is(ann: Run, served: Served) -> None:
    assert "has not reported" in ann("cluster", "show").err
    node = Node("n1", Resources(8, 64_000, 256 * GIB), labels={"ava.io/pool": "gpu"}, model="V100")
    room = snapshot(Cluster(served.db.pools.list(), [node]), "default", {})
    served.db.heartbeats.record("scheduler", served.now, {"room": room.as_dict()})
    answer = ann("cluster", "show")
    assert [w for w in ("n1", "V100", "8/8", "gpu") if w not in answer.out] == []
    from datetime import timedelta

    served.now += timedelta(minutes=5)
    assert "is not reporting" in ann("cluster", "show").err


def test_the_images_are_shown_with_what_is_in_them(ann: Run, served: Served) -> None:
    assert "no images of its own" in ann("image", "list").err
    rows = completed({"ava-tensorflow": {"image": "registry.site:5000/tf:1"}})
    served.services.config.images["ava-tensorflow"] = Offered.model_validate(rows["ava-tensorflow"])
    shown = ann("image", "list").out
    assert [w for w in ("ava-tensorflow", "tensorflow 2.", "3.11", "workbench") if w not in shown] == []


def test_pushed_images_are_listed_with_their_space_and_deleted_by_name(
    ann: Run, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "ava image list --mine" not in ann("image", "list").err
    counted = pushing(
        served,
        {
            "users/ann": {
                "limit": 50 * GIB,
                "used": 3 * GIB,
                "waiting": GIB,
                "images": [image("users/ann/torch", "1", "2")],
            },
            "groups/vision": {"used": 100, "images": [image("groups/vision/tf")]},
        },
    )
    assert "users/ann/…: 3 GiB of 50 GiB, 1 GiB deleted that goes at night" in ann("image", "list").err
    shown = ann("image", "list", "--mine")
    assert [w for w in ("users/ann/torch:1", "groups/vision/tf@sha256:aaa") if w not in shown.out] == []
    assert "Pushing is blocked: The images of groups/vision take up" in shown.err
    assert "groups/vision" not in ann("image", "list", "--mine", "--user", "ann").out
    assert (
        json.loads(ann("image", "list", "--mine", "--group", "vision", "--json").out)[0]["owner"]
        == "groups/vision"
    )
    assert ann("image", "list", "--mine", "--group", "a", "--user", "b").code == 2
    assert "Deleted users/ann/torch:1, users/ann/torch:2." in ann("image", "delete", "users/ann/torch:1").err
    assert len(counted.removed) == 1
    assert ann("image", "delete", "registry.site:5004/users/ann/torch:2").code == 0
    refused = ann("image", "delete", "users/ben/torch:1")
    assert (refused.code, "There is no image users/ben/torch:1" in refused.err) == (2, True)
    counted.accounts["users/ann"] = httpx.Response(500)
    monkeypatch.setattr("ava.client.transport.TRIES", 1)
    assert ann("image", "list").code == 0
    assert "does not answer" in ann("image", "list", "--mine").err


def test_keys_are_stored_and_listed(ann: Run, tmp_path: Path) -> None:
    file = tmp_path / "id.pub"
    file.write_text(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh me@laptop\n"
    )
    assert ann("key", "set", "ssh", "laptop", str(file)).code == 0
    assert "SHA256:" in ann("key", "list").out
    assert ann("key", "delete", "ssh", "laptop").code == 0
    assert json.loads(ann("key", "list", "--json").out) == []


def test_an_administrator_approves_and_makes_groups(ava: Run, served: Served) -> None:
    assert (
        ava(
            "--server",
            served.url,
            "register",
            "-u",
            "newcomer",
            "--email",
            "n@example.org",
            stdin=f"{WORD}\n",
        ).code
        == 0
    )
    ava("--server", served.url, "login", "-u", "root2", stdin=f"{WORD}\n")
    assert "newcomer" in ava("user", "list", "--state", "pending").out
    assert ava("user", "approve", "newcomer").code == 0
    assert ava("group", "create", "speech", "--gpu", "2", "--cpu", "none", "--memory", "64GiB").code == 0
    assert ava("group", "add-member", "speech", "newcomer").code == 0
    group = served.db.groups.get("speech")
    assert (group.quota.gpu, group.quota.cpu, group.quota.memory) == (2, None, 64 * GIB)
    assert "groups.join" in ava("audit", "list").out


def test_removed_members_runs_are_listed_and_stopped(ava: Run, served: Served) -> None:
    ava("--server", served.url, "login", "-u", "ben", stdin=f"{WORD}\n")
    run = ava("run", "--image", "registry.local/torch:2", "--", "true").out.strip()
    ava("--server", served.url, "login", "-u", "root2", stdin=f"{WORD}\n")
    answer = ava("group", "remove-member", "vision", "ben")
    assert answer.code == 0 and run in answer.err and "--stop-runs" in answer.err
    assert ava("group", "add-member", "vision", "ben", "--stop-runs").code == 2
    answer = ava("group", "remove-member", "vision", "ben", "--stop-runs")
    assert answer.code == 0 and run not in answer.err
    assert served.db.runs.get(run).stop is not None
    assert ava("user", "approve", "ben", "--stop-runs").code == 2
    assert ava("user", "disable", "ben", "--stop-runs").code == 0


def test_an_administrator_makes_an_account_and_the_link_for_it(ava: Run, served: Served) -> None:
    ava("--server", served.url, "login", "-u", "root2", stdin=f"{WORD}\n")
    assert "ava user invite zoe" in ava("user", "create", "zoe", "zoe@example.org").err
    answer = ava("user", "invite", "zoe", "nobody")
    # What was made is printed, though the next name is refused.
    assert answer.code == 2 and "nobody" in answer.err
    name, _, link = answer.out.strip().partition(" ")
    assert (name, link.partition("#")[0]) == ("zoe", f"{served.url}/invitation")
    word = "another good password"
    sent = {"invitation": link.partition("#")[2], "password": word}
    assert served.call("POST", "/invitations", json=sent).status_code == 204
    assert ava("--server", served.url, "login", "-u", "zoe", stdin=f"{word}\n").code == 0
    assert ava("user", "invite", "zoe").code == 2
    assert json.loads(ava("user", "invite", "zoe", "--json").out or "null") is None


def test_who_may_not_is_informed(ann: Run) -> None:
    answer = ann("user", "list")
    assert (answer.code, "Permission denied" in answer.err) == (2, True)


def test_json_is_all_that_standard_output_has(ann: Run, served: Served) -> None:
    pushing(served)
    run = served.run()["id"]
    for verb in (
        ["list"],
        ["show", run],
        ["why", run],
        ["queue"],
        ["queue", "default"],
        ["cluster"],
        ["images"],
        ["image", "list", "--mine"],
        ["usage"],
        ["groups"],
        ["tokens", "list"],
    ):
        json.loads(ann(*verb, "--json").out)


def test_an_unknown_verb_names_the_near_one(ann: Run) -> None:
    answer = ann("sbmit")
    assert (answer.code, "Did you mean 'submit'" in answer.err) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(ava: Run, shell: str) -> None:
    assert "_AVA_COMPLETE" in ava("completion", shell).out


def test_every_command_has_help_and_a_module(ava: Run) -> None:
    for command in main.COMMANDS:
        answer = ava(command, "--help")
        assert (answer.code, "Usage:" in answer.out) == (0, True), command


def test_a_server_that_is_away_is_one_sentence(
    ann: Run, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ava.client.transport.TRIES", 1)
    served.server.should_exit = True
    served.thread.join(10)
    answer = ann("list")
    assert (answer.code, "Cannot connect" in answer.err) == (2, True)
    assert "Traceback" not in answer.err


def test_nothing_secret_is_taken_from_the_environment_or_argv() -> None:
    from ava.cli.main import cli

    names: list[Any] = [p.envvar for p in cli.params if getattr(p, "envvar", None)]
    assert set(names) == {"AVA_SERVER", "AVA_CA", "AVA_TOKEN_FILE"}
    assert not any("password" in o for p in cli.params for o in p.opts)
    assert "AVA_TOKEN" not in os.environ


def test_an_address_that_is_not_confirmed_is_shown_and_its_link_sent_again(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("ava.cli.commands.login.password", lambda prompt="": WORD)
    served.db.users.update("ann", served.now, email="new@example.org")
    assert main.run(["--server", served.url, "login", "-u", "ann"]) == 0
    assert main.run(["account", "show"]) == 0
    assert "not confirmed" not in "".join(capfd.readouterr()), "this site sends no mail"
    assert main.run(["account", "send-confirmation"]) == 2
    mail = {"email_confirmation": {"address": "https://ava.test"}}
    config = served.services.config
    served.services.config = config.model_validate(config.model_dump() | mail)
    capfd.readouterr()
    assert main.run(["account", "show"]) == 0
    reply = capfd.readouterr()
    assert "new@example.org (not confirmed)" in reply.out
    assert "ava account send-confirmation" in reply.err
    assert main.run(["account", "send-confirmation"]) == 0
    assert "new@example.org" in capfd.readouterr().err
