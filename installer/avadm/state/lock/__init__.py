"""One run at a time per site: a lock on this controller (controller.py), and one on the site's own nodes (site.py).

The first ends with the process. The second holds for all controllers; owner.py says whose a lock is, and nodes.py asks the nodes
that keep it.
"""
