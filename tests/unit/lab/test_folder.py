import pytest

from avadm.private_files import write_private
from avadm_lab.folder import Folder
from avadm_lab.layout import Config
from tests.unit.fakes.errors import refused


def test_no_lab_where_there_is_no_state(tmp_path):
    assert Folder(tmp_path / "none").config() is None


def test_remembers_the_configuration(tmp_path):
    folder = Folder(tmp_path)
    config = Config(name="x", storage=5)
    folder.write({"config": config.model_dump(mode="json")})
    assert folder.config() == config


@pytest.mark.parametrize("text", ["", "{", "[]", '{"config": {"storage": "many"}}', '{"config": {"odd": 1}}'])
def test_damaged_memory_is_a_finding(tmp_path, text):
    folder = Folder(tmp_path)
    folder.state.write_text(text)
    finding, *_ = refused(folder.config)
    assert finding.check == "lab-state"
    assert "lab down" in finding.remedy


def test_refuses_a_folder_with_something_else_in_it(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    assert "thesis.txt" in refused(Folder(tmp_path).check)[0].found


def test_never_removes_a_folder_that_is_not_a_labs(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    Folder(tmp_path).remove()
    assert (tmp_path / "thesis.txt").exists()


def test_removes_a_lab_whole(tmp_path):
    folder = Folder(tmp_path / "lab")
    folder.make()
    folder.write({"config": {}})
    folder.remove()
    assert not folder.root.exists()


def test_password_is_made_once_and_private(tmp_path):
    folder = Folder(tmp_path)
    folder.secrets()
    first = folder.password.read_text()
    folder.secrets()
    assert folder.password.read_text() == first
    assert len(first.strip()) >= 20
    assert folder.password.stat().st_mode & 0o777 == 0o600


def test_private_file_replaces_an_open_one(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)
