#!/usr/bin/env bash
# Measures the gateway beside nginx, HAProxy, Varnish and Traffic Server:
# gateway.sh [--check] [--write DATE] [options].
#
# --check          fails if a limit is exceeded; a wrong response always fails
# --write DATE     also writes the gateway's part of Benchmarks/RESULTS.md, with the machine and
#                  this date
# --quick          one short round of everything: shows only that it runs
# --only REGEX     cases by name: hit_1k, hit_100k, hit_disk, miss, collapsing, slow_origin, idle,
#                  flood, offline
# --rounds N       runs of each server, in turn: 5 by default
# --seconds N      length of each run: 3 by default
# --connections N  connections of wrk: 64 by default
# --peers NAMES    some of nginx,haproxy,varnish,trafficserver
# --binary FILE    measures this 'holdfast', instead of this folder's release build
#
# The server runs on the first core, wrk and the origin on the second. For Linux. Installs missing
# programs on Debian and Ubuntu.
set -eu
. "$(dirname "$0")/../scripts/lib.sh"

usage="Usage: Benchmarks/gateway.sh [--check] [--write DATE] [--quick] [--only REGEX] [--rounds N] [--seconds N]"
binary=
peers=nginx,haproxy,varnish,trafficserver
arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    --check | --quick) arguments+=("$1") ;;
    --write | --only | --rounds | --seconds | --connections | --peers | --binary)
        [ $# -gt 1 ] || fail "'$1' needs a value."
        case $1 in
        --binary) binary=$2 ;;
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
need taskset util-linux
# The origin is nginx too.
need nginx nginx-light
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

if [ -z "$binary" ]; then
    say "Building (the first build takes some minutes)"
    # Split on purpose: a list of options, the same as for 'make install'.
    # shellcheck disable=SC2086
    swift_ build $release_options --product holdfast
    # shellcheck disable=SC2086
    binary=$(swift_ build $release_options --show-bin-path)/holdfast
fi

# No compiled files beside the sources.
export PYTHONDONTWRITEBYTECODE=1
say "Measuring"
python3 Benchmarks/Gateway/compare.py --binary "$binary" --folder "$temporary" --peers "$peers" \
    ${arguments[@]+"${arguments[@]}"}
