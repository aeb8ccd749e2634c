"""Builds reach the internet by an HTTP proxy: real programs, and a real proxy that answers for hosts that do not exist."""

import io
import os
import shutil
import sys
import xml.etree.ElementTree as ET
import zipfile

import pytest

from avadm.artifacts import maven, proxy, upstream
from avadm.artifacts.builder import Builder
from avadm.artifacts.commands import LocalCommands
from tests.unit.fakes.http_proxy import http_proxy

PROXY = "http://10.0.0.5:3128"
SITE = {"http_proxy": PROXY, "https_proxy": PROXY, "no_proxy": ".demo.test"}


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch):
    for name in (*proxy.NAMES, *map(str.upper, proxy.NAMES), "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def parsed(url, environment):
    return ET.fromstring(maven.settings_of(url, environment))  # noqa: S314 - our own


def builder(tmp_path, environment):
    nothing = lambda text: None  # noqa: E731
    return Builder(None, LocalCommands(), tmp_path, tmp_path, tmp_path / "log", nothing, {}, environment)


def run(tmp_path, argv, url, **more):
    """Run a program as a step of a build does; whether it succeeds is not asked."""
    given = proxy.environment({}, {"http_proxy": url, "https_proxy": url, "no_proxy": "localhost"})
    return LocalCommands().run(
        argv, cwd=tmp_path, env={**builder(tmp_path, given).environment, **more}, log=tmp_path / "log"
    )


def test_the_environment_of_the_command_comes_before_the_site_file():
    own = {"HTTPS_PROXY": "http://mine:1", "no_proxy": "a"}
    assert proxy.environment(own, SITE) == {
        "https_proxy": "http://mine:1", "HTTPS_PROXY": "http://mine:1", "no_proxy": "a", "NO_PROXY": "a",
    }  # fmt: skip
    made = proxy.environment({"no_proxy": "a"}, SITE)
    assert {made[name] for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY")} == {PROXY}
    assert made["NO_PROXY"] == made["no_proxy"] == ".demo.test"
    assert proxy.environment({}, {}) == {}


def test_each_program_of_a_build_has_the_proxy(tmp_path):
    given = proxy.environment({}, SITE)
    argv = [sys.executable, "-c", "import os; print(os.environ['HTTPS_PROXY'], os.environ['no_proxy'])"]
    done = builder(tmp_path, given)._run("ask", argv, tmp_path, {})
    assert done.stdout.split() == [PROXY, ".demo.test"]


def test_pip_downloads_by_the_proxy(tmp_path):
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as z:
        z.writestr("thing-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
        z.writestr(
            "thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        z.writestr("thing-1.dist-info/RECORD", "")
    name = "thing-1-py3-none-any.whl"
    index = "http://packages.invalid/simple/thing/"
    answers = {index: f'<a href="{name}">{name}</a>'.encode(), index + name: wheel.getvalue()}
    with http_proxy(answers) as (url, asked):
        argv = [
            *(sys.executable, "-m", "pip", "download", "--isolated", "--no-deps", "--no-cache-dir", "thing"),
            *("--disable-pip-version-check", "--index-url", "http://packages.invalid/simple"),
            *("--trusted-host", "packages.invalid"),
        ]
        done = run(tmp_path, argv, url)
    assert done.rc == 0, done.stderr_lines
    assert f"GET {index}{name}" in asked
    assert (tmp_path / name).read_bytes() == wheel.getvalue()


PROGRAMS = {
    "go": (
        ["go", "mod", "download", "-json", "example.invalid/thing@v1.0.0"],
        {"GOPROXY": "https://modules.invalid", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GONOSUMDB": "*"},
        "CONNECT modules.invalid:443",
    ),
    "npm": (
        ["npm", "view", "thing", "--registry=https://packages.invalid/", "--fetch-retries=0", "--cache=npm"],
        {},
        "CONNECT packages.invalid:443",
    ),
    "apt-get": (
        [
            *("apt-get", "update", "-o", "Dir::Etc::SourceList=sources.list", "-o", "Dir::Etc::SourceParts=/dev/null"),
            *("-o", "Dir::State::lists=lists", "-o", "Dir::Cache=cache", "-o", "Acquire::Retries=0"),
            *("-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root", "-o", "Dir::Etc::Parts=/dev/null"),
        ],
        {},
        "GET http://debian.invalid/dists/stable/InRelease",
    ),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_other_programs_ask_the_proxy(program, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"there is no {program} here")
    (tmp_path / "lists/partial").mkdir(parents=True)
    (tmp_path / "cache/archives/partial").mkdir(parents=True)
    (tmp_path / "sources.list").write_text("deb http://debian.invalid stable main\n")
    argv, more, wanted = PROGRAMS[program]
    argv = [a.replace("=sources.list", f"={tmp_path}/sources.list") for a in argv]
    argv = [a.replace("=lists", f"={tmp_path}/lists").replace("=cache", f"={tmp_path}/cache") for a in argv]
    with http_proxy() as (url, asked):
        done = run(tmp_path, argv, url, **more)
    assert wanted in asked, (asked, done)


def test_what_upstream_has_comes_by_the_proxy(tmp_path):
    address = "http://upstream.invalid/file"
    with http_proxy({address: b"bytes"}) as (url, asked):
        given = proxy.environment({}, {"http_proxy": url, "no_proxy": ".demo.test"})
        with upstream.through(given)(address) as stream:
            assert stream.read() == b"bytes"
    assert asked == [f"GET {address}"]


def test_maven_has_the_proxy_in_its_settings():
    given = {
        **SITE,
        "https_proxy": "http://a%40b:p%26w@proxy.test:8080",
        "no_proxy": ".demo.test, hub.test, 10.0.0.0/24",
    }
    settings = parsed("https://central.test/m", given)
    assert settings.find("mirrors/mirror/url").text == "https://central.test/m"
    plain, tls = ({e.tag: e.text for e in one} for one in settings.findall("proxies/proxy"))
    assert (plain["protocol"], plain["host"], plain["port"]) == ("http", "10.0.0.5", "3128")
    assert (tls["protocol"], tls["host"], tls["port"]) == ("https", "proxy.test", "8080")
    assert (tls["username"], tls["password"]) == ("a@b", "p&w")
    assert plain["nonProxyHosts"] == "*.demo.test|hub.test|*.hub.test"
    assert parsed("u", {}).find("proxies") is None


@pytest.mark.skipif(not shutil.which("mvn"), reason="there is no mvn here")
def test_maven_asks_the_proxy(tmp_path):
    (tmp_path / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId>"
        "<version>1</version><parent><groupId>c.invalid</groupId><artifactId>d</artifactId><version>1</version>"
        "<relativePath/></parent></project>"
    )
    with http_proxy() as (url, asked):
        given = proxy.environment({}, {"http_proxy": url, "https_proxy": url})
        (tmp_path / "settings.xml").write_text(maven.settings_of("https://central.invalid/m", given))
        argv = maven.command(tmp_path / "settings.xml", tmp_path / "pom.xml", tmp_path / "jars")
        argv = [*argv, f"-Dmaven.repo.local={tmp_path}/repository"]
        LocalCommands().run(argv, cwd=tmp_path, env={**os.environ, **given}, log=tmp_path / "log")
    assert "CONNECT central.invalid:443" in asked, (tmp_path / "log").read_text()
