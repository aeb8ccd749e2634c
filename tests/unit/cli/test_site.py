"""The verb `site`, as a user types it."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from avadm.cli.main import cli
from tests.unit.fakes.cli import refusal
from tests.unit.site.corpus import BASE

EXAMPLES = Path(__file__).parents[3] / "inventory"


BASICS = ["--name", "x", "--domain", "x.example.com", "--addresses", "10.0.0.11-16"]


def run(*args, stdin=""):
    return CliRunner().invoke(cli, [str(a) for a in args], input=stdin, standalone_mode=False)


def test_check_good():
    result = run("site", "check", EXAMPLES / "small.yml")
    assert result.return_value == 0
    assert "good (12 nodes" in result.output


def test_check_bad(tmp_path):
    path = tmp_path / "site.yml"
    path.write_text("name: x\n")
    result = run("site", "check", path, "--json")
    assert result.return_value == 2
    data = json.loads(result.output)
    found = [(f["check"], f["where"]) for f in data["findings"]]
    assert (data["ok"], found) == (False, [("missing-key", f"site.yml:1 {k}") for k in ("network", "nodes")])


def test_the_count_is_that_of_the_findings_printed(tmp_path):
    """Two findings of s1 differ only in what was found, and one of three hosts is printed once."""
    path = tmp_path / "site.yml"
    path.write_text(BASE.replace("time:", "ssh: {port: 6900}\ntime:"))
    result = run("site", "check", path)
    assert result.output.count("✗ ") == 3
    assert "3 errors, 0 warnings" in result.output
    small = (EXAMPLES / "small.yml").read_text()
    path.write_text(small.replace("role", "x-role"))
    result = run("site", "check", path)
    assert f"{result.output.count('✗ ')} error" in result.output
    assert f"{result.output.count('! ')} warning" in result.output


def test_show():
    result = run("--site", EXAMPLES / "small.yml", "site", "show")
    assert "storage1" in result.output
    assert "10.20.0.0/24" in result.output


def test_show_json():
    data = json.loads(run("--site", EXAMPLES / "lab.yml", "site", "show", "--json").output)
    assert data["site"]["nodes"][0]["roles"] == ["mon", "mgr", "osd"]
    assert data["profile"]["name"] == "lab-bookworm"


def test_show_profiles_and_schema():
    assert "stated" in run("site", "show", "--profiles").output
    assert "stated" in [p["name"] for p in json.loads(run("site", "show", "--profiles", "--json").output)]
    assert json.loads(run("site", "show", "--schema").output)["title"] == "avadm site file"


def test_render(tmp_path):
    (tmp_path / "lab.yml").write_text((EXAMPLES / "lab.yml").read_text())
    result = run("--site", tmp_path / "lab.yml", "site", "render", "--out", tmp_path / "inventory", "--json")
    data = json.loads(result.output)
    assert data["groups"]["prometheus"] == ["compute1", "compute2"]
    assert (tmp_path / "inventory/hosts.yml").is_file()


def test_use(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_HOME", str(tmp_path))
    run("site", "use", EXAMPLES / "lab.yml")
    assert (tmp_path / ".avadm/site").read_text() == f"{EXAMPLES / 'lab.yml'}\n"


def test_init_by_flags(tmp_path):
    path = tmp_path / "site.yml"
    flags = ["--name", "x", "--domain", "x.example.com", "--addresses", "10.0.0.11-16"]
    result = run("site", "init", path, *flags)
    assert result.exception is None
    assert "A draft: 3 storage nodes have no devices yet" in result.output
    assert run("site", "check", path).return_value == 0
    assert refusal(run("site", "init", path, *flags)).check == "file-exists"


def test_init_proposes_debian_12_and_says_which_system_the_profile_means(tmp_path):
    path = tmp_path / "site.yml"
    run("site", "init", path, "--name", "x", "--domain", "x.example.com", "--addresses", "10.0.0.11-13")
    text = path.read_text()
    assert (
        "profile: debian-12" in text and "all nodes run Debian 12" in text and "allow_reboot: false" in text
    )
    run(
        "site",
        "init",
        path,
        "--force",
        "--profile",
        "stated",
        "--name",
        "x",
        "--domain",
        "x.org",
        "--addresses",
        "10.0.0.11-13",
    )
    text = path.read_text()
    assert "all nodes run Ubuntu 16.04" in text and "allow_reboot" not in text


def test_init_asks(tmp_path):
    path = tmp_path / "site.yml"
    result = run("site", "init", path, stdin="x\nx.example.com\n10.0.0.11-13\nava\n\n\nlab-bookworm\n")
    assert result.exception is None
    assert "profile: lab-bookworm" in path.read_text()
    assert "owner_gib" in yaml.safe_load(path.read_text())["components"]["ava"]["space"]


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (["--name", "Bad Name"], "Bad Name"),
        (["--domain", "under_score.org"], "under_score.org"),
        (["--user", "two words"], "two words"),
        (["--time-server", "a b"], "a b"),
        (["--management", "10.9.0.0/24"], "10.0.0.11"),
        (["--node", "s9=10.0.0.99:mgr"], "no mon"),
        (["--with", "ava", "--node", "osd=10.0.0.99"], "osd"),
    ],
)
def test_init_writes_nothing_that_is_not_good(tmp_path, flags, found):
    path = tmp_path / "site.yml"
    given = dict(zip(BASICS[::2], BASICS[1::2], strict=True)) | dict(
        zip(flags[::2], flags[1::2], strict=True)
    )
    result = run("site", "init", path, *[word for pair in given.items() for word in pair])
    assert result.exception.exit_code == 2
    assert any(found in f.found for f in result.exception.findings), result.exception
    assert all("/tmp" not in f.where for f in result.exception.findings)
    assert not path.exists()
    path.write_text("mine")
    run("site", "init", path, "--force", *[word for pair in given.items() for word in pair])
    assert path.read_text() == "mine"


def test_init_without_answers(tmp_path):
    assert "--name" in refusal(run("site", "init", tmp_path / "site.yml")).wanted
