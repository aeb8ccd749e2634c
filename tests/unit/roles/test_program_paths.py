"""Programs are named where the oldest release has them: on Ubuntu 16.04 /bin and /usr/bin are not the same folder."""

import re
from pathlib import Path

import yaml

HOME = Path(__file__).parents[3]
KNOWN = yaml.safe_load(Path(__file__).with_name("program_paths.yml").read_text())
PROGRAM = re.compile(r"(?<![\w.}*)/])/(?:usr/)?s?bin/[A-Za-z0-9][\w.+-]*")
LAB = {"/usr/sbin/iptables-legacy", "/usr/bin/dcgm-exporter"}
"""Named for the lab alone: by the profiles of Debian, and by its stand-ins."""
IMAGE = {"/usr/bin/tini", "/usr/sbin/sshd"}
"""In the platform's own image, which is Debian 12 on every site."""
ELSEWHERE = {"/usr/sbin/dockerd"}
"""Debian's place, named beside that of the oldest release."""


def named():
    """Yield path of a program and file that names it."""
    for folder in ("roles", "plugins", "playbooks", "installer/avadm/site/profiles"):
        for path in sorted((HOME / folder).rglob("*")):
            if path.is_file() and path.suffix not in (".pyc", ".json") and "meta" not in path.parts:
                for program in PROGRAM.findall(path.read_text()):
                    yield program, str(path.relative_to(HOME))


def test_every_program_is_where_the_oldest_release_has_it():
    assert [(p, where) for p, where in named() if p not in KNOWN and p not in LAB | IMAGE | ELSEWHERE] == []


def test_what_is_reported_by_an_older_spelling_is_found():
    text = "ExecStartPre=-/usr/bin/mountpoint -q /x; argv: [/usr/bin/touch]; /usr/local/bin/hyperkube {{ a }}/bin/b"
    assert PROGRAM.findall(text) == ["/usr/bin/mountpoint", "/usr/bin/touch"]
    assert not {"/usr/bin/mountpoint", "/usr/bin/touch"} & set(KNOWN)
