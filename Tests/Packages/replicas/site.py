"""A site: a page with a hundred assets, half of them on another host, which the page, style sheets and scripts name by absolute URLs."""

import hashlib
import json
import struct
import zlib

from serving import NOT_FOUND, OLD, of

SITE, ASSETS = "www.example", "assets.example"
KINDS = {"css": 10, "js": 20, "png": 60, "svg": 6, "json": 4}
TYPES = {"css": "text/css", "js": "text/javascript", "png": "image/png", "svg": "image/svg+xml", "json": "application/json", "html": "text/html; charset=utf-8"}
COUNT = sum(KINDS.values())


def build(folder):
    """Nothing: the site is made anew, byte for byte the same, by each process."""


def png(number):
    """A picture of 64 pixels' width that does not compress well."""
    rows = b"".join(b"\0" + hashlib.shake_128(f"{number} {row}".encode()).digest(64 * 3) for row in range(32))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 32, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def address(kind, number):
    """As the page writes it: every second one is on the other host."""
    path = f"/{kind}/{number}.{kind}"
    return f"https://{ASSETS}{path}" if number % 2 else path


def content(kind, number):
    if kind == "png":
        return png(number)
    if kind == "svg":
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="32"><circle r="{number + 9}"/></svg>'.encode()
    if kind == "json":
        return json.dumps({"number": number, "picture": address("png", 2 * number + 1)}).encode()
    if kind == "css":
        return (f".c{number} {{ background: url({address('png', number)}) }}\n" * 20).encode()
    return f"window.loaded = (window.loaded || 0) + 1\nwindow.pictures = [...(window.pictures || []), '{address('png', 2 * number + 1)}']\n".encode()


def page():
    lines = ["<!DOCTYPE html>", '<meta charset="utf-8">', "<title>A site</title>", f'<link rel="icon" href="{address("svg", 1)}">']
    lines += [f'<link rel="stylesheet" href="{address("css", number)}">' for number in range(KINDS["css"])]
    lines += [f'<p class="c{number}">A line with a picture behind it' for number in range(KINDS["css"])]
    lines += [f'<img alt="" src="{address(kind, number)}">' for kind in ("png", "svg") for number in range(KINDS[kind])]
    lines += [f'<script src="{address("js", number)}"></script>' for number in range(KINDS["js"])]
    data = json.dumps([address("json", number) for number in range(KINDS["json"])])
    lines.append(
        f"<script>Promise.all({data}.map(each => fetch(each).then(r => r.json()))).then(all => {{\n"
        "const image = new Image(); image.src = all.find(each => each.number === 1).picture\n"
        "image.decode().then(() => document.title = `${window.loaded} scripts, ${all.length} documents`) })</script>"
    )
    return "\n".join(lines).encode()


def hosts(_, *options):
    files = {"/": (page(), TYPES["html"])}
    for kind, count in KINDS.items():
        for number in range(count):
            files[f"/{kind}/{number}.{kind}"] = content(kind, number), TYPES[kind]

    def host(remainder):
        def serve(request):
            # The page counts as number 0.
            number = request.path.rpartition("/")[2].partition(".")[0]
            if request.path not in files or int(number or "0") % 2 != remainder:
                return NOT_FOUND
            is_page = request.path == "/"
            fields = {"Cache_Control": "public, max-age=60", "Age": OLD} if is_page else {"Cache_Control": "public, max-age=31536000, immutable"}
            return of(*files[request.path], request, Vary="Accept-Encoding", Access_Control_Allow_Origin="*", **fields)

        return serve

    return {SITE: host(0), ASSETS: host(1)}
