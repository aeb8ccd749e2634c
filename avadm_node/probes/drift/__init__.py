"""The present values of what avadm keeps on a node and in the cluster; nothing is changed."""
