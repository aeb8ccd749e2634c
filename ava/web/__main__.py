"""`python -m ava.web --config FILE`: serves the interface and the web site before it, by the API's program."""

from __future__ import annotations

import sys

from ava.api.__main__ import main
from ava.web.app import install

if __name__ == "__main__":
    sys.exit(main(install=install))
