"""The other tenant's container, which the attacks are aimed at; handed over as a command, so the standard library alone."""

PROGRAM = """
import ctypes, http.server, os, socket, sys
mark, key = sys.argv[1], int(sys.argv[2])
for folder in ("/tmp/", "/dev/shm/"):
    open(folder + mark, "w").write("theirs"); os.chmod(folder + mark, 0o666)
if ctypes.CDLL(None).shmget(key, 4096, 0o1666) < 0: sys.exit("no shared memory")
link = socket.socket(socket.AF_UNIX); link.bind("\\0" + mark); link.listen(5)
print("ready", *[n for n in os.listdir("/dev") if n.startswith("nvidia") and n[6:].isdigit()], flush=True)
http.server.HTTPServer(("", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
"""Files, shared memory and sockets that everybody may use who reaches them, all by the mark; tells its cards."""


def command(mark: str, key: int) -> list[str]:
    """Return the command; ``mark`` is a word in all that it makes, ``key`` that of its System V shared memory."""
    return ["python3", "-c", PROGRAM, mark, str(key)]
