# What the scripts share: sourced, never run. Bash 3.2 (macOS) is enough.

# Everything happens in the repository, wherever the script was called from.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

# Where SwiftPM builds. SCRATCH=/elsewhere keeps a second build apart from the first.
scratch=${SCRATCH:-.build}
case $scratch in
/*) ;;
*) scratch=$root/$scratch ;;
esac

# say WORDS: a line about what happens, told apart from the output of what happens.
say() {
    printf '\n==> %s\n' "$*"
}

# fail WORDS: says why, on standard error, and ends.
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# swift_ COMMAND ARGUMENTS...: a SwiftPM command in the chosen scratch folder.
swift_() {
    local command=$1
    shift
    swift "$command" --scratch-path "$scratch" "$@"
}

# How the tools are built that are installed and measured: on Linux with Swift's runtime inside, so that they run where no Swift is, and what they call in it is called directly.
release_options='--configuration release'
if [ "$(uname -s)" = Linux ]; then release_options="$release_options --static-swift-stdlib"; fi

# A terminal shows progress in one line; anywhere else each of a thousand files would be a line: only errors there.
if [ -t 1 ]; then
    swift_progress=
else
    swift_progress=--quiet
fi

# make_temporary_folder: sets $temporary to a fresh folder. The script removes it in clean_up.
make_temporary_folder() {
    temporary=$(mktemp -d "${TMPDIR:-/tmp}/holdfast.XXXXXX")
}

# start_origin ARGUMENTS...: starts sample-origin on a free port and sets $origin to its URL and $origin_pid.
#
# It waits for the line that the origin prints when it listens, not for a while.
start_origin() {
    local line=
    rm -f "$temporary/ready"
    mkfifo "$temporary/ready"
    "$bin/sample-origin" --quiet --port 0 "$@" >"$temporary/ready" &
    origin_pid=$!
    # Reading ends with the line, or, should the origin fail, with the end of its output.
    read -r -t 60 line <"$temporary/ready" || true
    origin=${line#sample-origin listening on }
    case $origin in
    http://*) ;;
    *) fail "sample-origin did not start; run '$bin/sample-origin' to see why." ;;
    esac
}

# stop_origin: ends the origin, if one runs, and waits until it has ended.
stop_origin() {
    [ -n "${origin_pid:-}" ] || return 0
    kill "$origin_pid" 2>/dev/null || true
    wait "$origin_pid" 2>/dev/null || true
    origin_pid=
}

# start_gateway ARGUMENTS...: starts 'holdfast serve' and sets $gateway to its URL and $gateway_pid.
start_gateway() {
    local line=
    rm -f "$temporary/listens"
    mkfifo "$temporary/listens"
    "$bin/holdfast" serve "$@" >"$temporary/listens" &
    gateway_pid=$!
    read -r -t 60 line <"$temporary/listens" || true
    gateway=${line#holdfast listening on }
    case $gateway in
    http://*) ;;
    *) fail "the gateway did not start; see above." ;;
    esac
}

# stop_gateway: ends the gateway, if one runs, and waits until it has ended.
stop_gateway() {
    [ -n "${gateway_pid:-}" ] || return 0
    kill "$gateway_pid" 2>/dev/null || true
    wait "$gateway_pid" 2>/dev/null || true
    gateway_pid=
}

# clean_up: what a script leaves behind is nothing. For 'trap clean_up EXIT'.
clean_up() {
    stop_gateway
    stop_origin
    if [ -n "${temporary:-}" ]; then rm -rf "$temporary"; fi
}

# install_packages NAMES...: with the system's package manager, where that is apt.
install_packages() {
    local privileged=
    if ! command -v apt-get >/dev/null 2>&1; then
        fail "Missing: $*. Install it with this system's package manager (Fedora: 'dnf install sqlite-devel zlib-devel git')."
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 ||
            fail "Missing: $*. As root, run 'apt-get update && apt-get install $*', then try again."
        privileged=sudo
    fi
    say "Installing $* (missing here)"
    $privileged apt-get update -q || fail "'apt-get update' failed; see above. Without it $* cannot be installed."
    $privileged env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" ||
        fail "'apt-get install $*' failed; see above."
}
