"""Chromium without a window, if it is installed."""

import os
import shutil

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = ["--disable-dev-shm-usage", "--no-proxy-server", "--disable-background-networking", "--disable-component-update"]


def launch(playwright):
    options = OPTIONS + (["--no-sandbox"] if os.geteuid() == 0 else [])
    return playwright.chromium.launch(executable_path=CHROMIUM, args=options)
