"""Who else could use the proxy, and where the keys of a run are not."""

import base64
import contextlib
import http.client
import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from commands import PATIENCE, PROGRAM, QUICK
from recording import AS_NOBODY, PATH, ProxyTest, has_other_users


class Hostile(ProxyTest):
    def test_another_user_without_the_password_gets_407(self):
        if not has_other_users():
            self.skipTest("not run: this process may not change its user")
        with self.proxy() as (_, variables):
            open_proxy = {"https_proxy": re.sub(r"//.*@", "//", variables["https_proxy"])}
            self.assertEqual("200 200", self.curl(variables, "--cacert", variables["SSL_CERT_FILE"], PATH))
            self.assertEqual("000 407", self.curl(open_proxy, PATH, before=AS_NOBODY))
            self.assertEqual("407 000", self.curl(open_proxy, "http://www.example/", before=AS_NOBODY))
            wrong = {"https_proxy": variables["https_proxy"].replace("@", "x@")}
            self.assertEqual("000 407", self.curl(wrong, PATH, before=AS_NOBODY))

    def test_the_same_user_cannot_read_the_memory(self):
        if not has_other_users():
            self.skipTest("not run: this process may not change its user")
        if subprocess.run([*AS_NOBODY, "test", "-x", PROGRAM], check=False).returncode != 0:
            self.skipTest(f"not run: other users cannot reach '{PROGRAM}'")
        self.folder.chmod(0o777)
        self.any.store = self.folder / "own"
        read = 'for name in mem environ auxv; do : < "/proc/$0/$name"; done'
        with self.proxy(before=AS_NOBODY) as (process, _), subprocess.Popen([*AS_NOBODY, "sleep", "1000"]) as other:
            try:
                deadline = time.monotonic() + PATIENCE
                # Until it has changed its user.
                while (done := self.reader(read, other.pid)).returncode != 0:
                    self.assertLess(time.monotonic(), deadline, done.stderr)
                self.assertIn("Permission denied", self.reader(read, process.pid).stderr)
            finally:
                other.kill()

    def reader(self, program, process):
        return subprocess.run([*AS_NOBODY, "/bin/sh", "-ec", program, str(process)], capture_output=True, text=True, timeout=PATIENCE, check=False)

    def test_nothing_is_left_after_a_kill_but_a_folder_that_the_next_run_removes(self):
        with self.proxy() as (process, variables):
            self.assertEqual("200 200", self.curl(variables, "--cacert", variables["SSL_CERT_FILE"], PATH))
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.assertEqual(1, len(self.left_behind()))
        self.assertEqual([], self.files_with_keys())
        self.assert_ended(0, self.any.record("other", ["curl", "-sSf", "-o", "/dev/null", PATH]))
        self.assertEqual([], self.left_behind())
        self.assertEqual([], self.files_with_keys())

    def files_with_keys(self):
        """The files of the store and of runs that contain a private key."""
        places = [self.any.store, self.any.temporary]
        return [str(file) for place in places for file in place.rglob("*") if file.is_file() and b"PRIVATE KEY" in file.read_bytes()]

    def test_private_addresses_need_the_option_in_every_spelling(self):
        self.any.reach = self.any.reach[:2] + ["--allow-port", "1"]
        hosts = ["10.99.0.1", "10.6488065", "0x0a630001", "[::ffff:10.99.0.1]", "www.example", "169.254.169.254", "100.64.0.1"]
        loopback = ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "localhost", "0.0.0.0"]
        with self.proxy() as (_, variables):
            for host in hosts + loopback:
                with self.subTest(host=host):
                    self.assertIn(self.curl(variables, f"http://{host}/")[:3], ("502", "503", "504"))
        self.assertEqual([], [request for origin in self.origins for request in origin.requests()])

    def test_a_name_that_leads_to_a_private_address_a_moment_later_is_refused(self):
        # Neither address is the replica's. The name is looked up in the file for each connection.
        public, private, name = "9.9.9.9", "10.99.0.250", "moving.example"
        hosts = pathlib.Path("/etc/hosts")
        before = hosts.read_text()
        self.addCleanup(hosts.write_text, before)
        asked = []
        with contextlib.ExitStack() as stack:
            for address in (public, private):
                # Only this process's network has them.
                subprocess.run(["ip", "address", "replace", f"{address}/32", "dev", "lo"], check=True)
                stack.callback(subprocess.run, ["ip", "address", "delete", f"{address}/32", "dev", "lo"], check=True)
                server = stack.enter_context(http.server.HTTPServer((address, 80), answering(address, asked)))
                threading.Thread(target=server.serve_forever, daemon=True).start()
                stack.callback(server.shutdown)
            self.any.reach = self.any.reach[:2]
            _, variables = stack.enter_context(self.proxy())
            for address in (public, private, public):
                hosts.write_text(f"{before}{address} {name}\n")
                with self.subTest(address=address):
                    status = self.curl(variables, f"http://{name}/{len(asked)}")[:3]
                    self.assertIn(status, ("200",) if address == public else ("502", "503", "504"))
                    # An origin that failed is asked again a moment later.
                    time.sleep(1)  # lets time pass
        self.assertEqual({public}, set(asked))

    def test_a_child_that_outlives_the_command_reaches_nothing(self):
        file = self.folder / "late"
        # It leaves the group of the command, and asks once the recorder has ended.
        late = f': > "$2.started"; while kill -0 "$1" 2>/dev/null; do sleep 0.1; done; curl -sS -o /dev/null -w "%{{http_code}}" {PATH} > "$2.part"; mv "$2.part" "$2"'
        script = f"curl -sSf -o /dev/null {PATH}; setsid sh -c '{late}' sh $PPID {file} > /dev/null 2>&1 & until [ -e {file}.started ]; do sleep 0.1; done"
        self.assert_ended(0, self.any.record("job", ["sh", "-c", script]))
        deadline = time.monotonic() + PATIENCE
        while not file.exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)  # lets time pass
        self.assertEqual("000", file.read_text())

    def test_many_names_leave_memory_bounded(self):
        count = 2_000 if QUICK else 100_000
        with self.proxy() as (process, variables):
            self.ask(variables, 0, count // 2)
            half = self.resident(process)
            self.ask(variables, count // 2, count)
            self.assertLess(self.resident(process) - half, 64 << 20)
            self.assertIn(self.curl(variables, "--cacert", variables["SSL_CERT_FILE"], PATH), ("200 200", "000 503"))

    def ask(self, variables, first, last):
        """Asks for tunnels to so many names, on one connection after the other."""
        host, user = re.match(r"http://(.*)@(.*)$", variables["https_proxy"]).group(2, 1)
        address, _, port = host.partition(":")
        credentials = base64.b64encode(user.encode()).decode()
        for number in range(first, last):
            with socket.create_connection((address, int(port)), timeout=PATIENCE) as connection:
                name = f"h{number}.example:443"
                connection.sendall(f"CONNECT {name} HTTP/1.1\r\nHost: {name}\r\nProxy-Authorization: Basic {credentials}\r\n\r\n".encode())
                response = http.client.HTTPResponse(connection, method="CONNECT")
                response.begin()
                self.assertIn(response.status, (200, 503))

    def resident(self, process):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s*(\d+) kB", status)[1]) << 10


def answering(address, asked):
    """A handler that closes each connection, and notes the address of its server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(address)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler
