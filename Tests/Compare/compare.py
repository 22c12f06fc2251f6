"""Plays the same requests to two programs and compares their responses: scripts/compare-programs."""

import argparse
import os
import resource
import signal
import sys

import bursts
import cases
import transcript
from clock import Clocks
from programs import Program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--folder", required=True, help="for stores, configurations and logs")
    parser.add_argument("--cases", help="the folder of the conformance cases")
    parser.add_argument("--only", default="", help="part of the cases' names")
    parser.add_argument("--bursts", action="store_true", help="clients that ask at once")
    parser.add_argument("--transcript", action="append", default=[], help="a recording of the soak")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    binaries = [os.path.abspath(options.old), os.path.abspath(options.new)]
    clocks, counts = Clocks(options.folder), []
    if options.cases:
        all_cases = [case for case in cases.load(options.cases) if options.only in case["id"]]
        if not all_cases:
            parser.error(f"No case has '{options.only}' in its name.")
        end_if_different(cases.Cases(binaries, options.folder, clocks).run(all_cases))
        counts.append(f"{len(all_cases)} cases")
    if options.bursts:
        count, found = bursts.run(binaries, options.folder, clocks)
        end_if_different(found)
        counts.append(f"{count} bursts of {bursts.CLIENTS} clients")
    for path in options.transcript:
        recording = transcript.Transcript(path)
        for settling in transcript.SETTLING:
            count, found = transcript.play(recording, binaries, options.folder, clocks, settling)
            if not found:
                break
        end_if_different(f"'{os.path.basename(path)}', request {found[0]}: {found[1]}" if found else None)
        counts.append(f"{count} responses of '{os.path.basename(path)}'")
    print("alike: " + ", ".join(counts))


def end_if_different(found):
    if found:
        print(f"The programs differ: {found}")
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    finally:
        for program in list(Program.running):
            program.stop()
