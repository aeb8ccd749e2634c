"""A database in a real PostgreSQL, migrated once and copied for each test."""

import pytest

from ava.db.database import migrate, open_database
from tests.platform.postgres import Server
from tests.unit.ava.db.world import World


@pytest.fixture(scope="session")
def server():
    server = Server()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def migrated(server):
    name = server.create()
    migrate(server.url(name))
    return name


@pytest.fixture
def database(server, migrated):
    name = server.create(migrated)
    yield name
    server.drop(name)


@pytest.fixture
def url(server, database):
    return server.url(database)


@pytest.fixture
def db(url):
    db = open_database(url)
    yield db
    db.close()


@pytest.fixture
def world(db):
    return World(db)
