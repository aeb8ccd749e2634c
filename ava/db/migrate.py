"""`python -m ava.db.migrate URL`: brings the database's tables to this version's state, once however often it is run."""

from __future__ import annotations

import argparse
import sys

from ava.db.database import migrate, revisions
from ava.domain.problems import ApiError


def main(argv: list[str] | None = None) -> int:
    """Run; 0 done or nothing to do, 1 refused, 2 the database does not answer."""
    parser = argparse.ArgumentParser(prog="python -m ava.db.migrate", description=__doc__)
    parser.add_argument("url", help="with passfile= for the password: postgresql://USER@HOST/NAME?sslmode=…")
    url: str = parser.parse_args(argv).url
    try:
        before, wanted = revisions(url)
        if before != wanted:
            migrate(url)
    except ApiError as refused:
        print(refused, file=sys.stderr)
        return 2 if refused.status == 503 else 1
    print(
        f"the database is at {wanted}"
        + (f", was at {before or 'nothing'}" if before != wanted else " already")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
