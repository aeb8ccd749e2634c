"""Broken site files through the command line: a sentence for each fault, exit status 2, nothing touched."""

import os
import socket
from itertools import cycle

import pytest

from avadm.site.load import DRAFT
from tests.unit.site.corpus import BASE, cases

ALWAYS = (("site", "check"), ("apply",))
TURNS = "site show, bootstrap, preflight, plan, disk list, node drain s1, accept run, status, upgrade --to lab-bookworm-newer"
IN_TURN = [tuple(verb.split()) for verb in TURNS.split(", ")]
BROKEN = [c for c in cases() if c.broken]


def tree(root):
    """Everything below a folder: names, modes, sizes, times, contents and where links point."""
    found = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        held = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        found[path] = (about.st_mode, about.st_size, about.st_mtime_ns, held)
    return found


@pytest.fixture
def avadm(called, tmp_path, monkeypatch):
    """The command line in a folder where all that it may write lies, and where no connection may be tried."""
    for name in ("runs", "cache"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection was tried"))
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("a connection was tried"))
    return called


def refused(avadm, root, *argv):
    """Run a verb that must be refused without a trace; return what it says."""
    before = tree(root)
    code, out, err = avadm(*argv)
    assert code == 2, (argv, out, err)
    assert "Traceback" not in out + err
    assert "did not expect" not in out + err
    assert tree(root) == before
    return out + err


def test_there_are_a_hundred_and_more():
    assert len(BROKEN) >= 100


# All cases are judged in site/test_cases.py; of the command line CI takes one in four.
@pytest.mark.parametrize(
    ("case", "verb"),
    [
        pytest.param(case, verb, id=case.id, marks=[pytest.mark.slow] if i % 4 else [])
        for i, (case, verb) in enumerate(zip(BROKEN, cycle(IN_TURN), strict=False))
    ],
)
def test_a_broken_site_file_is_refused_and_nothing_is_touched(avadm, tmp_path, case, verb):
    site = tmp_path / "site" / "site.yml"
    site.parent.mkdir()
    site.write_bytes(case.raw)
    errors = [e for e in case.expect if e.get("severity", "error") == "error"]
    # A draft is refused only by verbs that install.
    draft = {e["check"] for e in errors} <= DRAFT
    for words in (("apply",), ("plan",)) if draft else (*ALWAYS, verb):
        reply = refused(avadm, tmp_path, "--site", str(site), *words)
        assert reply.count("✗ ") == len(errors), reply
        for word in ("where", "found", "expected", "remedy"):
            assert reply.count(f"\n    {word:<9}") >= len(errors), reply
        assert all(c.isprintable() or c == "\n" for c in reply)
        assert "hunter2" not in reply
        assert "b3Blbn" not in reply


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda p: None, "no such file"),
        (lambda p: p.mkdir(), "folder"),
        (lambda p: os.mkfifo(p), "not a regular file"),
        (lambda p: p.symlink_to(p), "cannot be read"),
        (lambda p: p.symlink_to("nowhere"), "no such file"),
        (lambda p: p.write_bytes(b"#" * (5 << 20)), "too large"),
        (lambda p: p.symlink_to("/dev/zero"), "not a regular file"),
    ],
    ids=["missing", "a folder", "a pipe", "a link to itself", "a link to nothing", "five MiB", "a device"],
)
def test_what_is_no_file_is_refused(avadm, tmp_path, make, word):
    site = tmp_path / "site.yml"
    make(site)
    for verb in (*ALWAYS, *IN_TURN):
        assert word in refused(avadm, tmp_path, "--site", str(site), *verb)


def test_the_good_one_is_not_refused(avadm, tmp_path):
    (tmp_path / "site.yml").write_text(BASE)
    assert avadm("site", "check")[0] == 0
