"""pip: installs a package through the gateway, and installs it again into another folder when the index is gone."""

import os
import subprocess
import sys
import urllib.error
import urllib.request

from checks import check, done, equal, settled

PACKAGE = "holdfast-sample"


def pip(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-input", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def install(gateway, target, *more):
    # Without pip's own cache, the gateway's is the only one.
    return pip("install", "--no-cache-dir", "--no-deps", "--retries", "0", "--index-url", f"{gateway}/simple/", "--target", target, *more)


def installed(target):
    done_ = subprocess.run(
        [sys.executable, "-c", "import holdfast_sample as s, os; print(s.VERSION, os.path.getsize(os.path.join(os.path.dirname(s.__file__), 'data.txt')))"],
        cwd=target,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done_.stdout.strip()


def status_of(url):
    """The status of a response, and its Cache-Status."""
    try:
        with urllib.request.urlopen(url, timeout=20) as response:
            return response.status, response.headers["Cache-Status"]
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Cache-Status"]


def main():
    phase, gateway, _, memory = sys.argv[1:]
    target = os.path.join(memory, phase)
    result = install(gateway, target, f"{PACKAGE}==1.4.2")
    check(result.returncode == 0, result.stdout[-3000:])
    check("holdfast" in result.stdout and "Successfully installed holdfast" in result.stdout, result.stdout)
    equal(installed(target), f"1.4.2 {65 * 20_000}", "the package")
    done(f"pip install {PACKAGE} {phase}")

    status, cache_status = settled(lambda: status_of(f"{gateway}/simple/{PACKAGE}/"), lambda response: response[1])
    equal(status, 200, "the page")
    if phase == "online":
        check(cache_status.startswith("holdfast; fwd=stale") and "stored" in cache_status, cache_status)
    else:
        check(cache_status.startswith("holdfast; hit") and cache_status.endswith("detail=unreachable"), cache_status)
    status, cache_status = settled(lambda: status_of(f"{gateway}/packages/holdfast_sample-1.4.2-py3-none-any.whl"), lambda response: response[1])
    equal(status, 200, "the file")
    check(cache_status.startswith("holdfast; hit"), cache_status)
    done("page and file are stored")

    if phase == "offline":
        result = install(gateway, os.path.join(memory, "nothing"), "holdfast-unknown")
        check(result.returncode != 0, result.stdout)
        status, cache_status = status_of(f"{gateway}/simple/holdfast-unknown/")
        equal(status, 504, "a page that is not stored")
        check("hit" not in cache_status, cache_status)
        done("a package that is not stored cannot be installed, and pip fails at once")


if __name__ == "__main__":
    main()
