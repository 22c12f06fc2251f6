"""Addresses for pods: network namespaces on one bridge.

They are in a network namespace of this process, which `scripts/cluster` makes, and end with it.
"""

import subprocess

BRIDGE, NODE, WIDTH = "cluster0", "10.77.0.1", 16


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"error: 'ip {' '.join(words)}' failed: {done.stderr.strip()}")


class Network:
    def __init__(self):
        self.given = 0
        ip("link", "set", "lo", "up")
        ip("link", "add", BRIDGE, "type", "bridge")
        # The node's own address. Probes come from it.
        ip("address", "add", f"{NODE}/{WIDTH}", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")

    def attach(self, namespace):
        """Makes a namespace, and returns its address. No address is used twice, as in a cluster for a long time."""
        self.given += 1
        address, outside = f"10.77.{1 + self.given // 250}.{1 + self.given % 250}", f"pod{self.given}"
        ip("netns", "add", namespace)
        ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        ip("link", "set", outside, "master", BRIDGE, "up")
        ip("-n", namespace, "link", "set", "lo", "up")
        ip("-n", namespace, "address", "add", f"{address}/{WIDTH}", "dev", "eth0")
        ip("-n", namespace, "link", "set", "eth0", "up")
        return address

    def detach(self, namespace):
        """After its processes have ended."""
        ip("netns", "delete", namespace)
