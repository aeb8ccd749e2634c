"""A PostgreSQL that is killed and comes back: what was acknowledged is there, who waits is woken."""

import threading
import time

import pytest

from ava.db.database import migrate, open_database
from ava.domain.model import Topic
from ava.domain.problems import ApiError
from tests.platform.db.test_concurrency import check, work
from tests.platform.postgres import Server
from tests.unit.ava.db.world import World


@pytest.fixture(scope="module")
def mortal():
    server = Server(durable=True)
    yield server
    server.remove()


@pytest.fixture
def url_and_world(mortal):
    url = mortal.url(mortal.create())
    migrate(url)
    db = open_database(url)
    yield url, World(db)
    db.close()


@pytest.mark.slow
def test_what_was_acknowledged_survives_kills(mortal, url_and_world):
    url, world = url_and_world

    def kill():
        mortal.stop("immediate")
        time.sleep(0.3)
        mortal.start()
        time.sleep(1)

    check(work(url, world, disturb=kill, lost=3), world, lost=3)


def test_without_a_data_base_it_says_so_and_goes_on_when_it_is_back(mortal, url_and_world):
    _, world = url_and_world
    mortal.stop("fast")
    for call in (lambda: world.db.runs.get("r1aaaaaaaaaaa"), lambda: world.db.outbox.wait(Topic.NOTICE, 1)):
        begin = time.monotonic()
        with pytest.raises(ApiError) as caught:
            call()
        assert caught.value.status == 503
        assert caught.value.problems[0].remedy
        assert time.monotonic() - begin < 10
    mortal.start()
    assert world.db.users.get("ann").name == "ann"
    assert world.db.outbox.wait(Topic.NOTICE, 1)


def test_who_waits_is_woken_when_the_connection_is_lost(mortal, url_and_world):
    _, world = url_and_world
    for _ in range(3):
        world.db.outbox.wait(Topic.OPERATOR, 0.2)
    woken = []
    thread = threading.Thread(target=lambda: woken.append(world.db.outbox.wait(Topic.OPERATOR, 60)))
    thread.start()
    time.sleep(0.5)
    mortal.stop("immediate")
    thread.join(20)
    assert woken == [True]
    mortal.start()


def test_closing_does_not_wait_for_who_waits(mortal, url_and_world):
    url, _ = url_and_world
    db = open_database(url)
    db.outbox.wait(Topic.SCHEDULER, 1)
    thread = threading.Thread(target=lambda: db.outbox.wait(Topic.SCHEDULER, 60))
    thread.start()
    time.sleep(0.5)
    begin = time.monotonic()
    db.close()
    thread.join(10)
    assert not thread.is_alive() and time.monotonic() - begin < 10


def test_a_primary_that_has_become_a_standby_is_left_at_once(url_and_world):
    _, world = url_and_world
    with world.db.engine.connect() as connection:
        stale = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        connection.exec_driver_sql("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        connection.commit()
    world.running()
    with world.db.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT pg_backend_pid()").scalar() != stale
