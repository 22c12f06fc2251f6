#!/usr/bin/env python3
"""Runs package managers, git and a browser against local replicas through the built gateway: run.py --bin FOLDER [-k NAME] [CLIENT...]."""

import argparse
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

CLIENTS = {
    "pip": "pip_client", "npm": "npm_client", "cargo": "cargo_client", "apt": "apt_client", "git": "git_client", "skopeo": "skopeo_client",
    "tokens": "token_clients", "chromium": "chromium_client", "django": "django_client",
    "php": "cookie_client.PHPTest", "node": "cookie_client.NodeTest",
}  # fmt: skip


class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):  # noqa: N802
        super(unittest.TextTestResult, self).addSkip(test, reason)
        self.stream.writeln(reason)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="the folder of 'holdfast'")
    parser.add_argument("-k", action="append", help="only tests whose name has this in it")
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    options = parser.parse_args()
    if unknown := set(options.clients) - set(CLIENTS):
        parser.error(f"No client is called '{unknown.pop()}'. The clients are {', '.join(CLIENTS)}.")
    os.environ["HOLDFAST_BIN"] = os.path.abspath(options.bin)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{each}*" for each in options.k] if options.k else None
    suite = loader.loadTestsFromNames([CLIENTS[name] for name in options.clients or CLIENTS])
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    if not result.testsRun:
        sys.exit("No test has such a name.")
    if len(result.skipped) == result.testsRun:
        sys.exit("No test ran: see above for what is missing.")
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
