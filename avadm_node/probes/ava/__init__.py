"""What `avadm upgrade ava` asks and does on nodes."""
