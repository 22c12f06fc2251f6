"""Volumes as the kubelet mounts them: owners, modes and links."""

import os
import shutil
import subprocess
import time

READ = 0o440


def give(folder, group):
    """The volume of a claim, empty: root owns it, and 'fsGroup' may write to it."""
    if not os.path.exists(folder):
        os.makedirs(folder, mode=0o755)
        os.chown(folder, 0, group)
        os.chmod(folder, 0o2775)
    return folder


def memory(folder, size):
    """An 'emptyDir' in memory. It outlives its container, and not its pod."""
    os.makedirs(folder)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=2777,size={size}", "tmpfs", folder], check=True)
    return folder


class Projection:
    """A mounted ConfigMap or Secret: files behind links to a folder, which a rename replaces.

    `..data` is a link to a folder with the time in its name, and each file a link through `..data`.
    """

    def __init__(self, folder, group, mode):
        self.folder, self.group, self.mode = folder, group, mode
        os.makedirs(folder)
        os.chown(folder, 0, group)
        os.chmod(folder, 0o3777)
        self.content = None

    def write(self, files):
        """Whether anything changed."""
        if files == self.content:
            return False
        now = time.time_ns()
        version = time.strftime("..%Y_%m_%d_%H_%M_%S.", time.gmtime(now // 10**9)) + str(now % 10**9)
        inner = os.path.join(self.folder, version)
        os.mkdir(inner)
        os.chown(inner, 0, self.group)
        os.chmod(inner, 0o2755)
        for name, content in files.items():
            path = os.path.join(inner, name)
            with open(path, "wb") as file:
                file.write(content)
            os.chown(path, 0, self.group)
            # 'fsGroup' lets the group read, whatever the mode.
            os.chmod(path, self.mode | READ)
        data, new = os.path.join(self.folder, "..data"), os.path.join(self.folder, "..data_tmp")
        old = os.readlink(data) if self.content is not None else None
        os.symlink(version, new)
        os.replace(new, data)
        for name in files.keys() - (self.content or {}).keys():
            os.symlink(f"..data/{name}", os.path.join(self.folder, name))
        for name in (self.content or {}).keys() - files.keys():
            os.remove(os.path.join(self.folder, name))
        if old:
            shutil.rmtree(os.path.join(self.folder, old))
        self.content = files
        return True
