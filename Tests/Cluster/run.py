"""Runs the example of docs/kubernetes.md: run.py --bin FOLDER --folder FOLDER [--seed N] [--only SCENES] [--quick].

Network namespaces stand for pods, and the rest of Kubernetes for itself: see cluster.py. The process
needs network, mount and process namespaces of its own, which scripts/cluster makes.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import time

import scenes
from pods import Failed

PROGRAMS = ["kubectl", "haproxy", "redis-server"]
PROMETHEUS = ["prometheus", "promtool"]


async def play(options, programs):
    names = options.only.split(",") if options.only else scenes.QUICK if options.quick else scenes.FULL
    if unknown := set(names) - set(scenes.ALL):
        raise SystemExit(f"error: no scene is named {sorted(unknown)}. There are: {', '.join(scenes.ALL)}.")
    world = scenes.World(options, programs)
    for name in ["deploy", *(name for name in names if name != "deploy")]:
        began = time.monotonic()
        result = await scenes.ALL[name](world)
        print(f"  {name:10} {time.monotonic() - began:5.1f} s  {result}", flush=True)
        if world.cluster.findings:
            raise Failed("\n".join(world.cluster.findings))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="scenes, separated by commas")
    parser.add_argument("--backups", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="one pod is replaced, and there is no Prometheus")
    options = parser.parse_args()
    # The namespaces of 'ip netns' are only in this mount namespace.
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    programs = {name: shutil.which(name) for name in PROGRAMS + PROMETHEUS}
    try:
        asyncio.run(play(options, programs))
    except* Failed as failures:
        for failure in failures.exceptions:
            print(f"error: {failure}", file=sys.stderr)
        print(f"Again: SEED={options.seed} scripts/cluster {os.environ.get('CLUSTER_ARGUMENTS', '')}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
