#!/usr/bin/env python3
"""Records and replays real clients with the built commands: run.py --bin FOLDER [--quick] [--seed NUMBER] [-k NAME] [GROUP...]."""

import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Packages")]

from runner import main  # noqa: E402

GROUPS = {
    "apis": "api_tests", "packages": "package_tests", "kills": "kill_tests", "isolation": "isolation_tests", "examples": "example_tests", "ranges": "range_tests",
}  # fmt: skip

if __name__ == "__main__":
    main(__doc__, GROUPS, "test-jobs", {"site": "site_tests"})
