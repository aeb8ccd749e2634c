"""Faults that turn the checks of the platform red: each changes what a platform of the unit tests does.

What its client, kubectl and the kubelets' events say then goes through the real checks, extraction and judgement. The ones that
are planted on the lab too are in platform_lab.py.
"""

from tests.controls.fault import Fault, controls

TEST = "tests/unit/validation/test_platform_suite.py::test_a_planted_fault_is_seen"


def _set(**values):
    return lambda world: [setattr(world, name, value) for name, value in values.items()]


def _attacks(**values):
    return lambda world: [setattr(world.attacks, name, value) for name, value in values.items()]


def _reading(**values):
    return lambda world: [setattr(world.reading, name, value) for name, value in values.items()]


def _view(**values):
    return lambda world: [setattr(world.view, name, value) for name, value in values.items()]


FAULTS = (
    Fault("no-authority", "the master has no certificate of the ingress' authority", "A-SC-PRE", (),
          _set(certificate=False), "BLOCKED"),
    Fault("silent-scheduler", "the scheduler has not told lately what is free", "A-SC-PRE", ("fresh",),
          _set(fresh=False), "BLOCKED"),
    Fault("by-run", "a parameter server without GPUs goes where its run's GPUs are", "A-SC1", ("misplaced",),
          _set(by_run=True)),
    Fault("gpu-anywhere", "trainings with GPUs are put on a node without", "A-SC1", ("misplaced", "started-elsewhere"),
          _set(gpu_anywhere=True)),
    Fault("other-kubelet", "a kubelet of a CPU node starts all pods, whatever the platform says", "A-SC1",
          ("started-elsewhere",), _set(host_of=lambda node: "cpu1")),
    Fault("named-lets-in", "naming a GPU node lets a training without GPUs onto it", "A-SC1", ("let-in",),
          _set(lets_in=True)),
    Fault("long-grace", "a training that does not hear the stop has 600 s until it is killed", "A-SC2", ("freed",),
          _set(grace=600)),
    Fault("never-ends", "what is stopped keeps its GPU", "A-SC2", ("freed",), _set(never_returns=True)),
    Fault("same-card", "the next training is given a card that another one has", "A-SC2", ("doubly-held",),
          _set(double_cards=True)),
    Fault("untold", "the platform does not say why pods of a harmed node do not end", "A-SC2", ("untold",),
          _set(tells=False)),
    Fault("dead-for-long", "what is on a harmed node whose kubelet is dead is not given up before the kubelet is back",
          "A-SC2", ("untold",), _set(dead_after=600)),
    Fault("all-cards", "a container on a GPU node sees all of its cards", "A-SC3", ("differing",),
          _attacks(sees=lambda run: range(4))),
    Fault("plain-cards", "a container that asked for no GPU has one", "A-SC3", ("differing",),
          _attacks(sees=lambda run: [c for k in run.cards.values() for c in k] or [0])),
    Fault("opened", "device files of a container's own making open all cards", "A-SC3", ("opened",),
          _attacks(opens=lambda run: range(4))),
    Fault("one-card", "two trainings are given the same card", "A-SC3", ("shared",), _set(double_cards=True)),
    Fault("says-all", "a training that says NVIDIA_VISIBLE_DEVICES=all is taken", "A-SC3", ("said-all",),
          _set(takes_said_all=True)),
    Fault("attacked", "the training that is attacked is ended", "A-SC3", ("neighbour",), _set(neighbours_die=True)),
    Fault("open-port", "a container reaches etcd", "A-SC3", ("ports",), _attacks(through={"port-2379-etcd"})),
    Fault("other-port", "a container reaches another user's", "A-SC3", ("victim-port",), _attacks(through={"victim-port"})),
    Fault("docker-socket", "a container reaches docker's socket", "A-SC6", ("docker-socket",),
          _attacks(through={"docker-socket"})),
    Fault("volumes", "a container reads another one's volumes", "A-SC6", ("victim-volumes",),
          _attacks(through={"victim-volumes"})),
    Fault("void-row", "an attack gets through nowhere, so that it shows nothing", "A-SC6", ("node-keys",),
          _attacks(void={"node-keys"}), "INCONCLUSIVE"),
    Fault("no-limit", "the limit of memory is not enforced", "A-SC4", ("killed",), _set(kills_child=False)),
    Fault("whole-workbench", "a workbench over its limit is ended whole", "A-SC4", ("lived-on",),
          _set(whole_container=True)),
    Fault("neighbour", "the neighbour is ended too", "A-SC4", ("neighbour",), _set(neighbours_die=True)),
    Fault("not-again", "a training over its limit is not started again", "A-SC5", ("restarted",), _set(starts_again=False)),
    Fault("unexplained", "nobody says that memory was the cause", "A-SC5", ("explained",), _set(oom="Error")),
    Fault("neighbours", "the neighbour is ended too", "A-SC5", ("neighbour",), _set(neighbours_die=True)),
    Fault("worst-fit", "the node where most is left is chosen", "A-SC7", ("more-left",), _set(rank=lambda free: -free)),
    Fault("first-fit", "the first node that fits is chosen", "A-SC7", ("more-left",), _set(rank=lambda free: 0)),
    Fault("node-ignored", "the node that the user names is not heeded", "A-SC7", ("elsewhere",), _set(obeys_node=False)),
    Fault("model-ignored", "the GPU model that the user names is not heeded", "A-SC7", ("other-model",),
          _set(obeys_model=False, models={"gpu1": "v100", "gpu2": "p100"})),
    Fault("model-unknown", "the model that nodes have is refused, since nobody tells the platform", "A-SC7", ("other-model",),
          _set(told_models=())),
    Fault("any-model", "a GPU model that no node has is taken at submit", "A-SC7", ("refused",), _set(refuses_model=False)),
    Fault("stale-panel", "grafana's panels continue telling what was", "A-SC8", ("agree",), _view(stale=True)),
    Fault("other-count", "the platform believes a GPU taken that is not", "A-SC8", ("agree",), _view(platform_adds=1)),
    Fault("uncharged", "the database charges nothing for a GPU that is taken", "A-SC8", ("agree",), _view(forgets=True)),
    Fault("no-nodes", "the form does not list nodes", "A-SC8", ("form",), _view(lists=False)),
    Fault("form-count", "the form tells more free GPUs than there are", "A-SC8", ("form",), _view(form_adds=1)),
    Fault("not-joined", "runs have no series", "A-SC9", ("wrong",), _view(joined=False)),
    Fault("other-user", "a run's series say another user", "A-SC9", ("wrong",), _view(labels={"user": "eve"})),
    Fault("no-group", "a run's series do not say its group", "A-SC9", ("wrong",), _view(labels={"group": ""})),
    Fault("other-card", "a run's series are of another card", "A-SC9", ("wrong",), _view(shift=1)),
    Fault("other-value", "a run's series are ten points above what the exporter tells", "A-SC9", ("differing",), _view(adds=10)),
    Fault("first-group", "every training is charged to the user's first group", "A-OT1", ("elsewhere",),
          lambda world: setattr(world, "charges", lambda user: min(world.groups))),
    Fault("moving", "a changed default group moves what runs", "A-OT1", ("moved",), _set(moves=True)),
    Fault("no-quota", "trainings are admitted beyond their group's quota", "A-OT1", ("over-quota", "waited"),
          _set(forgets_quota=True)),
    Fault("not-mounted", "a container lacks the folder of one of its user's groups", "A-OT2", ("lacking",),
          _reading(unmounted=1)),
    Fault("other-group", "a container sees the folder of a group that is not its user's", "A-OT2", ("foreign",),
          _reading(foreign=True)),
    Fault("left-group", "a training that is started after its user has left a group still has its folder", "A-OT2",
          ("foreign",), _reading(stays=True)),
    Fault("member-for-ever", "who leaves a group is still in it, and the platform says so", "A-OT2", ("foreign",),
          _reading(keeps_members=True)),
    Fault("open-folders", "groups' folders are open to everybody", "A-OT2", ("rights",), _reading(mode=0o2777)),
    Fault("forgotten", "what one training writes into a group's folder is not there for the next", "A-OT2", ("lost",),
          _reading(forgets=True)),
    Fault("late-stream", "lines of a log are a minute late", "A-OT3", ("first", "behind"), _reading(late={"stream": 60})),
    Fault("late-command", "the command line shows lines a minute late", "A-OT3", ("first", "behind"),
          _reading(late={"command-line": 60})),
    Fault("log-lost", "of a pod that is gone the last lines are lost", "A-OT3", ("wrong",), _reading(keeps=5)),
    Fault("no-place", "the run's page does not show its log", "A-OT3", ("page",), _reading(page_shows=False)),
    Fault("open-log", "users of other groups read the log", "A-OT3", ("others",), _reading(open_to_all=True)),
    Fault("drift", "a group is charged for more than runs", "A-OT1", ("differing", "left"), _set(drift=5)),
)  # fmt: skip

CONTROLS = controls(FAULTS, TEST)
