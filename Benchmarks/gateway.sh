#!/usr/bin/env bash
# Measures the gateway next to nginx, HAProxy, Varnish and Traffic Server:
# gateway.sh [--check] [--write DATE] [options].
#
# --check          fails if a limit is exceeded; a wrong response always fails
# --write DATE     also writes the gateway's part of Benchmarks/RESULTS.md, with the machine and
#                  this date, and the tables of README.md and docs/comparison.md that repeat it
# --quick          one short round of everything: shows only that it runs
# --only REGEX     cases by name: hit_1k, hit_100k, hit_disk, miss, collapsing, slow_origin, idle,
#                  loops, flood, purge, restart, offline; of TLS and HTTP/2 h1_tls, h2c, h2_tls, handshake, idle_tls
# --rounds N       runs of each server, in turn: 5 by default
# --seconds N      length of each run: 3 by default
# --connections N  connections of wrk: 64 by default
# --peers NAMES    some of nginx,haproxy,varnish,trafficserver
# --binary FILE    measures this 'holdfast', instead of this folder's release build
#
# With '--binary OLD --binary NEW' it measures two programs and no peers, in seven rounds in which
# they take turns, and fails if the new one takes more than 1.05 of the old one's CPU for a hit or a
# miss (the median of the rounds' ratios), or more than 1.03 of its instructions (callgrind). Cases:
# instructions (hits from memory over HTTP/1 and HTTP/2, hits from disk, misses), guards: a hit with
# an address list and a rate, recording: a miss that a recording of the new program records (at most
# 1.05 of the instructions) and a hit beside it, hit_1k, miss, and log: hits with the access log off,
# with notable requests, and with all.
#
# The server runs on the first core, wrk and the origin on the second. For Linux. Installs missing
# programs on Debian and Ubuntu.
set -eu
. "$(dirname "$0")/../scripts/lib.sh"

usage="Usage: Benchmarks/gateway.sh [--check] [--write DATE] [--quick] [--only REGEX] [--rounds N] [--seconds N] [--connections N] [--peers NAMES] [--binary FILE [--binary NEWER]]"
binaries=()
peers=nginx,haproxy,varnish,trafficserver
arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        sed -n '2,/^set /s/^# \{0,1\}//p' Benchmarks/gateway.sh
        exit 0
        ;;
    --check | --quick) arguments+=("$1") ;;
    --write | --only | --rounds | --seconds | --connections | --peers | --binary)
        [ $# -gt 1 ] || fail "'$1' needs a value."
        case $1 in
        --binary)
            [ -x "$2" ] || fail "'$2' is no program."
            [ ${#binaries[@]} -lt 2 ] || fail "'--binary' names at most two programs: the old one, then the new one."
            binaries+=("$2")
            ;;
        --peers) peers=$2 ;;
        *) arguments+=("$1" "$2") ;;
        esac
        shift
        ;;
    *) fail "'$1' is not known. $usage" ;;
    esac
    shift
done

[ "$(uname -s)" = Linux ] || fail "Processor time and resident memory are read from /proc, which only Linux has."
[ "$(nproc)" -ge 2 ] || fail "The server and its load need a core each; there is only one."
command -v python3 >/dev/null || fail "Python 3 is missing. Install it, then try again."

missing=
# need COMMAND PACKAGE: records a package whose command is missing.
need() {
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
# Servers are in /usr/sbin, which is not in every user's PATH.
PATH=$PATH:/usr/sbin:/sbin
need wrk wrk
need h2load nghttp2-client
need openssl openssl
need taskset util-linux
# The origin is nginx too.
need nginx nginx-light
if [ ${#binaries[@]} -eq 2 ]; then
    peers=
    need valgrind valgrind
    need objcopy binutils
fi
case $peers in *haproxy*) need haproxy haproxy ;; esac
case $peers in *varnish*) need varnishd varnish ;; esac
case $peers in *trafficserver*) need traffic_server trafficserver ;; esac
if [ -n "$missing" ]; then
    # Installing a server may start it. These runs use other ports, but such a server's processor
    # time adds to the machine's load.
    # Split on purpose: a list of package names.
    # shellcheck disable=SC2086
    install_packages $missing
fi

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
make_temporary_folder

if [ ${#binaries[@]} -eq 0 ]; then
    say "Building (the first build takes some minutes)"
    # Split on purpose: a list of options, the same as for 'make install'.
    # shellcheck disable=SC2086
    swift_ build $release_options --product holdfast
    # shellcheck disable=SC2086
    binaries=("$(swift_ build $release_options --show-bin-path)/holdfast")
fi
for binary in "${binaries[@]}"; do
    arguments+=(--binary "$binary")
done

# No compiled files next to the sources.
export PYTHONDONTWRITEBYTECODE=1
say "Measuring"
python3 Benchmarks/Gateway/compare.py --folder "$temporary" --peers "$peers" "${arguments[@]}"
