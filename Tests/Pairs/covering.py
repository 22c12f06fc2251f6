"""A covering array of strength two: rows in which every pair of levels stands together once.

A factor has levels; the first one is its default. Some pairs of levels exclude each other, because
a configuration with both is an error. Some levels keep parts of the gateway from being used: one that
*masks* keeps most of it (nothing is stored, nothing is asked), one that *veils* keeps hits from the
fastest way. So a pair of other levels is covered in a row without either, and a row has at most one
that masks.
"""

import itertools
import random


class Factors:
    """Factors and levels as bits: a set of levels is an integer."""

    def __init__(self, levels, excluded=(), masks=(), veils=()):
        """`levels`: {factor: number of levels}; `excluded`: pairs of (factor, level); the others: (factor, level)."""
        excluded = list(excluded)
        self.names = list(levels)
        self.bit, self.at, self.of = {}, [], {}
        for name, count in levels.items():
            self.of[name] = []
            for level in range(count):
                self.bit[name, level] = len(self.at)
                self.of[name].append(len(self.at))
                self.at.append((name, level))
        self.masks = sorted(self.bit[mask] for mask in masks)
        self.veils = sorted(self.bit[veil] for veil in veils)
        every = (1 << len(self.at)) - 1
        # The levels that may stand in a row beside each level.
        self.allowed = [every & ~self.union(self.of[name]) | 1 << number for number, (name, _) in enumerate(self.at)]
        for one, other in excluded:
            self.exclude(self.bit[one], self.bit[other])
        for one in self.masks:
            for other in self.masks:
                if one != other:
                    self.exclude(one, other)
        while self.exclude_implied({self.at[bit][0] for pair in excluded for bit in (self.bit[pair[0]], self.bit[pair[1]])}):
            pass

    @staticmethod
    def union(bits):
        return sum(1 << bit for bit in set(bits))

    def exclude(self, one, other):
        self.allowed[one] &= ~(1 << other)
        self.allowed[other] &= ~(1 << one)

    def exclude_implied(self, names):
        """Excludes pairs that leave another factor without a level. Whether there was one."""
        whole = [self.union(self.of[name]) for name in names]
        bits = [bit for name in names for bit in self.of[name]]
        found = False
        for one, other in itertools.combinations(bits, 2):
            common = self.allowed[one] & self.allowed[other]
            if self.allowed[one] >> other & 1 and not all(common & levels for levels in whole):
                self.exclude(one, other)
                found = True
        return found

    def pairs(self):
        """The pairs that have to be covered, each once."""
        return {
            (one, other)
            for one in range(len(self.at)) for other in range(one + 1, len(self.at))
            if self.at[one][0] != self.at[other][0] and self.allowed[one] >> other & 1
        }


class Array:
    """The rows, made one by one: each has the levels that cover the most of what is left."""

    def __init__(self, factors, seed, candidates=12):
        self.factors, self.random, self.candidates = factors, random.Random(seed), candidates
        self.left = [0] * len(factors.at)
        for one, other in factors.pairs():
            self.left[one] |= 1 << other
            self.left[other] |= 1 << one

    def rows(self):
        """Rows as {factor: level}: without masks and veils, with veils, and then for each mask."""
        masks, veils = (self.factors.union(bits) for bits in (self.factors.masks, self.factors.veils))
        yield from self.cover(~masks & ~veils, None)
        yield from self.cover(~masks, None)
        for mask in self.factors.masks:
            yield from self.cover(-1, mask)

    def cover(self, among, mask):
        """Rows until no pair is left `among` these levels; all pairs of `mask`, if there is one."""
        while first := self.first(among, mask):
            candidates = [row for _ in range(self.candidates) if (row := self.candidate(among, first))]
            if not candidates:
                raise ValueError(f"no row can have both {self.factors.at[first[0]]} and {self.factors.at[first[1]]}")
            best = max(candidates, key=self.worth)
            self.take(best)
            yield dict(self.factors.at[bit] for bit in best)

    def first(self, among, mask):
        """A pair that is left."""
        holders = [mask] if mask is not None else [bit for bit in range(len(self.left)) if among >> bit & 1 and self.left[bit] & among]
        holders = [bit for bit in holders if self.left[bit] & among]
        if not holders:
            return None
        one = self.random.choice(holders)
        others = self.left[one] & among
        return one, self.random.choice([bit for bit in range(len(self.left)) if others >> bit & 1])

    def candidate(self, among, first):
        """A row with this pair; `None` if its levels exclude all levels of another factor."""
        chosen, allowed = list(first), self.factors.allowed[first[0]] & self.factors.allowed[first[1]]
        row = self.factors.union(first)
        fixed = {self.factors.at[bit][0] for bit in first}
        names = [name for name in self.factors.names if name not in fixed]
        self.random.shuffle(names)
        for name in names:
            choices = [bit for bit in self.factors.of[name] if allowed >> bit & among >> bit & 1 and bit not in self.factors.masks]
            if not choices:
                return None
            best = max(choices, key=lambda bit: ((self.left[bit] & row).bit_count(), self.random.random()))
            chosen.append(best)
            row |= 1 << best
            allowed &= self.factors.allowed[best]
        return chosen

    def worth(self, row):
        bits = self.factors.union(row)
        return sum((self.left[bit] & bits).bit_count() for bit in row)

    def take(self, row):
        bits = self.factors.union(row)
        for bit in row:
            self.left[bit] &= ~bits
