"""Whether a daemon serves somewhere, asked by a command; Python 2.7 and 3."""

from __future__ import absolute_import, division, print_function

import time


class Health(object):
    """A command that exits 0 while a daemon serves at the place that is its last argument.

    Args:
        run: callable(argv, handle_exceptions) -> (rc, stdout, stderr).
        command: the command without the place.
    """

    def __init__(self, run, command):
        self.run, self.command = run, command

    def trouble(self, place):
        """Return why it does not serve there, as text; None where it does."""
        argv = self.command + [place]
        try:
            rc, out, err = self.run(argv, handle_exceptions=False)
        except (IOError, OSError) as error:  # in a dry run the program may not be installed yet
            rc, out, err = 127, "", str(error)
        if rc == 0:
            return None
        return "`%s`: %s" % (" ".join(argv), (err or out).strip()[-200:] or "exit %d" % rc)

    def awaited(self, places, timeout, sleep=time.sleep, clock=time.time):
        """Wait until it serves at all places; return what is wrong after so many seconds, None where nothing is."""
        deadline = clock() + timeout
        while True:
            bad = [text for text in [self.trouble(place) for place in places] if text]
            if not bad:
                return None
            if clock() >= deadline:
                return "; ".join(bad)
            sleep(1)
