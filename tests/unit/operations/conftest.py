"""What tests of operations share: nodes of fakes are asked one after another."""

from concurrent.futures import Executor, Future

import pytest

from avadm.remote import call


class OneAfterAnother(Executor):
    """An executor that does what it is given at once and in the same thread, as a pool of one that is never busy."""

    def __init__(self, workers, thread_name_prefix=""):
        pass

    def submit(self, function, /, *args, **more):
        future = Future()
        try:
            future.set_result(function(*args, **more))
        except BaseException as error:
            future.set_exception(error)
        return future


@pytest.fixture(autouse=True)
def _nodes_are_asked_one_after_another(monkeypatch):
    """Fakes answer at once: a thread for each node and question was half the time of these tests."""
    monkeypatch.setattr(call, "ThreadPoolExecutor", OneAfterAnother)
