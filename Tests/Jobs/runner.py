"""Runs groups of tests of jobs with the built commands, and says how to repeat a failure."""

import os
import sys

import running


def main(description, groups, script, extra=None):
    """Runs the groups that the command line names, or all.

    groups: the module of each group. script: the name of the script that runs this again. extra: groups
    that run only if they are named.
    """
    known = groups | (extra or {})
    options = running.options(
        description, "'holdfast' and 'cache-dump'", "group", known,
        ("--quick", {"action": "store_true", "help": "few rounds of each test"}),
        ("--seed", {"type": int, "default": 1, "help": "chooses what is damaged, and when a process is killed"}),
    )  # fmt: skip
    os.environ |= {"JOBS_QUICK": "1" if options.quick else "", "JOBS_SEED": str(options.seed)}
    if not running.run(known, options.groups or list(groups), options.k):
        repeated = " ".join(["", *options.groups, *(["--quick"] if options.quick else [])])
        sys.exit(f"To repeat it: scripts/{script}{repeated} --seed {options.seed}")
