"""The component etcd."""
