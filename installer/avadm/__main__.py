"""`python -m avadm` and the entry point of the command line."""

from avadm.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
