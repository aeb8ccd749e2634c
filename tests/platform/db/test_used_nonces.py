"""What is good for once: on PostgreSQL too the first to use it is informed, and everybody after is not."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta


def test_the_first_alone_is_reported_that_it_is_the_first(db):
    until = datetime.now(UTC) + timedelta(days=1)
    assert db.secrets.use_nonce("a" * 64, until)
    assert not db.secrets.use_nonce("a" * 64, until)
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: db.secrets.use_nonce("b" * 64, until), range(8))) == 1
