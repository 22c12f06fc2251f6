"""Stands in for kubectl: passes its command to the cluster of the test: kubectl.py SOCKET ARGUMENT..."""

import json
import os
import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(json.dumps({"words": sys.argv[2:], "folder": os.getcwd()}).encode() + b"\n")
reply = json.loads(connection.makefile().readline())
sys.stdout.write(reply["output"])
sys.stderr.write(reply["error"])
sys.exit(reply["status"])
