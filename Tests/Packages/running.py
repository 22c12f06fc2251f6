"""Runs the groups of a test program: those that are named, or all."""

import argparse
import os
import sys
import unittest


class Result(unittest.TextTestResult):
    """Shows why a test is skipped when it is."""

    def addSkip(self, test, reason):  # noqa: N802
        super(unittest.TextTestResult, self).addSkip(test, reason)
        self.stream.writeln(reason)


def options(description, tools, kind, groups, *more):
    """The options of the command line; `more` are further options, each a name and its settings."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", required=True, help=f"the folder of {tools}")
    for name, settings in more:
        parser.add_argument(name, **settings)
    parser.add_argument("-k", action="append", help="only tests whose name has this in it")
    parser.add_argument("groups", nargs="*", metavar=kind.upper(), help=", ".join(groups))
    found = parser.parse_args()
    if unknown := set(found.groups) - set(groups):
        parser.error(f"No {kind} is called '{unknown.pop()}'. The {kind}s are {', '.join(groups)}.")
    os.environ["HOLDFAST_BIN"] = os.path.abspath(found.bin)
    return found


def run(groups, chosen, names):
    """Runs groups, given by name with their modules or classes. Returns whether all tests passed."""
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{each}*" for each in names] if names else None
    suite = loader.loadTestsFromNames([groups[name] for name in chosen or groups])
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    if not result.testsRun:
        sys.exit("No test has such a name.")
    if len(result.skipped) == result.testsRun:
        sys.exit("No test ran: see above for what is missing.")
    return result.wasSuccessful()
