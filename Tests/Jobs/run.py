#!/usr/bin/env python3
"""Records and replays real clients with the built commands: run.py --bin FOLDER [--quick] [--site] [--seed NUMBER] [-k NAME] [GROUP...]."""

import os
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Packages")]

import running  # noqa: E402

GROUPS = {
    "apis": "api_tests", "packages": "package_tests", "kills": "kill_tests", "isolation": "isolation_tests", "examples": "example_tests",
}  # fmt: skip
SITE = {"site": "site_tests"}


def main():
    options = running.options(
        __doc__, "'holdfast' and 'cache-dump'", "group", GROUPS,
        ("--quick", {"action": "store_true", "help": "few rounds of each test"}),
        ("--site", {"action": "store_true", "help": "only a site in Chromium, without a group"}),
        ("--seed", {"type": int, "default": 1, "help": "chooses what is damaged, and when a process is killed"}),
    )  # fmt: skip
    os.environ |= {"JOBS_QUICK": "1" if options.quick else "", "JOBS_SEED": str(options.seed)}
    groups = GROUPS | SITE
    chosen = options.groups or ([] if options.site else list(GROUPS))
    if not running.run(groups, chosen + (list(SITE) if options.site else []), options.k):
        repeated = f"{' --quick' if options.quick else ''}{' --site' if options.site else ''}"
        sys.exit(f"To repeat it: scripts/test-jobs --seed {options.seed}{repeated}")


if __name__ == "__main__":
    main()
