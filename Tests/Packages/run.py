#!/usr/bin/env python3
"""Runs package managers, git and a browser against local replicas through the built gateway: run.py --bin FOLDER [-k NAME] [CLIENT...]."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import running  # noqa: E402

CLIENTS = {
    "pip": "pip_client", "npm": "npm_client", "cargo": "cargo_client", "apt": "apt_client", "git": "git_client", "skopeo": "skopeo_client",
    "tokens": "token_clients", "chromium": "chromium_client", "django": "django_client",
    "php": "cookie_client.PHPTest", "node": "cookie_client.NodeTest",
}  # fmt: skip


def main():
    options = running.options(__doc__, "'holdfast'", "client", CLIENTS)
    sys.exit(not running.run(CLIENTS, options.groups, options.k))


if __name__ == "__main__":
    main()
