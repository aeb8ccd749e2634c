from avadm.lab.docker import inotify
from avadm.lab.layout import Config, nodes

LAB = nodes(Config(masters=1))


def test_nothing_is_said_where_there_is_enough():
    assert inotify.shortage(LAB, left=lambda wanted: wanted) == ""


def test_too_few_are_told_with_how_to_get_more():
    said = inotify.shortage(LAB, left=lambda wanted: 3)
    assert "3 inotify instances left" in said
    assert "take 72" in said  # 7 nodes x 6, 2 Prometheus x 5, 4 of Kubernetes x 5
    assert "sysctl fs.inotify.max_user_instances" in said


def test_what_is_counted_is_given_back():
    first = inotify.left(2)
    assert inotify.left(2) == first <= 2
