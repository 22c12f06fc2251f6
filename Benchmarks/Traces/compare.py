"""Replays traces into the policies of libCacheSim, and prints their miss ratios next to those of the
policies of this project, in memory and on disk.

    compare.py MEMORY DISK FILE...

MEMORY is what 'traces replay FILE...' printed, DISK what 'traces store FILE...' printed. The status
is 1 if a policy misses a limit:

* on each trace, at most 0.005 more than LRU;
* on average, at most 0.01 more objects and 0.02 more bytes than the best other policy of each
  trace. The best may be another one for objects than for bytes.

The policy on disk evicts down to 95 % of its budget at a time. The others replay the trace with the
bytes that it held on average since it was full.

scripts/traces calls this program.
"""

import os
import struct
import sys

import libcachesim

POLICIES = {
    "LRU": libcachesim.LRU,
    "S3-FIFO": libcachesim.S3FIFO,
    "W-TinyLFU": libcachesim.WTinyLFU,
    "GDSF": libcachesim.GDSF,
    "SIEVE": libcachesim.Sieve,
}
WORSE_THAN_LRU = 0.005
WORSE_THAN_BEST = (0.01, 0.02)
KINDS = ("objects", "bytes")


def describe(path):
    """Returns the bytes of all objects, and the share of objects that are requested once."""
    sizes, uses = {}, {}
    with open(path, "rb") as file:
        for _, key, size, _ in struct.iter_unpack("<IQIq", file.read()):
            sizes[key] = size
            uses[key] = uses.get(key, 0) + 1
    return sum(sizes.values()), sum(1 for count in uses.values() if count == 1) / len(uses)


def replay(path, policy, budget):
    reader = libcachesim.TraceReader(path, libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    return policy(cache_size=budget, hashpower=17).process_trace(reader)


def read(path):
    """Returns the numbers of each trace and share of its bytes."""
    ratios = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, share, *numbers = line.split()
            ratios[name, float(share)] = tuple(map(float, numbers))
    return ratios


def compare(place, ours, files):
    """Prints two tables, and returns the limits that were missed.

    'ours' has the objects and bytes missed, and for the disk the share of its budget that it held,
    and the entries that it examined and wrote for each victim.
    """
    rows, failures = [], []
    for path, (size, once) in files.items():
        name = os.path.basename(path)[:-4]
        for share in sorted(share for trace, share in ours if trace == name):
            own = ours[name, share]
            held = own[2] if len(own) > 2 else 1
            theirs = {key: replay(path, policy, int(size * share * held)) for key, policy in POLICIES.items()}
            rows.append((f"{name}, {share:.0%}", once, theirs, own))

    for kind, title in enumerate(KINDS):
        print(f"\n| {title} missed | once | {' | '.join(POLICIES)} | {place} |")
        print("|---|" + "---|" * (len(POLICIES) + 2))
        above = 0
        for label, once, theirs, own in rows:
            cells = " | ".join(f"{theirs[key][kind]:.3f}" for key in POLICIES)
            print(f"| {label} | {once:.0%} | {cells} | {own[kind]:.3f} |")
            above += own[kind] - min(ratios[kind] for ratios in theirs.values())
            if own[kind] > theirs["LRU"][kind] + WORSE_THAN_LRU:
                failures.append(f"{place}, {label}: {title} {own[kind]:.4f}, LRU {theirs['LRU'][kind]:.4f}")
        means = " | ".join(f"{sum(row[2][key][kind] for row in rows) / len(rows):.3f}" for key in POLICIES)
        print(f"| mean | | {means} | {sum(row[3][kind] for row in rows) / len(rows):.3f} |")
        above /= len(rows)
        print(f"\nOn average {above:+.4f} from the best other policy of each trace; at most {WORSE_THAN_BEST[kind]}.")
        if above > WORSE_THAN_BEST[kind]:
            failures.append(f"{place}, on average: {title} are {above:+.4f} from the best")
    if len(rows[0][3]) > 2:
        held, examined, written = (sum(row[3][place] for row in rows) / len(rows) for place in (2, 3, 4))
        print(f"\nIt held {held:.1%} of its budget. For each victim it examined {examined:.0f} entries,", end=" ")
        print(f"and wrote {written:.2f} of those that it kept.")
    return failures


def main():
    files = {path: describe(path) for path in sys.argv[3:]}
    failures = []
    for place, path in (("memory", sys.argv[1]), ("disk", sys.argv[2])):
        failures += compare(place, read(path), files)
    for failure in failures:
        print(f"missed: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
