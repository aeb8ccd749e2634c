from avadm_lab.docker import inotify
from avadm_lab.layout import Config, nodes

LAB = nodes(Config(masters=1))


def limit(folder, value="128\n"):
    path = folder / "max_user_instances"
    path.write_text(value)
    return path


def test_where_there_is_enough_nothing_is_shown_or_done(tmp_path):
    at = limit(tmp_path)
    assert inotify.provide(LAB, left=lambda wanted: wanted, limit=at) == ""
    assert at.read_text() == "128\n"


def test_too_few_raise_the_limit_and_that_is_reported(tmp_path):
    at = limit(tmp_path)
    reply = inotify.provide(LAB, left=lambda wanted: 3, limit=at)
    assert at.read_text() == "1024"
    assert "from 128 to 1024" in reply
    assert "3 were left" in reply
    assert "take 138" in reply  # 7 nodes x 10, 2 Prometheus x 22, 4 of Kubernetes x 6


def test_a_limit_that_is_high_and_used_up_is_doubled(tmp_path):
    at = limit(tmp_path, "4096")
    assert "from 4096 to 8192" in inotify.provide(LAB, left=lambda wanted: 3, limit=at)


def test_a_limit_that_may_not_be_raised_is_reported_with_the_remedy(tmp_path):
    reply = inotify.provide(LAB, left=lambda wanted: 3, limit=tmp_path / "none" / "max_user_instances")
    assert "3 inotify instances left" in reply
    assert "take 138" in reply
    assert "No such file" in reply
    assert "sysctl fs.inotify.max_user_instances=1024" in reply


def test_what_is_counted_is_given_back():
    first = inotify.left(2)
    assert inotify.left(2) == first <= 2
