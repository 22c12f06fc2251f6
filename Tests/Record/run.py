#!/usr/bin/env python3
"""Records and replays tools that are not configured: run.py --bin FOLDER [--quick] [--seed NUMBER] [-k NAME] [GROUP...]."""

import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
# The commands of jobs and the replicas are those of other tests.
sys.path[:0] = [str(HERE), str(HERE.parent / "Jobs"), str(HERE.parent / "Packages")]

import network  # noqa: E402
from runner import main  # noqa: E402

GROUPS = {"tools": "tool_tests", "hostile": "hostile_tests", "secrets": "secret_tests"}

if __name__ == "__main__":
    network.enter()
    main(__doc__, GROUPS, "test-record")
