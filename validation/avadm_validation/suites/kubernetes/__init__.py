"""The Kubernetes suite: nodes, pods, services, names, the way in, policy, GPUs, the API, memory (K-*)."""
