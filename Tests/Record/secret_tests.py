"""The keys of a run are in the memory of the recorder alone, and that is in no core file."""

import base64
import contextlib
import hashlib
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import unittest

from commands import PATIENCE, PROGRAM
from recording import AS_NOBODY, PATH, ProxyTest, has_other_users
from replicas import site

try:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
except ImportError:
    x509 = None

TOKENS = {name: hashlib.sha256(name.encode()).hexdigest()[:40] for name in ("bearer", "cookie", "key", "parameter")}


class Secrets(ProxyTest):
    def setUp(self):
        if x509 is None:
            self.skipTest("not run: cryptography is missing")
        super().setUp()

    def test_keys_and_credentials_are_in_no_file_log_or_environment(self):
        if not has_other_users():
            self.skipTest("not run: only root reads the memory of the recorder, to learn its keys")
        with self.proxy() as (process, variables):
            url = f"{PATH}?api_key={TOKENS['parameter']}"
            fields = [f"Authorization: Bearer {TOKENS['bearer']}", f"Cookie: session={TOKENS['cookie']}", f"X-Api-Key: {TOKENS['key']}"]
            words = [word for field in fields for word in ("-H", field)]
            self.assertEqual("200 200", self.curl(variables, "--cacert", variables["SSL_CERT_FILE"], *words, url))
            # The last is the authority of the run.
            _, begin, rest = pathlib.Path(variables["SSL_CERT_FILE"]).read_bytes().rpartition(b"-----BEGIN")
            authority = x509.load_pem_x509_certificate(begin + rest)
            found = keys_in_memory(process.pid, [authority.public_key(), self.leaf(variables).public_key()])
            # Otherwise the search proves nothing.
            self.assertEqual(2, len(found), "the keys are not in the memory of the recorder, where this test looks for them")
            secrets = {f"a key as {form}": text for key in found for form, text in spellings(key).items()}
            self.assert_nowhere(secrets, [self.any.temporary, self.any.store], process.pid, variables)
            process.send_signal(signal.SIGTERM)
            said = process.stderr.read() + process.stdout.read()
            self.assertEqual(0, process.wait(timeout=PATIENCE), said)
            password = re.match(r"http://\w+:(\w+)@", variables["https_proxy"])[1]
            secrets |= {"the password": password.encode()} | {f"the token '{name}'": text.encode() for name, text in TOKENS.items()}
            self.assert_nowhere(secrets, [self.any.temporary, self.any.store], None, {"its report": said})
        # The search finds what is there.
        self.assertIn(b"css/2.css", b"".join(file.read_bytes() for file in self.any.store.rglob("*") if file.is_file()))

    def assert_nowhere(self, secrets, folders, process, texts):
        """Searches files, the environment and the words of a process, and texts."""
        places = {str(file): file.read_bytes() for folder in folders for file in folder.rglob("*") if file.is_file()}
        places |= {name: text.encode() for name, text in texts.items()}
        if process is not None:
            places |= {name: pathlib.Path(f"/proc/{process}/{name}").read_bytes() for name in ("environ", "cmdline")}
        self.assertEqual([], [f"{secret} is in {place}" for place, content in places.items() for secret, text in secrets.items() if text in content])

    def leaf(self, variables):
        """The certificate that the proxy shows for a host."""
        user, address, port = re.match(r"http://(.*)@(.*):(\d+)$", variables["https_proxy"]).groups()
        context = ssl.create_default_context(cafile=variables["SSL_CERT_FILE"])
        with socket.create_connection((address, int(port)), timeout=PATIENCE) as connection:
            credentials = base64.b64encode(user.encode()).decode()
            connection.sendall(f"CONNECT {site.SITE}:443 HTTP/1.1\r\nHost: {site.SITE}:443\r\nProxy-Authorization: Basic {credentials}\r\n\r\n".encode())
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += connection.recv(1)
            with context.wrap_socket(connection, server_hostname=site.SITE) as tunnel:
                return x509.load_der_x509_certificate(tunnel.getpeercert(binary_form=True))

    @unittest.skipIf(pathlib.Path("/proc/sys/kernel/core_pattern").read_text().startswith("|"), "not run: a program takes this system's core files")
    def test_a_crash_writes_no_core(self):
        if not has_other_users():
            self.skipTest("not run: this process may not change its user")
        if subprocess.run([*AS_NOBODY, "test", "-x", PROGRAM], check=False).returncode != 0:
            self.skipTest(f"not run: other users cannot reach '{PROGRAM}'")
        self.folder.chmod(0o777)
        crashes = self.folder / "crashes"
        crashes.mkdir()
        crashes.chmod(0o777)
        unlimited = ["sh", "-c", 'cd "$0" && ulimit -c unlimited && exec "$@"', str(crashes)]
        # The same user's other programs leave one, so that this system writes core files.
        other = subprocess.Popen([*AS_NOBODY, *unlimited, "sh", "-c", "kill -ABRT $$"], env=self.any.environment)
        if not dumped(other):
            self.skipTest("not run: this system writes no core files")
        for before in ([], AS_NOBODY):
            self.any.store = self.folder / f"store-{len(before)}"
            with self.subTest(user=before), contextlib.ExitStack() as stack:
                process, variables = stack.enter_context(self.proxy(before=[*before, *unlimited]))
                self.assertEqual("200 200", self.curl(variables, "--cacert", variables["SSL_CERT_FILE"], PATH))
                left = set(os.listdir(crashes))
                process.send_signal(signal.SIGABRT)
                self.assertFalse(dumped(process))
                self.assertNotIn("crashed", process.stderr.read())
                self.assertEqual(left, set(os.listdir(crashes)))


def dumped(process):
    """Waits for the end of a process by a signal; whether it left a core file."""
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != -signal.SIGABRT:
        raise AssertionError(f"The process ended with {process.returncode}.")
    return os.WCOREDUMP(status)


def keys_in_memory(process, public_keys):
    """The private keys, as numbers, that belong to these keys on P-256, out of the writable memory of a process."""
    wanted = {key.public_numbers() for key in public_keys}
    found, seen = set(), set()
    for content in writable_memory(process):
        for offset in range(0, len(content) - 31, 8):
            window = content[offset : offset + 32]
            # Random bytes repeat rarely. It makes the search a thousand times faster.
            if window in seen or len(set(window)) < 22:
                continue
            seen.add(window)
            for order in ("little", "big"):
                number = int.from_bytes(window, order)
                if 0 < number < ORDER and ec.derive_private_key(number, ec.SECP256R1()).public_key().public_numbers() in wanted:
                    found.add(number)
        if len(found) == len(wanted):
            break
    return found


ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def writable_memory(process):
    """The parts of the memory of a process that belong to no file."""
    with open(f"/proc/{process}/mem", "rb") as memory:
        for line in pathlib.Path(f"/proc/{process}/maps").read_text().splitlines():
            area, rights, _, _, _, *name = line.split()
            if not rights.startswith("rw") or name and name[0].startswith("/"):
                continue
            first, last = (int(each, 16) for each in area.split("-"))
            with contextlib.suppress(OSError):
                memory.seek(first)
                yield memory.read(last - first)


def spellings(number):
    """A key as programs write it; in base64, the part that does not depend on what precedes it."""
    raw = number.to_bytes(32, "big")
    forms = {"bytes": raw, "reversed bytes": raw[::-1], "digits": raw.hex().encode(), "capital digits": raw.hex().upper().encode()}
    for shift in range(3):
        forms[f"base64 {shift}"] = base64.b64encode(bytes(shift) + raw)[4:40]
    return forms
