"""An index of Python packages: pages on one host, files on another, by absolute links with a digest (PEP 503, 658, 691, 700)."""

import base64
import hashlib
import io
import json
import zipfile

from serving import NOT_FOUND, OLD, Response, of

INDEX, FILES = "index.example", "files.example"
PACKAGES = {"holdfast-sample": ("1.4.2", ["holdfast-base>=1"]), "holdfast-base": ("1.0.0", [])}
USER = "reader:a secret of 24 letters"
JSON, HTML = "application/vnd.pypi.simple.v1+json", "application/vnd.pypi.simple.v1+html"


def record(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def metadata(name, version, needs):
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {need}" for need in needs)]
    return ("\n".join(lines) + "\n").encode()


def wheel(name, version, needs):
    """The file's name and content."""
    module = name.replace("-", "_")
    data = "".join(f"{hashlib.sha256(f'{name} {line}'.encode()).hexdigest()}\n" for line in range(20_000)).encode()
    files = {
        f"{module}/__init__.py": f'VERSION = "{version}"\n'.encode(),
        f"{module}/data.txt": data,
        f"{module}-{version}.dist-info/METADATA": metadata(name, version, needs),
        f"{module}-{version}.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: holdfast\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    list_ = f"{module}-{version}.dist-info/RECORD"
    files[list_] = ("".join(record(*file) for file in files.items()) + f"{list_},,\n").encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, bytes_ in files.items():
            archive.writestr(zipfile.ZipInfo(path), bytes_)
    return f"{module}-{version}-py3-none-any.whl", content.getvalue()


def build(folder):
    """Nothing: the packages are made anew, byte for byte the same, by each process."""


def page(name, files):
    links = "".join(
        f'    <a href="{file["url"]}#sha256={file["sha256"]}" data-requires-python="&gt;=3.8" data-dist-info-metadata="sha256={file["metadata"]}" '
        f'data-core-metadata="sha256={file["metadata"]}">{file["name"]}</a><br />\n'
        for file in files
    )
    return (
        '<!DOCTYPE html>\n<html>\n  <head>\n    <meta name="pypi:repository-version" content="1.3">\n'
        f"    <title>Links for {name}</title>\n  </head>\n  <body>\n    <h1>Links for {name}</h1>\n{links}</body>\n</html>\n<!--SERIAL 1-->"
    )


def document(name, files):
    described = [
        {
            "core-metadata": {"sha256": file["metadata"]}, "data-dist-info-metadata": {"sha256": file["metadata"]}, "filename": file["name"],
            "hashes": {"sha256": file["sha256"]}, "requires-python": ">=3.8", "size": file["size"], "upload-time": "2026-01-05T10:00:00.000000Z",
            "url": file["url"], "yanked": False,
        }
        for file in files
    ]  # fmt: skip
    return json.dumps({"files": described, "meta": {"_last-serial": 1, "api-version": "1.3"}, "name": name, "versions": [PACKAGES[name][0]]})


def hosts(_, *options):
    """With the option `html` it has no JSON, as older ones; with `private` it asks for a user and password."""
    pages, files = {}, {}
    for name, (version, needs) in PACKAGES.items():
        file, content = wheel(name, version, needs)
        digest = hashlib.blake2b(content, digest_size=32).hexdigest()
        path = f"/packages/{digest[:2]}/{digest[2:4]}/{digest[4:]}/{file}"
        described = metadata(name, version, needs)
        files[path], files[f"{path}.metadata"] = content, described
        pages[f"/simple/{name}/"] = name, [
            {
                "name": file, "url": f"https://{FILES}{path}", "size": len(content), "sha256": hashlib.sha256(content).hexdigest(),
                "metadata": hashlib.sha256(described).hexdigest(),
            }
        ]  # fmt: skip
    expected = "Basic " + base64.b64encode(USER.encode()).decode()

    def is_allowed(request):
        return "private" not in options or request.fields.get("authorization") == expected

    challenge = Response(401, {"WWW-Authenticate": 'Basic realm="index"', "Content-Type": "text/plain"}, b"who are you?")

    def index(request):
        if not is_allowed(request):
            return challenge
        if request.path not in pages:
            return NOT_FOUND
        accepted = request.fields.get("accept", "")
        fields = {"Cache_Control": "max-age=600, public", "Vary": "Accept, Accept-Encoding", "X_PyPI_Last_Serial": "1", "Age": OLD}
        if JSON in accepted and "html" not in options:
            return of(document(*pages[request.path]).encode(), JSON, request, **fields)
        # Both media types of HTML occur.
        is_new = HTML in accepted and request.path.endswith("-base/")
        return of(page(*pages[request.path]).encode(), HTML if is_new else "text/html; charset=UTF-8", request, **fields)

    def file(request):
        if not is_allowed(request):
            return challenge
        if request.path not in files:
            return NOT_FOUND
        return of(files[request.path], "application/octet-stream", request, Cache_Control="max-age=365000000, immutable, public", Accept_Ranges="bytes")

    return {INDEX: index, FILES: file}
