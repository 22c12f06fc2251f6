"""Looks for what breaks between two settings; run.py --program FILE [--seconds N] [--seed N].

Each row of a covering array is a world, so each pair of levels of settings and features is in one.
"""

import argparse
import asyncio
import collections
import os
import random
import shutil
import sys
import tempfile
import time

import probes
import settings
from covering import Array, Factors
from minimize import minimize
from play import World
from report import transcript
from world import Row, make_certificate


def factors():
    return Factors({name: len(levels) for name, levels in settings.LEVELS.items()}, settings.excluded(), settings.MASKS, settings.VEILS)


def parsed(text):
    """The levels of a row: 'top:threads=1,route:host=1', the numbers of the levels in settings.py."""
    return {name: int(level) for name, _, level in (item.partition("=") for item in text.split(",") if item)}


class Run:
    def __init__(self, options, pem):
        self.options, self.pem = options, pem
        self.counts, self.first, self.numbers = collections.Counter(), {}, collections.Counter()
        self.pairs, self.tried, self.cases = set(), set(), probes.cases()

    async def play(self, row, seed, cases):
        world = World(row, seed, self.options.program, self.pem)
        findings = await world.play(cases)
        return world, findings

    def sample(self, seed):
        """The cases of a world: a share of each probe, in the first array of half of the probes and those of each world."""
        chosen = random.Random(seed)
        share = self.options.share or (0.5 if self.counts["arrays"] else 0.1)
        result = []
        for probe in sorted({case.probe for case in self.cases if self.options.probe in (None, case.probe)}):
            cases = [case for case in self.cases if case.probe == probe]
            if share > 0.1 or probe in probes.ALWAYS or chosen.random() < 0.5:
                result += chosen.sample(cases, max(3 if probe in probes.ALWAYS else 1, round(share * len(cases))))
        return sorted(result, key=lambda case: case.number)

    async def rows(self, seed):
        """All rows of one array, some at a time."""
        rows = [parsed(self.options.levels)] if self.options.levels is not None else Array(factors(), seed).rows()
        left = iter(list(enumerate(rows))[:self.options.rows])

        async def lane():
            for number, levels in left:
                if self.is_over:
                    return
                row = Row(levels)
                await self.row(row if self.pem else row.without(settings.TLS), f"{seed}.{number}")

        await asyncio.gather(*(lane() for _ in range(self.options.jobs)))

    @property
    def is_over(self):
        return self.counts["arrays"] > 0 and time.monotonic() > self.end

    async def row(self, row, seed):
        cases = self.sample(seed)
        began = time.monotonic()
        world, findings = await self.play(row, seed, cases)
        if self.options.verbose:
            print(f"{seed}: {time.monotonic() - began:.1f} s, {world.counts['requests']} requests, {len(findings)} findings, {row}", file=sys.stderr)
        self.counts["worlds"] += 1
        self.counts.update(world.counts)
        self.pairs |= row.pairs()
        self.tried |= {(name, level, case.number) for name, level in row.levels.items() for case in cases}
        for finding in findings:
            self.numbers[finding.signature] += 1
            if finding.signature not in self.first:
                self.first[finding.signature] = finding, row, seed, cases, world

    async def all(self):
        start = time.monotonic()
        self.end = start + self.options.seconds
        seed = self.options.seed
        while not self.is_over:
            await self.rows(seed)
            self.counts["arrays"] += 1
            seed += 1
        await self.show()
        print(self.summary(time.monotonic() - start))
        return 1 if self.first else 0

    async def show(self):
        """The findings: the first of each kind as small as it can be made."""
        shown = collections.Counter()
        for signature, (finding, row, seed, cases, world) in sorted(self.first.items(), key=lambda item: str(item[0])):
            print(f"\n{finding}\n  {self.numbers[signature]} times. Seed {seed}.", file=sys.stderr)
            shown[signature[0]] += 1
            if shown[signature[0]] <= self.options.minimize:
                small, kept, last, world = await minimize(self, finding, row, seed, cases)
                print(f"  It needs {small}", file=sys.stderr)
                print(transcript(world, last, kept), file=sys.stderr)

    def summary(self, seconds):
        counts = self.counts
        return (
            f"{counts['worlds']} worlds, {len(self.pairs)} pairs of levels, {len(settings.LEVELS)} settings and features, "
            f"{len(self.cases)} cases of {len({case.probe for case in self.cases})} probes, {len(self.tried)} pairs of a level and a case, "
            f"{counts['requests']} requests ({counts['without response']} without response, {counts['late']} late), {len(self.first)} kinds of findings. "
            f"Seed {self.options.seed}, {seconds:.0f} s."
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, help="the first rows of each array alone")
    parser.add_argument("--levels", help="one world: the levels that differ from the defaults, as 'top:threads=1,...'")
    parser.add_argument("--probe", help="the cases of this probe alone")
    parser.add_argument("--verbose", action="store_true", help="prints each world")
    parser.add_argument("--jobs", type=int, default=2, help="worlds at a time")
    parser.add_argument("--share", type=float, help="of the cases in each world; 0.1 in the first array, 0.5 in others")
    parser.add_argument("--minimize", type=int, default=2, help="findings of each rule that are made small")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pairs-pem.")
    try:
        pem = make_certificate(folder)
        if not pem:
            print("NO TLS: openssl is missing or fails, so no client and no origin speaks TLS.", file=sys.stderr)
        sys.exit(asyncio.run(Run(options, pem).all()))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
