"""Load from wrk, and single requests over sockets."""

import http.client
import os
import re
import subprocess

from servers import LOAD_CORE

HERE = os.path.dirname(os.path.abspath(__file__))
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
SIZES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


class Failure(Exception):
    """A response was wrong, so no figure is worth anything."""


def start_wrk(port, target="/", seconds=3, connections=64, script=None, arguments=(), scheme="http", fields=()):
    """Starts wrk on the core of the load."""
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--latency", "--timeout", "10s"]
    if script:
        command += ["-s", os.path.join(HERE, script)]
    for field in fields:
        command += ["-H", field]
    command += [f"{scheme}://127.0.0.1:{port}{target}"]
    if script:
        command += ["--", *map(str, arguments)]
    environment = {**os.environ, "OPENSSL_CONF": os.path.join(HERE, "openssl.cnf")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def report_of(process):
    """Reads wrk's report: requests, bytes read, their rate, latencies in seconds.

    A socket error or an error status is a failure.
    """
    text, _ = process.communicate()
    counted = re.search(r"(\d+) requests in ([\d.]+)(us|ms|s|m), ([\d.]+)([KMGT]?B) read", text)
    if process.returncode != 0 or not counted or int(counted[1]) == 0:
        raise Failure(f"wrk made no requests:\n{text}")
    if wrong := re.search(r"Non-2xx or 3xx responses: .*|Socket errors: .*", text):
        raise Failure(f"wrk met errors: {wrong[0]}")
    latencies = {int(share): float(value) * UNITS[unit] for share, value, unit in re.findall(r"^ +(\d+)% +([\d.]+)(us|ms|s|m)$", text, re.MULTILINE)}
    if not {50, 99} <= latencies.keys():
        raise Failure(f"wrk reports no latencies:\n{text}")
    requests = int(counted[1])
    return {
        "requests": requests,
        "bytes": float(counted[4]) * SIZES[counted[5]],
        "rate": requests / (float(counted[2]) * UNITS[counted[3]]),
        "p50": latencies[50],
        "p99": latencies[99],
    }


def wrk(server, listener="port", **options):
    """Runs wrk against a server, and adds its processor time for each request, in seconds."""
    before = server.processor_time()
    report = report_of(start_wrk(getattr(server, listener), **options))
    report["processor"] = (server.processor_time() - before) / report["requests"]
    return report


def h2load(server, listener, target, seconds, connections, streams=1, protocol="h2"):
    """The same with h2load, for HTTP/2 and TLS. It reports no percentiles.

    A request that failed, or that did not get a 2xx, counts as a failure.
    """
    scheme = "https" if listener == "tls_port" else "http"
    command = ["taskset", "-c", str(LOAD_CORE), "h2load", "-t", "1", "-c", str(connections), "-m", str(streams), "-D", str(seconds)]
    command += ["--h1"] if protocol == "http/1.1" else []
    command += [f"{scheme}://127.0.0.1:{getattr(server, listener)}{target}"]
    before = server.processor_time()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    processor, text = server.processor_time() - before, done.stdout
    counted = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text)
    statuses = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
    data = re.search(r"\((\d+)\) data", text)
    if done.returncode != 0 or not counted or not statuses or not data or int(counted[1]) == 0:
        raise Failure(f"h2load made no requests:\n{text}")
    if any(int(number) for number in [*counted.groups()[1:], *statuses.groups()[1:]]):
        raise Failure(f"h2load met errors: {counted[0]}; {statuses[0]}")
    if scheme == "https" and f"Application protocol: {protocol}" not in text:
        raise Failure(f"'{server.name}' does not speak {protocol}:\n{text}")
    requests = int(counted[1])
    return {"requests": requests, "bytes": int(data[1]), "rate": requests / seconds, "processor": processor / requests}


def get(port, target, fields=None, connection=None, timeout=20):
    """Sends one GET; returns status, fields and body."""
    mine = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        mine.request("GET", target, headers=fields or {})
        response = mine.getresponse()
        return response.status, response.headers, response.read()
    finally:
        if connection is None:
            mine.close()


def count_at(origin):
    """The number of requests that the origin got so far, without those of this function."""
    _, _, body = get(origin.port, "/count")
    origin.counted += 1
    return int(re.search(rb"\n +\d+ +\d+ +(\d+)", body)[1]) - origin.counted
