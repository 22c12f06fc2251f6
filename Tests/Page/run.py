#!/usr/bin/env python3
"""Runs the tests of the page: Tests/Page/run.py [-k NAME] [--gateway FOLDER] [--screenshots FOLDER]."""

import argparse
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("-k", action="append", help="only tests whose name has this in it")
parser.add_argument("--gateway", help="the folder with 'holdfast' and 'sample-origin'; without it, the stub alone")
parser.add_argument("--screenshots", help="writes a picture of every view into this folder")
options = parser.parse_args()
if options.gateway:
    os.environ["HOLDFAST_BIN"] = options.gateway
if options.screenshots:
    os.environ["SCREENSHOTS"] = options.screenshots

from look import browser  # noqa: E402

names = ["sources", "views", "frame", "changing", "asking", "commands", "hostile", "screenshots", "gateway", "fleet"]
loader = unittest.TestLoader()
loader.testNamePatterns = [f"*{each}*" for each in options.k] if options.k else None
here = pathlib.Path(__file__).parent
suite = loader.loadTestsFromNames([name for name in names if (here / f"{name}.py").exists()])
try:
    result = unittest.TextTestRunner(verbosity=2).run(suite)
finally:
    browser.stop()
if not result.testsRun:
    sys.exit("No test has such a name.")
sys.exit(not result.wasSuccessful())
