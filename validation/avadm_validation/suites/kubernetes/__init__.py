"""The Kubernetes suite (K-*): nodes, pods, services, names, the way in, policy, GPUs, the API, memory, volumes, limits."""
