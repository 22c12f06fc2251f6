"""Makes a failing world small: the fewest settings, and the fewest cases, with which it still fails."""

from world import Row


async def smallest(items, fails):
    """A part of a list, from which nothing can be left out, for which `fails` still is true. Zeller's ddmin."""
    parts = 2
    while len(items) > 1:
        size = max(1, len(items) // parts)
        chunks = [items[at:at + size] for at in range(0, len(items), size)]
        for chunk in chunks:
            rest = [item for item in items if item not in chunk]
            if await fails(rest):
                items, parts = rest, max(2, parts - 1)
                break
        else:
            if size == 1:
                break
            parts = min(len(items), parts * 2)
    if len(items) == 1 and await fails([]):
        return []
    return items


async def minimize(run, finding, row, seed, cases):
    """The row, the cases, the finding and the world."""
    best = [None, None]

    async def fails(row, cases):
        world, findings = await run.play(row, seed, cases)
        same = [other for other in findings if other.is_like(finding)]
        if same:
            best[:] = same[0], world
        return bool(same)

    kept = [finding.case] if finding.case else cases
    if not await fails(row, kept):
        kept = cases
        if not await fails(row, kept):
            return row, kept, finding, None
    names = await smallest(sorted(row.levels), lambda names: fails(Row({name: row.levels[name] for name in names}), kept))
    small = Row({name: row.levels[name] for name in names})
    if len(kept) > 1:
        kept = await smallest(kept, lambda cases: fails(small, cases))
    await fails(small, kept)
    return small, kept, *best
