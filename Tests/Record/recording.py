"""`holdfast record` and `replay` without an origin, next to a replica."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess

from commands import PATIENCE, PROGRAM, Commands, JobTest, plain_environment
from parts import Authority, Replica
from replicas import site

NOBODY = 65_534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
PATH = f"https://{site.SITE}/css/2.css"


def has_other_users():
    """Whether this process may change its user."""
    everyone = ["0", "0", "4294967295"]
    return os.geteuid() == 0 and pathlib.Path("/proc/self/uid_map").read_text().split() == everyone and shutil.which("setpriv") is not None


class AnyCommands(Commands):
    """The commands as the proxy of a command, on one store."""

    def __init__(self, folder, authority):
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        # Programs of other users have to reach the bundle.
        self.temporary.chmod(0o1777)
        # For machines under load, on which the handshakes of a hundred requests take long.
        settings = folder / "holdfast.yaml"
        settings.write_text(f"version: 1\ntimeouts: {{connect: {PATIENCE}s}}\n")
        super().__init__(folder / "store", settings, plain_environment(folder / "home") | {"TMPDIR": str(self.temporary)})
        self.reach = ["--origin-ca", str(authority.file), "--allow-private"]

    @property
    def place(self):
        return ["--config", str(self.configuration), "--store", str(self.store)]

    def words(self, name, command=(), *options):
        """`holdfast record` with these options."""
        return [PROGRAM, "record", name, *self.place, *self.reach, *options, *(["--", *command] if command else [])]

    def record(self, name, command, *options, **environment):
        return super().record(name, command, *self.reach, *options, **environment)

    def replay(self, name, command, *options, **environment):
        return super().replay(name, command, "--isolated", *options, isolated=False, **environment)


class RecordTest(JobTest):
    """A test with a folder, a CA and replicas."""

    replicas = ("site",)

    def setUp(self):
        super().setUp()
        if not shutil.which("openssl"):
            self.skipTest("not run: openssl is missing")
        self.folder.chmod(0o755)
        self.authority = Authority(self.folder)
        self.any = AnyCommands(self.folder, self.authority)
        self.origins = [Replica(name, self.folder, self.authority) for name in self.replicas]
        for origin in self.origins:
            self.addCleanup(origin.stop)
            origin.start()

    def stop_origins(self):
        for origin in self.origins:
            origin.stop()

    def left_behind(self):
        """The temporary files of runs."""
        return [name for name in os.listdir(self.any.temporary) if name.startswith("holdfast-run-")]


class ProxyTest(RecordTest):
    """A test with a recording for a shell."""

    tools = ("curl",)

    @contextlib.contextmanager
    def proxy(self, *options, before=()):
        """A recording for a shell: its process and its variables."""
        command = [*before, *self.any.words("job", (), "--print-env", *options)]
        process = subprocess.Popen(
            command, env=self.any.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            # The sentence follows the variables.
            for line in process.stderr:
                if "serves a shell" in line:
                    break
            else:
                raise AssertionError("The proxy did not start.")
            variables = {}
            # The last in their order.
            while "npm_config_proxy" not in variables:
                found = re.match(r"export (\w+)='(.*)'$", process.stdout.readline())
                if found:
                    variables[found[1]] = found[2]
            yield process, variables
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()

    def curl(self, variables, *words, before=()):
        done = subprocess.run(
            [*before, "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{http_connect}", "--proxy", variables["https_proxy"], *words],
            env=self.any.environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return done.stdout
