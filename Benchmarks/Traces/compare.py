"""Replays traces into the policies of libCacheSim, and prints their miss ratios next to those of the
policy of this project.

    compare.py RATIOS FILE...

RATIOS is what 'traces replay FILE...' printed. The status is 1 if the policy misses a limit:

* on each trace, at most 0.005 more than LRU;
* on average, at most 0.01 more objects and 0.02 more bytes than the best other policy of each
  trace. The best may be another one for objects than for bytes.

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


def main():
    ours = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            name, share, *ratios = line.split()
            ours[name, float(share)] = tuple(map(float, ratios))
    rows, failures = [], []
    for path in sys.argv[2:]:
        name = os.path.basename(path)[:-4]
        size, once = describe(path)
        for share in sorted(share for trace, share in ours if trace == name):
            theirs = {key: replay(path, policy, int(size * share)) for key, policy in POLICIES.items()}
            rows.append((f"{name}, {share:.0%}", once, theirs, ours[name, share]))

    for kind, title in enumerate(KINDS):
        print(f"\n| {title} missed | once | {' | '.join(POLICIES)} | ours |")
        print("|---|" + "---|" * (len(POLICIES) + 2))
        above = 0
        for label, once, theirs, own in rows:
            cells = " | ".join(f"{theirs[key][kind]:.3f}" for key in POLICIES)
            print(f"| {label} | {once:.0%} | {cells} | {own[kind]:.3f} |")
            above += own[kind] - min(ratios[kind] for ratios in theirs.values())
            if own[kind] > theirs["LRU"][kind] + WORSE_THAN_LRU:
                failures.append(f"{label}: {title} {own[kind]:.4f}, LRU {theirs['LRU'][kind]:.4f}")
        means = " | ".join(f"{sum(row[2][key][kind] for row in rows) / len(rows):.3f}" for key in POLICIES)
        print(f"| mean | | {means} | {sum(row[3][kind] for row in rows) / len(rows):.3f} |")
        above /= len(rows)
        print(f"\nOn average {above:+.4f} from the best other policy of each trace; at most {WORSE_THAN_BEST[kind]}.")
        if above > WORSE_THAN_BEST[kind]:
            failures.append(f"on average, {title} are {above:+.4f} from the best")
    for failure in failures:
        print(f"missed: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
