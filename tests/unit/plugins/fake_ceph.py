"""A `ceph` command that answers from a table and records its calls."""

import json

from ansible.module_utils.avadm_ceph import Ceph


class FakeCeph(Ceph):
    """Ceph whose reading commands answer from `answers`; every other command is kept in `done`.

    Args:
        answers: words of a command, joined by blanks, to its JSON, or to a function that makes it.
    """

    def __init__(self, answers):
        super().__init__(self.fake)
        self.answers = answers
        self.done = []
        self.stdin = []

    def fake(self, argv, data=None):
        words = " ".join(argv[3:]).removesuffix(" --format json")
        if words in self.answers:
            answer = self.answers[words]
            return 0, json.dumps(answer() if callable(answer) else answer), ""
        if argv[-1] == "json":
            return 22, "", f"no answer to {words}"
        # Without words: the commands come by standard input, a line each.
        self.done += [words] if words else data.splitlines()
        self.stdin.append(data)
        return 0, "", ""
