"""Reading the site's logs (I8): what is asked (query.py), of whom (transport.py), and the stores' answers as one (client.py).

`workload.py` is what the platform uses to show a training's log, live and after its pod is gone.
"""
