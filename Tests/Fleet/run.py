"""Checks the history of a fleet under faults; run.py --bin FOLDER [--seconds N] [--seed N]
[--share responses|invalidations] [--cut-off serve|validate] [--newer].

Three gateways share purges and responses by a Redis and its replica, each through a relay that stalls, cuts,
loses and spoils bytes. Clients read and operators purge while gateways and servers are killed,
stopped, flushed, restored and failed over. 'history.py' has the rules. Now and then all faults end,
and the fleet has to come to rest. At the end Redis and the origin are gone, and every node has to
have every response all the same. With --newer, a script appends records of an unknown version to the
log, in place of a node of a newer version: each node must count them and log that, and lose no other
purge.
"""

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time

from gateways import Ended
from world import NODES, World, reported_by

# The shortest and the longest time under faults between two rests, in seconds.
STRETCH = 3, 10
# For a minute a node that hears of a removal removes, also what is newer. At the end everything has
# to be there, so there are no removals before: in short runs none at all.
REMOVAL = 65


async def run(options, folder):
    world = World(options.bin, folder, options.seed, options.share, options.cut_off, options.newer)
    start = time.monotonic()
    world.history.removes_until = start + options.seconds - REMOVAL
    # Ended from outside, it ends its processes first.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    try:
        await world.start_all()
        number, lengths = 0, world.randomness("stretches")
        while (left := options.seconds - (time.monotonic() - start)) > 1 and not world.history.has_ended:
            await world.suffer(min(lengths.uniform(*STRETCH), left), number)
            await world.come_to_rest()
            number += 1
        if not world.history.has_ended:
            await world.go_offline()
    except* Ended as errors:
        for error in errors.exceptions:
            world.history.violate(None, str(error))
    finally:
        await world.end()
    return report(world, time.monotonic() - start, options)


def report(world, seconds, options):
    history = world.history
    for violation in history.violations:
        print(violation, file=sys.stderr)
    for kind, count in sorted(history.counts.items()):
        print(f"  {count:7} {kind}")
    print(f"  {world.origin.requests:7} requests at the origin, {world.origin.validations} of them validations")
    print(f"The longest rest took {world.rest:.1f} s to come. Seed {options.seed}, {seconds:.0f} s.")
    silent = [node for node in NODES if not history.counts[reported_by(node)]] if options.newer else []
    if silent:
        print(f"error: {' and '.join(silent)} reported no record of the newer version.", file=sys.stderr)
        return 1
    if history.violations:
        again = f"{'OPTIONS=--newer ' if options.newer else ''}scripts/fleet {options.seconds} {options.seed}"
        print(f"error: {history.counts['violations']} violations. Again: {again}", file=sys.stderr)
    return 1 if history.violations else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", choices=["responses", "invalidations"], default="responses")
    parser.add_argument("--cut-off", choices=["serve", "validate"], default="serve")
    parser.add_argument("--newer", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keeps the folder of stores and logs")
    options = parser.parse_args()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="holdfast-fleet."))
    try:
        status = asyncio.run(run(options, folder))
    except asyncio.CancelledError:
        status = 143
    finally:
        if options.keep:
            print(f"Stores and logs are in {folder}.")
        else:
            shutil.rmtree(folder)
    sys.exit(status)


if __name__ == "__main__":
    main()
