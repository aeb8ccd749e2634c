"""A user of the lab's platform with a group of their own, and what they do all day."""

import time

SMALL = {"cpu": 100, "memory": 64 * 2**20}
ENDED = {"succeeded", "failed", "stopped", "aborted", "lost", "timed-out"}
CARDS = 4
"""What the group may have, which is what one of the lab's GPU nodes has."""


class UserJourney:
    """A user, the group of the same name, and an image to run."""

    def __init__(self, user, group, image):
        self.user, self.group, self.image = user, group, image

    def start(self, name, program, **spec):
        command = ["python3", "-c", program] if isinstance(program, str) else list(program)
        return self.user.start(name, {"image": self.image, "command": command, **spec}).id

    def until(self, run, *states, seconds=90):
        until = time.monotonic() + seconds
        while (now := self.user.run(run)).state not in states:
            assert time.monotonic() < until, f"{run} is {now.state}: {now.reason}"
            time.sleep(0.3)
        return now

    def succeeded(self, run, seconds=120):
        """Wait for a run's end; where it has not succeeded say why, with the end of its log."""
        ended = self.until(run, *ENDED, seconds=seconds)
        if ended.outcome != "succeeded":
            time.sleep(3)
            pods = [(p.pod, p.phase, p.reason, p.exit_code) for p in self.user.pods(run)]
            lines = [line.text for line in self.user.logs(run, tail=40)]
            raise AssertionError(f"{ended.outcome}: {ended.reason}\n{pods}\n" + "\n".join(lines))

    def log(self, run, wanted, seconds=30, start=""):
        """Return the lines that start so once so many are there: what was logged reaches the stores a little later."""
        until = time.monotonic() + seconds
        while True:
            lines = [line.text for line in self.user.logs(run, tail=100)]
            found = [line for line in lines if line.startswith(start)]
            if len(found) >= wanted:
                return found
            assert time.monotonic() < until, lines
            time.sleep(0.5)
