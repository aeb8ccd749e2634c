"""Migrations as the plan of an upgrade reads them: without the platform's packages, and never wrongly as compatible."""

import pytest
from alembic.script import ScriptDirectory

from ava.db.database import config
from avadm import paths
from avadm.operations import ava_migrations as module
from tests.unit.fakes.errors import refused

TEXT = '"""{title}.\n\nMore.\n"""\n\nrevision = "{r}"\ndown_revision = {before}\n{more}\n'


def write(folder, revision, before, more="", title="What it is for"):
    folder.mkdir(exist_ok=True)
    text = TEXT.format(title=title, r=revision, before=repr(before), more=more)
    (folder / f"{revision}_x.py").write_text(text)


def test_what_is_read_is_what_alembic_runs():
    scripts = ScriptDirectory.from_config(config())
    ran = [one.revision for one in reversed(list(scripts.walk_revisions()))]
    found = module.read()
    assert [one.revision for one in found] == ran
    assert all(one.title for one in found)
    flagged = [r for r in ran if getattr(scripts.get_revision(r).module, module.FLAG, False)]
    assert [one.revision for one in found if one.compatible] == flagged
    assert (paths.home() / module.FOLDER).is_dir()


def test_what_is_left_after_a_revision(tmp_path):
    write(tmp_path, "0001", None)
    write(tmp_path, "0002", "0001", "BACKWARD_COMPATIBLE = True")
    write(tmp_path, "0003", "0002", "BACKWARD_COMPATIBLE = 1")
    found = module.read(tmp_path)
    assert [(one.revision, one.compatible) for one in found] == [
        ("0001", False),
        ("0002", True),
        ("0003", False),
    ]
    assert found[0].title == "What it is for"
    assert [one.revision for one in module.after(found, "0001")] == ["0002", "0003"]
    assert module.after(found, "0003") == []
    assert module.after(found, "0004") is None


@pytest.mark.parametrize("fault", ["none", "two lines", "a gap", "no revision", "no Python"])
def test_what_is_no_single_line_is_refused(tmp_path, fault):
    folder = tmp_path / "versions"
    if fault != "none":
        write(folder, "0001", None)
        write(folder, "0002", "0001")
    if fault == "two lines":
        write(folder, "0003", "0001")
    if fault == "a gap":
        write(folder, "0005", "0004")
    if fault == "no revision":
        (folder / "0003_x.py").write_text('"""x"""\n')
    if fault == "no Python":
        (folder / "0003_x.py").write_text("def upgrade(:\n")
    (found,) = refused(module.read, folder)
    assert found.check == "upgrade-migrations"
