import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from avadm.artifacts import commands, provide
from avadm.artifacts.commands import CompletedCommand
from avadm.artifacts.manifest import every
from avadm.cli.main import cli
from tests.unit.fakes.cli import refusal


class Go:
    """Plays the commands of the recipe `pause`."""

    asked = 0

    def run(self, argv, **kwargs):
        Go.asked += 1
        if argv[1:3] == ("env", "GOVERSION"):
            return CompletedCommand(0, "go1.26.8\n")
        program = kwargs["cwd"] / argv[3]
        program.parent.mkdir(parents=True)
        program.write_bytes(b"pause")
        return CompletedCommand(0)

    def stop(self):
        pass


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AVADM_HOME", str(tmp_path))
    monkeypatch.setattr(commands, "LocalCommands", Go)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def avadm(*words):
    return CliRunner().invoke(cli, ["artifacts", *words], standalone_mode=False)


def test_list_works_without_a_site_and_names_every_artifact():
    data = json.loads(avadm("list", "--json").output)
    assert [row["name"] for row in data["artifacts"]] == [a.name for a in every()]
    assert {"1.9.11", "1.10.13"} <= {
        row["version"] for row in data["artifacts"] if row["name"] == "kubernetes"
    }
    assert {(row["state"], row["needed"]) for row in data["artifacts"]} == {("absent", None)}


def test_build_makes_list_shows_and_verify_finds_damage(cache):
    report = avadm("build", "pause")
    assert report.return_value == 0
    assert "compile pause" in report.output
    assert Go.asked == 2
    [row] = json.loads(avadm("list", "pause", "--json").output)["artifacts"]
    assert (row["state"], row["cache"]["files"]["image.tar"]["image"]) == ("present", "avadm/pause:1")
    assert "Nothing to do" in avadm("build", "pause").output
    assert avadm("verify", "pause").return_value == 0
    (cache / "artifacts/pause/1/image.tar").write_bytes(b"x")
    report = avadm("verify", "pause")
    assert report.return_value == 1
    assert "damaged" in report.output


def test_verify_finds_what_is_not_there():
    report = avadm("verify", "pause", "--json")
    assert report.return_value == 1
    assert json.loads(report.output)["artifacts"] == [{"name": "pause", "version": "1", "state": "absent"}]


def test_fetch_says_all_that_is_without_a_checksum():
    report = avadm("fetch", "--unpatched", "kubernetes", "coredns", "--json")
    assert report.return_value == 2
    findings = json.loads(report.output[report.output.index("{") :])["findings"]
    assert {f["check"] for f in findings} == {"artifact-fetch"}
    assert len(findings) == 2


def test_unpatched_programs_are_taken_by_intent_alone():
    found = refusal(avadm("fetch", "kubernetes"))
    assert (found.check, "avadm artifacts build" in found.remedy) == ("artifact-unpatched", True)
    report = avadm("fetch", "--unpatched", "coredns")
    assert "none of the security patches" in report.output


def test_no_page_recommends_unpatched_programs():
    root = Path(__file__).parents[3]
    texts = [root / "README.md", *(root / "docs").glob("*/*.md"), *(root / "installer").rglob("*.j2")]
    texts += [p for p in (root / "installer").rglob("*.py") if p.name != "artifacts.py"]
    lines = [line for p in texts for line in p.read_text().splitlines() if "artifacts fetch" in line]
    assert lines
    assert [line for line in lines if "artifacts fetch --unpatched" not in line] == []


@pytest.mark.parametrize("text", ["nothing", "https://x=12", f"={'0' * 64}", f"https://x={'g' * 64}"])
def test_a_checksum_that_is_none_is_refused(text):
    assert "64 hex digits" in str(avadm("fetch", "kubernetes", "--sha256", text).exception)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site with Kubernetes, in the folder where avadm runs."""
    text = """
name: t
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: t.test, api_vip: 10.0.0.250}
nodes:
  - {name: m1, address: 10.0.0.1, roles: [master, etcd, worker]}
"""
    (tmp_path / "site.yml").write_text(text)
    monkeypatch.setenv("AVADM_SITE", str(tmp_path / "site.yml"))
    chosen = []
    monkeypatch.setattr(
        provide.ArtifactProvider, "make", lambda self, some, jobs: (chosen.extend(some), ([], []))[1]
    )
    return chosen


def versions(chosen):
    return [a.version for a in chosen if a.name == "kubernetes"]


@pytest.mark.parametrize(
    ("words", "built"),
    [
        ([], ["1.9.11"]),
        (["kubernetes"], ["1.9.11"]),
        (["kubernetes=1.10.13"], ["1.10.13"]),
        (["--to", "lab-bookworm-kubernetes-1.10"], ["1.9.11", "1.10.13"]),
        (["kubernetes", "--to", "lab-bookworm-kubernetes-1.10"], ["1.9.11", "1.10.13"]),
        (["--to", "lab-bookworm"], ["1.9.11"]),
    ],
)
def test_build_takes_the_versions_of_the_profile_and_of_the_one_to_upgrade_to(site, words, built):
    assert avadm("build", *words).return_value == 0
    assert versions(site) == built
    assert len(site) == len({a.label for a in site}), "nothing is built twice"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--to", "lab-nowhere"], "unknown-profile"),
        (["kubernetes=1.8.0"], "unknown-artifact-version"),
        (["kubernets=1.8.0"], "unknown-artifact"),
    ],
)
def test_an_unknown_profile_or_version_is_refused(site, words, code):
    assert refusal(avadm("build", *words)).check == code
    assert site == []


def test_list_says_which_version_the_site_needs(site):
    rows = json.loads(avadm("list", "--json").output)["artifacts"]
    needed = {row["version"]: row["needed"] for row in rows if row["name"] == "kubernetes"}
    assert needed == {"1.9.11": True, "1.10.13": False}
