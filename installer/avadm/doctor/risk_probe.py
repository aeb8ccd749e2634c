# What the doctor asks about known holes: which build of Kubernetes runs, with which flags, and packages' versions.

SERVERS = (
    "kube-apiserver",
    "apiserver",
    "kube-controller-manager",
    "controller-manager",
    "kube-scheduler",
    "scheduler",
)
SERVERS += ("kubelet", "kube-proxy", "proxy")


def defences(params):
    """Server to its build and flags, as it runs; packages with their versions; rules of iptables that are not there."""
    commits, flags, asked = {}, {}, {}
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        words = (slurp(path) or "").split("\0")
        if os.path.basename(words[0]) != "hyperkube" or len(words) < 2 or words[1] not in SERVERS:
            continue
        name = words[1] if words[1].startswith("kube") else "kube-" + words[1]
        flags[name] = dict(w.lstrip("-").partition("=")[::2] for w in words[2:] if w.startswith("--"))
        # The program as it runs: the file may be another one by now.
        program = os.path.dirname(path) + "/exe"
        try:
            inode = os.stat(program).st_ino
        except OSError:
            continue  # it has ended meanwhile
        if inode not in asked:
            asked[inode] = commit(program)
        commits[name] = asked[inode]
    least, wanted = params.get("packages", {}), params.get("rules", {})
    return {"commits": commits, "flags": flags, "packages": packages(least), "rules": lacking(wanted)}


def commit(program):
    """Return what a hyperkube says of the source that it is made of."""
    # It goes by its name, which /proc does not keep.
    done = must(["bash", "-c", 'exec -a hyperkube "$0" kubectl version --client -o json', program])
    return json.loads(done)["clientVersion"]["gitCommit"]


def lacking(wanted):
    """Return the rules that iptables does not have."""
    found = []
    for table in sorted(wanted):
        there = must(["iptables", "-w", "5", "-t", table, "-S"]).splitlines()
        found += [rule for rule in wanted[table] if rule not in there]
    return found


def packages(least):
    """Return package to its version and whether that is at least the wanted one; those that are not installed are left out."""
    found = {}
    for name in sorted(least):
        code, out, _ = call(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", name])
        if code != 0 or not out.startswith("ii"):
            continue
        version = out[3:].strip()
        code, _, _ = call(["dpkg", "--compare-versions", version, "ge", least[name]])
        found[name] = [version, code == 0]
    return found
