"""`holdfast record` and `replay` without an origin, next to a replica."""

import os
import shutil

from commands import PROGRAM, Commands, JobTest, plain_environment
from parts import Authority, Replica


class AnyCommands(Commands):
    """The commands as the proxy of a command, on one store."""

    def __init__(self, folder, authority):
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        # Programs of other users have to reach the bundle.
        self.temporary.chmod(0o1777)
        super().__init__(folder / "store", "", plain_environment(folder / "home") | {"TMPDIR": str(self.temporary)})
        self.reach = ["--origin-ca", str(authority.file), "--allow-private"]

    @property
    def place(self):
        return ["--store", str(self.store)]

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
