"""GPUs by user: who has which, and how hard each run works its own (A-SC9); ava/web/metrics.py asks for the same series."""

from avadm.components.grafana.panels import AMBER, Query, bars, dashboard, graph, stat, table

# AVA's runs joined with the exporter: components/ava/alerts.yml.
RUN = "run:gpu_utilization:percent"
CHOSEN = {"user": RUN, "group": RUN}
MINE = f'{RUN}{{user=~"$user", group=~"$group", node=~"$node"}}'
# Without any run there is a zero to show, and only then; where lines have names it is no one's.
NONE = "or on () vector(0)"


def no_user(label: str) -> str:
    """Return the same for lines that are called by a label."""
    return f'or on () label_replace(vector(0), "{label}", "nobody", "", "")'


PANELS = [
    stat("GPUs that runs have", f"count({MINE}) {NONE}", width=6),
    stat("Users", f"count(count by (user) ({MINE})) {NONE}", width=6),
    stat("Mean utilization", f"avg({MINE}) / 100 {NONE}", unit="percentunit", width=6),
    stat(
        "GPUs that do nothing",
        f"count(avg_over_time({MINE}[30m]) < 5) {NONE}",
        width=6,
        steps=[(1, AMBER)],
        note="Given to a run, and below 5 % in the mean of half an hour.",
    ),
    bars("GPUs by user", f"count by (user) ({MINE}) {no_user('user')}", "{{user}}", width=8),
    bars(
        "Mean utilization by user",
        f"avg by (user) ({MINE}) / 100 {no_user('user')}",
        "{{user}}",
        unit="percentunit",
        width=8,
    ),
    bars("GPUs by group", f"count by (group) ({MINE}) {no_user('group')}", "{{group}}", width=8),
    graph(
        "Utilization of each run's GPUs",
        Query(
            f'label_join({MINE}, "card", " GPU ", "node", "gpu") / 100 {no_user("user")}',
            "{{user}} {{name}} {{card}}",
        ),
        unit="percentunit",
        width=24,
    ),
    table(
        "Runs with GPUs",
        f"avg by (user, group, kind, name, run, node, gpu) ({MINE}) {no_user('user')}",
        width=24,
    ),
]


def build() -> str:
    """Return the dashboard as JSON."""
    note = "Who has which, and how hard each workbench and training works its own."
    return dashboard("avadm-gpu-users", "GPUs by user", note, PANELS, variables=["node"], chosen=CHOSEN)
