"""What is stated of a wrong value of a field that forms have: other languages have their own name for each."""

from __future__ import annotations

from ava.domain.phrases import Phrase

KNOWN = {
    "name": (
        Phrase("Invalid value for name."),
        Phrase("Give name a value of this kind."),
    ),
    "image": (
        Phrase("Invalid value for image."),
        Phrase("Give image a value of this kind."),
    ),
    "command": (
        Phrase("Invalid value for command."),
        Phrase("Give command a value of this kind."),
    ),
    "email": (
        Phrase("Invalid value for email."),
        Phrase("Give email a value of this kind."),
    ),
    "password": (
        Phrase("Invalid value for password."),
        Phrase("Give password a value of this kind."),
    ),
    "current": (
        Phrase("Invalid value for current."),
        Phrase("Give current a value of this kind."),
    ),
    "new": (
        Phrase("Invalid value for new."),
        Phrase("Give new a value of this kind."),
    ),
    "value": (
        Phrase("Invalid value for value."),
        Phrase("Give value a value of this kind."),
    ),
    "label": (
        Phrase("Invalid value for label."),
        Phrase("Give label a value of this kind."),
    ),
    "days": (
        Phrase("Invalid value for days."),
        Phrase("Give days a value of this kind."),
    ),
    "invitation": (
        Phrase("Invalid value for invitation."),
        Phrase("Give invitation a value of this kind."),
    ),
    "group": (
        Phrase("Invalid value for group."),
        Phrase("Give group a value of this kind."),
    ),
    "user": (
        Phrase("Invalid value for user."),
        Phrase("Give user a value of this kind."),
    ),
    "pool": (
        Phrase("Invalid value for pool."),
        Phrase("Give pool a value of this kind."),
    ),
    "quota": (
        Phrase("Invalid value for quota."),
        Phrase("Give quota a value of this kind."),
    ),
    "selector": (
        Phrase("Invalid value for selector."),
        Phrase("Give selector a value of this kind."),
    ),
    "priority": (
        Phrase("Invalid value for priority."),
        Phrase("Give priority a value of this kind."),
    ),
    "replicas": (
        Phrase("Invalid value for replicas."),
        Phrase("Give replicas a value of this kind."),
    ),
    "cpu": (
        Phrase("Invalid value for cpu."),
        Phrase("Give cpu a value of this kind."),
    ),
    "memory": (
        Phrase("Invalid value for memory."),
        Phrase("Give memory a value of this kind."),
    ),
    "gpu": (
        Phrase("Invalid value for gpu."),
        Phrase("Give gpu a value of this kind."),
    ),
    "storage": (
        Phrase("Invalid value for storage."),
        Phrase("Give storage a value of this kind."),
    ),
    "disk": (
        Phrase("Invalid value for disk."),
        Phrase("Give disk a value of this kind."),
    ),
    "path": (
        Phrase("Invalid value for path."),
        Phrase("Give path a value of this kind."),
    ),
    "snapshot": (
        Phrase("Invalid value for snapshot."),
        Phrase("Give snapshot a value of this kind."),
    ),
    "server": (
        Phrase("Invalid value for server."),
        Phrase("Give server a value of this kind."),
    ),
    "port": (
        Phrase("Invalid value for port."),
        Phrase("Give port a value of this kind."),
    ),
    "health": (
        Phrase("Invalid value for health."),
        Phrase("Give health a value of this kind."),
    ),
    "metrics": (
        Phrase("Invalid value for metrics."),
        Phrase("Give metrics a value of this kind."),
    ),
    "starts_in": (
        Phrase("Invalid value for starts_in."),
        Phrase("Give starts_in a value of this kind."),
    ),
    "model": (
        Phrase("Invalid value for model."),
        Phrase("Give model a value of this kind."),
    ),
    "access": (
        Phrase("Invalid value for access."),
        Phrase("Give access a value of this kind."),
    ),
    "least": (
        Phrase("Invalid value for least."),
        Phrase("Give least a value of this kind."),
    ),
    "most": (
        Phrase("Invalid value for most."),
        Phrase("Give most a value of this kind."),
    ),
    "requests": (
        Phrase("Invalid value for requests."),
        Phrase("Give requests a value of this kind."),
    ),
    "retries": (
        Phrase("Invalid value for retries."),
        Phrase("Give retries a value of this kind."),
    ),
    "time_limit": (
        Phrase("Invalid value for time_limit."),
        Phrase("Give time_limit a value of this kind."),
    ),
    "url": (
        Phrase("Invalid value for url."),
        Phrase("Give url a value of this kind."),
    ),
    "store": (
        Phrase("Invalid value for store."),
        Phrase("Give store a value of this kind."),
    ),
    "commit": (
        Phrase("Invalid value for commit."),
        Phrase("Give commit a value of this kind."),
    ),
    "node": (
        Phrase("Invalid value for node."),
        Phrase("Give node a value of this kind."),
    ),
    "gpu_model": (
        Phrase("Invalid value for gpu_model."),
        Phrase("Give gpu_model a value of this kind."),
    ),
    "queue": (
        Phrase("Invalid value for queue."),
        Phrase("Give queue a value of this kind."),
    ),
    "cpu_ratio": (
        Phrase("Invalid value for cpu_ratio."),
        Phrase("Give cpu_ratio a value of this kind."),
    ),
    "memory_ratio": (
        Phrase("Invalid value for memory_ratio."),
        Phrase("Give memory_ratio a value of this kind."),
    ),
    "gpu_slots": (
        Phrase("Invalid value for gpu_slots."),
        Phrase("Give gpu_slots a value of this kind."),
    ),
}
"""What is wrong and what to do, by the field's name."""
