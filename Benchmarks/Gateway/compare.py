"""Runs the cases of Benchmarks/gateway.sh, whose head describes the options."""

import argparse
import os
import re
import signal
import sys

import pages
import results
import servers
from load import Failure
from programs import Programs
from protocols import Protocols

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sections  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", action="append", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--only", default=".")
    parser.add_argument("--peers", default=",".join(servers.PEERS))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", metavar="DATE")
    options = parser.parse_args()
    options.compares = len(options.binary) == 2
    if options.compares and options.write:
        parser.error("A comparison of two programs is not written to RESULTS.md.")
    options.rounds = options.rounds or (1 if options.quick else 7 if options.compares else 5)
    options.seconds = options.seconds or (1 if options.quick else 3)
    options.peers = options.peers.split(",")
    return options


def main():
    options = arguments()
    # So that every started process is stopped, however this ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    found = results.Results()
    cases = Programs(options, found) if options.compares else Protocols(options, found)
    loads, failures = [os.getloadavg()[0]], []
    for name in cases.NAMES:
        if not re.search(options.only, name):
            continue
        print(f"{name} (load average {os.getloadavg()[0]:.1f})", flush=True)
        try:
            cases.run(name)
        except Failure as failure:
            failures.append(f"{name}: {failure}")
            print(f"  FAILED: {failure}", flush=True)
        loads.append(os.getloadavg()[0])
    results.print_tables(found)
    if options.write:
        versions = {name: servers.version(name) for name in [*options.peers, "wrk", "h2load"]}
        sections.replace(results.HEADING, results.markdown(found, options, versions, loads))
        print("\nWritten to Benchmarks/RESULTS.md")
        try:
            pages.write()
        except ValueError as error:
            failures.append(f"README.md and docs/comparison.md were not written: {error}")
    if found.missed:
        print(f"\n{len(found.missed)} of {sum(1 for row in found.limits if row[2])} limits are not held:", file=sys.stderr)
        for name, measured, limit, _ in found.missed:
            print(f"  {name}: {measured}; {limit}", file=sys.stderr)
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    sys.exit(1 if failures or ((options.check or options.compares) and found.missed) else 0)


if __name__ == "__main__":
    main()
