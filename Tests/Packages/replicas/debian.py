"""A signed Debian repository with `InRelease` and `by-hash` (two states of it: the file `second` in its folder has the second one served)."""

import email.utils
import hashlib
import lzma
import os
import pathlib
import subprocess

from serving import LATER, NOT_FOUND, OLD, RELEASED, of

HOST = "debian.example"
BASE = ("holdfast-base", "1.0.0", "")
STATES = {"first": [BASE, ("holdfast-sample", "1.4.2", "holdfast-base")], "second": [BASE, ("holdfast-sample", "1.5.0", "holdfast-base")]}
IMMUTABLE = "public, max-age=2592000"


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **options).stdout


def make_package(folder, name, version, needs):
    """A .deb in `pool`; its stanza in the list."""
    tree = folder / "trees" / f"{name}-{version}"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "usr/share" / name).mkdir(parents=True)
    data = "".join(f"{hashlib.sha256(f'{name} {version} {line}'.encode()).hexdigest()}\n" for line in range(10_000))
    (tree / "usr/share" / name / "data.txt").write_text(data)
    control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: A test <test@debian.example>\n"
    control += (f"Depends: {needs}\n" if needs else "") + "Description: a package of a test\n"
    (tree / "DEBIAN/control").write_text(control)
    path = f"pool/main/h/{name}/{name}_{version}_all.deb"
    file = folder / path
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        run(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(file)])
    content = file.read_bytes()
    return f"{control}Filename: {path}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"


def build(folder):
    """Packages, lists and signatures of both states, and `keyring.asc` for clients."""
    home = folder / "gnupg"
    home.mkdir(mode=0o700)
    environment = os.environ | {"GNUPGHOME": str(home)}
    try:
        run(["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "repository@debian.example", "ed25519", "sign", "never"], env=environment)
        (folder / "keyring.asc").write_bytes(run(["gpg", "--armor", "--export"], env=environment))
        stanzas = {}
        for state, packages in STATES.items():
            for package in packages:
                if package not in stanzas:
                    stanzas[package] = make_package(folder, *package)
            make_lists(folder, state, "\n".join(stanzas[package] for package in packages).encode(), environment)
    finally:
        # The agent is a process of its own, and ends with this.
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=environment, check=False, timeout=120)


def make_lists(folder, state, packages, environment):
    suite = folder / "dists/stable" / state
    lists = suite / "main/binary-all"
    (lists / "by-hash/SHA256").mkdir(parents=True)
    sums = []
    for name, content in {"Packages": packages, "Packages.xz": lzma.compress(packages)}.items():
        digest = hashlib.sha256(content).hexdigest()
        (lists / name).write_bytes(content)
        (lists / "by-hash/SHA256" / digest).write_bytes(content)
        sums.append(f" {digest} {len(content)} main/binary-all/{name}")
    release = "Origin: Test\nLabel: Test\nSuite: stable\nCodename: stable\nArchitectures: all amd64 arm64\nComponents: main\nAcquire-By-Hash: yes\n"
    release += f"Date: {email.utils.formatdate(usegmt=True)}\nSHA256:\n" + "\n".join(sums) + "\n"
    (suite / "Release").write_text(release)
    run(["gpg", "--batch", "--yes", "--clearsign", "--output", str(suite / "InRelease"), str(suite / "Release")], env=environment)


def hosts(folder, *_):
    folder = pathlib.Path(folder).resolve()

    def serve(request):
        state = "second" if (folder / "second").exists() else "first"
        path = request.path.removeprefix("/debian/")
        if path.startswith("dists/stable/"):
            rest = path.removeprefix("dists/stable/")
            # Lists of earlier states stay where their digest says.
            found = [each for each in (state, *STATES) if (folder / "dists/stable" / each / rest).is_file() and (each == state or "/by-hash/" in rest)]
            file = folder / "dists/stable" / found[0] / rest if found else folder / "none"
            changed = LATER if found and found[0] == "second" else RELEASED
        else:
            file, changed = (folder / path).resolve(), RELEASED
        is_public = path.startswith(("pool/", "dists/"))
        if not is_public or not file.is_relative_to(folder) or not file.is_file():
            return NOT_FOUND
        is_fixed = path.startswith("pool/") or "/by-hash/" in path
        fields = {"Cache_Control": IMMUTABLE} if is_fixed else {"Cache_Control": "public, max-age=120", "Age": OLD}
        return of(file.read_bytes(), "application/octet-stream", request, Accept_Ranges="bytes", Last_Modified=changed, **fields)

    return {HOST: serve}
