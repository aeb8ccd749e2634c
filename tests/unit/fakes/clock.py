"""Time that passes only while somebody sleeps, or a test says so."""


class Clock:
    """A clock that is called, or asked as the module ``time`` is."""

    def __init__(self, now=0.0):
        self.now = now

    def __call__(self):
        return self.now

    time = monotonic = __call__

    def sleep(self, seconds):
        self.now += seconds
