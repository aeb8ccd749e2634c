"""Which images are being deleted: until it is stated that they are, or for a time."""

from __future__ import annotations

from datetime import timedelta

from ava.db.database import Database
from tests.unit.ava.db.world import NOW

LATER = NOW + timedelta(minutes=2)


def test_a_deletion_counts_for_its_repository_until_it_is_over_or_its_time_is(db: Database) -> None:
    for id in ("a", "b"):
        db.images.begin_deletion(id, "users/ann/torch", LATER)
    db.images.end_deletion("a")
    assert db.images.is_being_deleted("users/ann/torch", NOW)
    assert not db.images.is_being_deleted("users/ann/torch2", NOW)
    assert not db.images.is_being_deleted("users/ann/torch", LATER)
    db.images.begin_deletion("b", "users/ann/torch", LATER + timedelta(minutes=1))
    assert db.images.is_being_deleted("users/ann/torch", LATER)
    db.images.end_deletion("b")
    db.images.end_deletion("b")
    assert not db.images.is_being_deleted("users/ann/torch", NOW)


def test_a_start_claims_its_repository_and_is_no_deletion(db: Database) -> None:
    db.images.claim("a", "users/ann/torch", LATER)
    db.images.begin_deletion("b", "users/ann/other", LATER)
    assert db.images.is_claimed("users/ann/torch", NOW)
    assert not db.images.is_being_deleted("users/ann/torch", NOW)
    assert not db.images.is_claimed("users/ann/other", NOW)
    assert not db.images.is_claimed("users/ann/torch", LATER)
    db.images.release("a")
    assert not db.images.is_claimed("users/ann/torch", NOW)


def test_what_broke_off_is_swept_away(db: Database) -> None:
    db.images.begin_deletion("a", "users/ann/torch", LATER)
    assert db.outbox.sweep(NOW) == 0
    assert db.outbox.sweep(LATER + timedelta(seconds=1)) == 1
