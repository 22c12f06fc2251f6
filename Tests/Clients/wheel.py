"""Builds a wheel of a package that contains a version and some data; wheel.py FOLDER."""

import base64
import hashlib
import os
import sys
import zipfile

NAME, VERSION = "holdfast_sample", "1.4.2"
FILES = {
    f"{NAME}/__init__.py": f'VERSION = "{VERSION}"\n',
    # Large enough to arrive in more than one piece.
    f"{NAME}/data.txt": "".join(f"{hashlib.sha256(str(line).encode()).hexdigest()}\n" for line in range(20_000)),
    f"{NAME}-{VERSION}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n",
    f"{NAME}-{VERSION}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: holdfast\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}


def line(name, text):
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(text)}\n"


def main():
    record = f"{NAME}-{VERSION}.dist-info/RECORD"
    files = {**FILES, record: "".join(line(*item) for item in FILES.items()) + f"{record},,\n"}
    with zipfile.ZipFile(os.path.join(sys.argv[1], f"{NAME}-{VERSION}-py3-none-any.whl"), "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)


if __name__ == "__main__":
    main()
