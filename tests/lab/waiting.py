"""Waiting for what comes true on the lab."""

import time


def wait(true, seconds, step=2):
    """Wait until something is true; return it, or what it was last."""
    limit = time.monotonic() + seconds
    while not (last := true()) and time.monotonic() < limit:
        time.sleep(step)
    return last


def until(true, seconds, step=0.5, report=None):
    """Wait until something is true and return it; fail with ``report``'s words, else with what it was last."""
    found = wait(true, seconds, step)
    assert found, f"not within {seconds} s: {report() if report else repr(found)}"
    return found
