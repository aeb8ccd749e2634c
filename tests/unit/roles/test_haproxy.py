"""haproxy's configurations say nothing that the oldest haproxy of a profile does not know (Ubuntu 16.04 has 1.6)."""

from pathlib import Path

import pytest
import yaml

from tests.unit.fakes.roles import ROLES, given, template

KNOWN = yaml.safe_load(Path(__file__).with_name("haproxy_keywords.yml").read_text())
FILES = {
    "kube_vip/templates/haproxy.cfg.j2": "kube_vip",
    "objects_vip/templates/haproxy.cfg.j2": "objects_vip",
    "kube_controllers/templates/metrics.cfg.j2": "kube_controllers",
}
SERVERS = {"m1": "10.0.0.21", "m2": "10.0.0.22"}


def number(release):
    return tuple(map(int, release.split(".")))


def rendered(path):
    return template(path, **given(FILES[path]) | {f"{FILES[path]}_servers": SERVERS})


def unknown(text):
    """Yield what the oldest release does not know, or the table does not."""
    for line in text.splitlines():
        words = line.partition(" {")[0].split()
        if not words or words[0].startswith("#"):
            continue
        first = words[0] if words[0] in KNOWN["sections"] else " ".join(words[:2])
        asked = [("sections", first)]
        if words[0] in KNOWN and words[0] != "sections":
            rest = words[{"server": 3, "bind": 2, "default-server": 1}[words[0]] :]
            while rest:
                word = rest.pop(0)
                asked.append((words[0], word))
                if word in KNOWN["valued"]:
                    rest.pop(0)
        for where, word in asked:
            since = KNOWN[where].get(word)
            if since is None or number(since) > number(KNOWN["least"]):
                yield f"{word} ({where}, since {since})"


@pytest.mark.parametrize("path", FILES)
def test_the_oldest_haproxy_knows_every_keyword(path):
    assert list(unknown(rendered(path))) == []


def test_the_table_tells_what_is_younger():
    """As the configuration was before: 1.6 stops with an error there."""
    assert list(unknown("    default-server check verify required inter 2s")) == [
        "check (default-server, since 1.8)",
        "verify (default-server, since 1.8)",
    ]
    assert list(unknown("    no-such-word at all")) == ["no-such-word at (sections, since None)"]


def test_no_configuration_is_left_out():
    found = {str(p.relative_to(ROLES)) for p in ROLES.glob("*/templates/*.cfg.j2")}
    assert found == set(FILES)


@pytest.mark.parametrize("path", [p for p in FILES if p.endswith("haproxy.cfg.j2")])
def test_every_server_is_checked_over_tls(path):
    lines = [line.split() for line in rendered(path).splitlines() if line.split()[:1] == ["server"]]
    assert len(lines) == len(SERVERS)
    for words in lines:
        assert {"check", "check-ssl"} <= set(words)
        assert words[words.index("verify") + 1] == "required"
        assert words[words.index("ca-file") + 1].startswith("/etc/")
