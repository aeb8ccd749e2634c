"""One suite's checks within a run."""

from avadm_validation.measuring.schedule import make


def execute(suite, runner, only=()):
    """Make the checks of a suite, given by its module ``run``, or those that are named; return their results."""
    return make(runner, [(suite.session, only)])
