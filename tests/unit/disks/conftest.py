import pytest
from disk_fakes import SITE, Node


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path / "locks")


@pytest.fixture
def site_path(tmp_path, monkeypatch):
    path = tmp_path / "site.yml"
    path.write_text(SITE)
    return path
