"""Words that verbs share: --site after the verb, one grammar of times, --dry-run and --only, help, version, explain."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime

import click
import pytest

from avadm import commit as commits
from avadm.cli import apply as apply_module
from avadm.cli import main as frame
from avadm.cli.times import INSTANT
from avadm.site import profile

CHECK_NAMES = [
    ("apply", "--dry-run", "--check"),
    ("preflight", "--only", "--check"),
    ("logs", "--tail", "--limit"),
]


def test_the_site_may_be_named_after_every_verb(called, tmp_path):
    missing = tmp_path / "none.yml"
    for words in (
        ["status"],
        ["disk", "list"],
        ["plan", "--offline"],
        ["node", "drain", "stor1"],
        ["support", "collect"],
    ):
        code, _, reply = called(*words, "--site", str(missing))
        assert code == 2
        assert str(missing) in reply, words


def test_a_site_after_the_verb_wins_over_that_before_it(called, tmp_path):
    before, after = tmp_path / "before.yml", tmp_path / "after.yml"
    _, _, reply = called("--site", str(before), "status", "--site", str(after))
    assert str(after) in reply
    assert str(before) not in reply


@pytest.mark.parametrize("verb", sorted(frame.VERBS))
def test_no_summary_of_a_sub_verb_is_cut(verb):
    command = frame.Verbs().get_command(click.Context(frame.cli), verb)
    if not isinstance(command, click.Group):
        return
    context = click.Context(command, info_name=verb, terminal_width=80)
    assert "..." not in command.get_help(context).split("Commands:")[-1]


@pytest.mark.parametrize("verb", ["user", "group", "queue", "data", "workbench", "token", "image"])
def test_no_summary_of_a_sub_verb_of_ava_is_cut(verb):
    from ava.cli import main as ava

    command = ava.Commands(name="ava").get_command(click.Context(ava.cli), verb)
    context = click.Context(command, info_name=verb, terminal_width=80)
    assert "..." not in command.get_help(context).split("Commands:")[-1]


@pytest.mark.parametrize(("verb", "name", "former"), CHECK_NAMES)
def test_a_former_name_of_an_option_works_and_is_not_shown(verb, name, former):
    command = frame.Verbs().get_command(click.Context(frame.cli), verb)
    shown = command.get_help(click.Context(command, info_name=verb))
    assert name in shown
    assert f"{former} " not in shown
    option = next(p for p in command.params if name in p.opts)
    assert former in option.opts


@pytest.mark.parametrize(
    ("text", "ago"), [("90s", 90), ("15m", 900), ("2h", 7200), ("-1h", 3600), ("3d", 259200)]
)
def test_times_are_read_as_so_long_ago(text, ago):
    from ava.cli.times import INSTANT as OF_AVA

    assert INSTANT.convert(text, None, None) == pytest.approx(time.time() - ago, abs=5)
    assert OF_AVA.convert(text, None, None).timestamp() == pytest.approx(time.time() - ago, abs=5)


@pytest.mark.parametrize(
    "text",
    ["2026-11-22T13:00:00", "2026-11-22 13:00:00", "2026-11-22T13:00:00Z", "2026-11-22T14:00:00+01:00"],
)
def test_times_are_read_in_utc_or_with_their_offset(text):
    from ava.cli.times import INSTANT as OF_AVA

    wanted = datetime(2026, 11, 22, 13, tzinfo=UTC)
    assert INSTANT.convert(text, None, None) == wanted.timestamp()
    assert OF_AVA.convert(text, None, None) == wanted


@pytest.mark.parametrize("text", ["yesterday", "15", "1w", "", "h"])
def test_other_times_are_refused_with_examples(text):
    from ava.cli.times import INSTANT as OF_AVA

    for kind in (INSTANT, OF_AVA):
        with pytest.raises(click.BadParameter, match="15m, 2h, 3d"):
            kind.convert(text, None, None)


def test_version_names_the_commit(called, monkeypatch, tmp_path):
    baked = tmp_path / "COMMIT"
    baked.write_text("0123456789abcdef\n")
    monkeypatch.setattr(commits.paths, "commit_file", lambda: baked)
    assert called("--version")[1] == "avadm 0.1.0 (commit 0123456789abcdef)\n"
    assert json.loads(called("version", "--json")[1])["commit"] == "0123456789abcdef"


def test_help_is_that_of_the_verb(called):
    assert called("help", "disk", "zap")[1].startswith("Usage: avadm disk zap")
    assert called("help")[1].startswith("Usage: avadm [OPTIONS]")
    code, _, reply = called("help", "dsk")
    assert code == 2
    assert "Did you mean 'disk'?" in reply


def test_explain_tells_type_default_meaning_and_the_keys_below(called):
    reply = called("site", "explain", "network")[1]
    assert "management" in reply
    assert json.loads(called("site", "explain", "nodes[0].devices", "--json")[1])["path"] == "nodes.devices"
    code, _, reply = called("site", "explain", "network.managment")
    assert code == 2
    assert "Did you mean 'management'?" in reply


@pytest.fixture
def execs(monkeypatch):
    """Keep what would replace the process."""
    seen = []
    for name in ("execv", "execvp"):
        monkeypatch.setattr(os, name, lambda file, argv: seen.append(argv))
    monkeypatch.setattr(os, "execve", lambda file, argv, env: seen.append((argv, env)))
    return seen


def test_ssh_uses_the_sites_key_pinned_host_keys_and_login(avadm, execs, monkeypatch):
    monkeypatch.setattr("avadm.remote.keyfile.usable", lambda path: None)
    assert avadm("ssh", "stor1", "ls", "-l").exit_code == 0
    (argv,) = execs
    assert argv[-2:] == ["ls", "-l"]
    assert "StrictHostKeyChecking=yes" in argv
    assert argv[argv.index("-F") + 1] == "/dev/null"


def test_ssh_to_an_unknown_node_names_the_nearest(avadm, execs):
    assert "Did you mean 'stor3'?" in str(avadm("ssh", "stor9").exception)
    assert execs == []


def test_kubectl_without_kubernetes_is_refused(avadm, execs):
    assert "no Kubernetes" in str(avadm("kubectl", "get", "nodes").exception)
    assert execs == []


def test_the_first_apply_of_a_whole_site_asks_on_a_terminal_alone(avadm, monkeypatch, playbooks):
    class Terminal:
        def isatty(self):
            return True

    class Fake:
        stdin = stdout = Terminal()

    asked = []
    monkeypatch.setattr(apply_module, "sys", Fake)
    monkeypatch.setattr(
        click, "confirm", lambda *a, **k: asked.append(a) or (_ for _ in ()).throw(click.Abort())
    )
    assert avadm("apply").exit_code != 0
    assert len(asked) == 1
    assert avadm("apply", "--yes").exit_code == 0
    # Something is installed now: no question any more.
    assert avadm("apply").exit_code == 0
    assert len(asked) == 1


def test_without_a_terminal_nothing_is_asked(avadm):
    assert avadm("apply").exit_code == 0


def test_a_reader_of_ava_that_goes_away_is_no_error(tmp_path):
    code = (
        "import sys; from ava.cli import main; sys.argv = ['ava', '--help'];"
        "main.cli.main = lambda *a, **k: [print('x' * 80) for _ in range(9000)] and 0; main.main()"
    )
    first = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    first.stdout.readline()
    first.stdout.close()
    assert first.wait(60) == 0


def test_profiles_are_shown_by_what_one_chooses_them_by(called):
    lines = called("site", "show", "--profiles")[1].splitlines()
    assert lines[0].split() == [
        "profile",
        "for",
        "system",
        "ceph",
        "Kubernetes",
        "Calico",
        "docker",
        "GPU",
        "driver",
    ]
    rows = {words[0]: " ".join(words[1:]) for words in map(str.split, lines) if words}
    assert "Ubuntu 16.04" in rows["stated"] and "1.9.11" in rows["stated"]
    assert rows["lab-bullseye-ceph-16"].startswith("the lab Debian 11 16.2 ")
    assert set(profile.names()) < set(rows)
    assert len(lines) <= len(profile.names()) + 3
