"""Measures a fleet that shares its purges: figures.py --bin FOLDER [--only NAME] [options].

The figures are one row each: the figure, its limit, whether it is kept. Everything runs on this
machine, Redis and the clients too.
"""

import argparse
import asyncio
import os
import re
import shutil
import sys
import tempfile

import absence
import privacy
import propagation
import responses
import throughput

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import sections  # noqa: E402

HEADING = "## Fleet"
PARTS = {"propagation": propagation, "absence": absence, "throughput": throughput, "privacy": privacy, "responses": responses}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default=".")
    parser.add_argument("--purges", type=int, default=200)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", metavar="DATE")
    options = parser.parse_args()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="holdfast-fleet."))
    lines = []

    def show(line):
        lines.append(line)
        print(line, flush=True)

    show("| Figure | Measured | Limit | |")
    show("|---|---|---|---|")
    exceeded = []
    try:
        for name, part in PARTS.items():
            if re.search(options.only, name):
                for words, figure, limit, is_kept in asyncio.run(part.run(options, folder)):
                    show(f"| {words} | {figure} | {limit} | {'' if is_kept else 'exceeded'} |")
                    exceeded += [] if is_kept else [words]
    finally:
        shutil.rmtree(folder)
    if options.write:
        head = f"Written by `Benchmarks/fleet.sh --write` on {options.write}: release build, nodes, Redis, origin and clients on {os.cpu_count()} cores."
        sections.replace(HEADING, "\n".join([HEADING, "", head, "", *lines]))
    if exceeded and options.check:
        sys.exit(f"error: {len(exceeded)} limits are exceeded.")


if __name__ == "__main__":
    main()
