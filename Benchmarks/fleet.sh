#!/usr/bin/env bash
# Measures gateways that share their purges by a Redis: fleet.sh [--check] [--write DATE] [options].
#
# --check        fails if a limit is exceeded
# --write DATE   also writes the fleet's part of Benchmarks/RESULTS.md, with this date
# --bin FOLDER   measures the 'holdfast' in this folder, instead of a release build
# --only REGEX   propagation: from a purge to its last node, of eight
#                absence: the start of a node that was away, with a full store
#                throughput: hits per second under purges, on four nodes
#                privacy: FLUSHALL under load, and words in a dump of Redis
#                responses: one request for all nodes, a cold node, a Redis that stops
# --purges N     purges of 'propagation': 200 by default
# --entries N    stored responses of 'absence': 100,000 by default
# --objects N    responses of 'responses' that a cold node reads: 10,000 by default
# --seconds N    of 'throughput', with purges and without each: 60 by default
#
# Nodes, Redis, origin and clients have this machine to themselves. Needs Python 3, redis-server 7 and
# wrk, which it installs on Debian and Ubuntu.
set -eu
. "$(dirname "$0")/../scripts/lib.sh"

bin=
arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    --check) arguments+=("$1") ;;
    --bin | --only | --write | --purges | --entries | --objects | --seconds)
        [ $# -gt 1 ] || fail "'$1' needs a value."
        if [ "$1" = --bin ]; then bin=$2; else arguments+=("$1" "$2"); fi
        shift
        ;;
    *) fail "'$1' is not known. Usage: Benchmarks/fleet.sh [--check] [--write DATE] [--bin FOLDER] [--only REGEX] [--purges N] [--entries N] [--objects N] [--seconds N]" ;;
    esac
    shift
done
command -v python3 >/dev/null || fail "Python 3 is missing. Install it, then try again."
missing=
command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
command -v wrk >/dev/null 2>&1 || missing="$missing wrk"
# shellcheck disable=SC2086
[ -z "$missing" ] || install_packages $missing

if [ -z "$bin" ]; then
    say "Building"
    # shellcheck disable=SC2086
    swift_ build $release_options $swift_progress --product holdfast
    # shellcheck disable=SC2086
    bin=$(swift_ build $release_options --show-bin-path)
fi
# No compiled files next to the sources.
export PYTHONDONTWRITEBYTECODE=1
python3 Benchmarks/Fleet/figures.py --bin "$bin" ${arguments[@]+"${arguments[@]}"}
