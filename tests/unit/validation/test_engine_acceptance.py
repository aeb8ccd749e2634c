"""The glue of acceptance: what it can do without git."""

import subprocess

from avadm.engine import acceptance


def test_without_git_the_commit_is_unknown(monkeypatch):
    def missing(*args, **kwargs):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert acceptance._commit() == ""
