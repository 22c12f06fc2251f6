"""A git server by smart HTTP: `git http-backend` on a repository that is made here."""

import os
import pathlib
import subprocess

from serving import Response

HOST = "git.example"


def git(folder, *arguments, **more):
    """With dates and names of its own, so that the commits are the same everywhere."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder), "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@git.example", "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@git.example", "GIT_AUTHOR_DATE": "2026-01-05T10:00:00Z", "GIT_COMMITTER_DATE": "2026-01-05T10:00:00Z",
    }  # fmt: skip
    return subprocess.run(["git", "-C", str(folder), *arguments], check=True, env=environment, stdout=subprocess.PIPE, timeout=120, **more).stdout


def build(folder):
    work = folder / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    for number in range(3):
        commit(folder, number)
    git(folder, "clone", "--quiet", "--bare", str(work), str(folder / "sample.git"))


def commit(folder, number):
    work = folder / "work"
    (work / f"file-{number}.txt").write_text(f"line of {number}\n" * 5_000)
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message", f"Add file {number}")


def push(folder, number):
    """One more commit, which the server has from now on."""
    commit(folder, number)
    git(folder / "work", "push", "--quiet", str(folder / "sample.git"), "main")


def hosts(folder, *_):
    folder = pathlib.Path(folder).resolve()

    def serve(request):
        path, _, query = request.target.partition("?")
        environment = os.environ | {
            "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": request.method, "PATH_INFO": path, "QUERY_STRING": query,
            "CONTENT_TYPE": request.fields.get("content-type", ""), "CONTENT_LENGTH": str(len(request.body)), "REMOTE_ADDR": "127.0.0.1",
            "HTTP_CONTENT_ENCODING": request.fields.get("content-encoding", ""), "GIT_PROTOCOL": request.fields.get("git-protocol", ""),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=request.body, env=environment, stdout=subprocess.PIPE, timeout=120, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        return Response(int(fields.pop("Status", "200").split()[0]), fields, body)

    return {HOST: serve}
