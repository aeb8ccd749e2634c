"""A thin asyncio client of Kubernetes' API, level 1.9 and newer: plain dicts, list+watch, bind, a lock."""
