"""Which images are being deleted: until it is said that they are, or for a time."""

from __future__ import annotations

from datetime import timedelta

from ava.db.database import Database
from tests.unit.ava.db.world import NOW

LATER = NOW + timedelta(minutes=2)


def test_a_deletion_counts_for_its_repository_until_it_is_over_or_its_time_is(store: Database) -> None:
    for id in ("a", "b"):
        store.delete_image(id, "users/ann/torch", LATER)
    store.image_deleted("a")
    assert store.images_go("users/ann/torch", NOW)
    assert not store.images_go("users/ann/torch2", NOW)
    assert not store.images_go("users/ann/torch", LATER)
    store.delete_image("b", "users/ann/torch", LATER + timedelta(minutes=1))
    assert store.images_go("users/ann/torch", LATER)
    store.image_deleted("b")
    store.image_deleted("b")
    assert not store.images_go("users/ann/torch", NOW)


def test_a_start_claims_its_repository_and_is_no_deletion(store: Database) -> None:
    store.claim_image("a", "users/ann/torch", LATER)
    store.delete_image("b", "users/ann/other", LATER)
    assert store.image_claimed("users/ann/torch", NOW)
    assert not store.images_go("users/ann/torch", NOW)
    assert not store.image_claimed("users/ann/other", NOW)
    assert not store.image_claimed("users/ann/torch", LATER)
    store.release_image("a")
    assert not store.image_claimed("users/ann/torch", NOW)


def test_what_broke_off_is_swept_away(store: Database) -> None:
    store.delete_image("a", "users/ann/torch", LATER)
    assert store.sweep(NOW) == 0
    assert store.sweep(LATER + timedelta(seconds=1)) == 1
