"""Numbers of the storage suite from raw tool output; importing this registers them."""

from avadm_validation.suites.storage.extract import cluster, fio, series, windows

__all__ = ["cluster", "fio", "series", "windows"]
