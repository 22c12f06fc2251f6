#!/usr/bin/env python3
"""Records and replays real clients with the built commands: run.py --bin FOLDER [--quick] [--seed NUMBER] [-k NAME] [GROUP...]."""

import argparse
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

GROUPS = {
    "apis": "api_tests", "packages": "package_tests", "kills": "kill_tests", "isolation": "isolation_tests", "examples": "example_tests",
}  # fmt: skip


class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):  # noqa: N802
        super(unittest.TextTestResult, self).addSkip(test, reason)
        self.stream.writeln(reason)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="the folder of 'holdfast' and 'cache-dump'")
    parser.add_argument("--quick", action="store_true", help="few rounds of each test")
    parser.add_argument("--seed", type=int, default=1, help="chooses what is damaged, and when a process is killed")
    parser.add_argument("-k", action="append", help="only tests whose name has this in it")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    options = parser.parse_args()
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"No group is called '{unknown.pop()}'. The groups are {', '.join(GROUPS)}.")
    os.environ |= {"HOLDFAST_BIN": os.path.abspath(options.bin), "JOBS_QUICK": "1" if options.quick else "", "JOBS_SEED": str(options.seed)}
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{each}*" for each in options.k] if options.k else None
    suite = loader.loadTestsFromNames([GROUPS[name] for name in options.groups or GROUPS])
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    if not result.testsRun:
        sys.exit("No test has such a name.")
    if len(result.skipped) == result.testsRun:
        sys.exit("No test ran: see above for what is missing.")
    if not result.wasSuccessful():
        sys.exit(f"To repeat it: scripts/test-jobs --seed {options.seed}{' --quick' if options.quick else ''}")


if __name__ == "__main__":
    main()
