import pytest

from tests.unit.volumes.volume_fakes import World


@pytest.fixture
def world():
    return World()
