"""Clients of the Service while something happens to it."""

import json

from pods import check

COUNT = 30


class Load:
    """Clients of the Service while something happens. Each failure is a finding."""

    def __init__(self, world):
        self.world = world

    async def __aenter__(self):
        balancer = self.world.cluster.balancer
        self.process = await self.world.spawn("clients", "load.py", balancer.address, balancer.port, COUNT, self.world.options.seed)
        return self

    async def __aexit__(self, kind, *_):
        text, _ = await self.process.communicate(b"")
        self.report = json.loads(text)
        counts = self.report["counts"]
        if kind is None:
            failures = "\n  ".join(self.report["failures"])
            check(not counts.get("failures"), f"{counts['failures'] if failures else 0} requests failed, of {counts}:\n  {failures}")
            check(counts["responses"] > 20 * self.report["seconds"] and counts["hits"] > 10, f"there was hardly any load: {counts}")

    def __str__(self):
        return f"{self.report['counts']['responses']} requests by {COUNT} clients, none failed"
