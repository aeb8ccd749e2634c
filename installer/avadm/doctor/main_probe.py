# The end of the script: runs the parts that are asked for, all at once, and prints one JSON object.


def main(params):
    """Run the parts; one that fails or does not end hides no other."""
    begun = time.time()
    found, errors = {}, {}

    def take(name):
        try:
            found[name] = globals()[name](params)
        except Exception as error:
            # Not str(error): python 2 cannot write every text as bytes.
            said = error.args[0] if isinstance(error, Failed) and error.args else repr(error)
            errors[name] = said[:LONG_LINE]

    threads = []
    for name in sorted(params["parts"]):
        thread = threading.Thread(target=take, args=(name,))
        thread.daemon = True
        thread.start()
        threads.append((name, thread))
    for name, thread in threads:
        thread.join(max(0.0, begun + params["parts"][name] - time.time()))
    for name, thread in threads:
        if thread.is_alive() and name not in found:
            errors[name] = "no answer within %d s" % params["parts"][name]
    return {
        "parts": dict((n, found[n]) for n in params["parts"] if n in found and n not in errors),
        "errors": dict(errors),
    }


if "PARAMS" in globals():
    sys.stdout.write(json.dumps(main(json.loads(PARAMS))) + "\n")  # noqa: F821  (the line in front sets it)
    sys.stdout.flush()
    # A part that waits for a dead disk would keep the process.
    os._exit(0)
