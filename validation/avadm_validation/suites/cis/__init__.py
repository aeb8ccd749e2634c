"""The CIS suite: the controls of the CIS Kubernetes Benchmark 1.2.0, read on each node."""
