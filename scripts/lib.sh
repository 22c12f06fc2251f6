# Functions that the scripts share. This file is sourced, never run. It works with Bash 3.2 (macOS).

# All scripts run in the repository's root, whatever folder they are called from.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

# The folder in which SwiftPM builds. SCRATCH=/elsewhere keeps a second build apart from the first.
scratch=${SCRATCH:-.build}
case $scratch in
/*) ;;
*) scratch=$root/$scratch ;;
esac

# say WORDS: prints a heading for the next step.
say() {
    printf '\n==> %s\n' "$*"
}

# fail WORDS: prints the error to standard error and ends the script with a failure.
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# swift_ COMMAND ARGUMENTS...: runs a SwiftPM command in the scratch folder.
swift_() {
    local command=$1
    shift
    # Split on purpose: a program and its option, or nothing.
    # shellcheck disable=SC2086
    $at_fixed_addresses swift "$command" --scratch-path "$scratch" "$@"
}
at_fixed_addresses=

# The build options of the tools that are installed and measured. On Linux, Swift's runtime is
# linked into the tools, so they run without an installed Swift and call the runtime directly.
release_options='--configuration release'
# Swift exports every function of a program, for which the tools have no use. The tables of addresses are
# resolved at the start and then read-only, which Swift's linker does not do by default.
if [ "$(uname -s)" = Linux ]; then
    release_options="$release_options --static-swift-stdlib -Xlinker --no-export-dynamic"
    release_options="$release_options -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now"
fi
# REPRODUCIBLE=1 builds exactly the versions in Package.resolved, and keeps the folder of the build out
# of the tools: scripts/dist. The tools are stripped of debug information anyway, and the linker's ID of
# a build is a hash of it.
if [ -n "${REPRODUCIBLE:-}" ]; then
    real=$(pwd -P)
    release_options="$release_options --force-resolved-versions -debug-info-format none -Xlinker --build-id=none"
    release_options="$release_options -Xswiftc -file-prefix-map -Xswiftc $real=. -Xcc -ffile-prefix-map=$real=. -Xcxx -ffile-prefix-map=$real=."
    # The compiler of Swift 6.3 orders some code by the addresses of its objects, which the system
    # chooses at random. Not every container permits turning that off.
    if setarch -R true 2>/dev/null; then at_fixed_addresses='setarch -R'; fi
fi

# stripped FROM TO: copies a program without debug information and without the names of its data. The
# names of its functions stay, because the backtrace of a crash shows them.
stripped() {
    local names
    # On macOS, these programs may be installed, but its programs are not in ELF.
    if [ "$(uname -s)" = Linux ] && command -v objcopy >/dev/null 2>&1 && command -v readelf >/dev/null 2>&1; then
        names=$(mktemp "${TMPDIR:-/tmp}/holdfast.XXXXXX")
        # objcopy fails if the list is empty, as for a program that was stripped before.
        printf '# Names of data\n' >"$names"
        readelf --symbols --wide "$1" | awk '$4 == "OBJECT" && $7 != "UND" { print $8 }' >>"$names"
        objcopy --strip-debug --strip-symbols="$names" --remove-section=.comment --remove-section=.note "$1" "$2"
        rm -f "$names"
        # A list of names has none with a space. Only data of Swift has such names.
        objcopy --wildcard --strip-symbol='* *' "$2"
    elif command -v strip >/dev/null 2>&1; then
        strip -S -o "$2" "$1"
    else
        cp "$1" "$2"
    fi
}

# A terminal shows progress on one line. Elsewhere, each of a thousand files would produce a line,
# so only errors are printed.
if [ -t 1 ]; then
    swift_progress=
else
    swift_progress=--quiet
fi

# module_options BIN: sets the array $options to what the compiler needs to import the modules that
# are built in that folder, and their C modules. SwiftPM writes maps for those that have none.
module_options() {
    local bin=$1 map module modules=' '
    options=(-I "$bin/Modules")
    for map in "$bin"/*.build/module.modulemap "$scratch"/checkouts/*/Sources/*/include/module.modulemap \
        "$scratch"/checkouts/*/Sources/*/module.modulemap Sources/*/module.modulemap; do
        module=$(sed -nE 's/^(framework )?module ([A-Za-z0-9_]+).*/\2/p' "$map" 2>/dev/null | head -n 1)
        case $modules in *" $module "*) continue ;; esac
        [ -n "$module" ] || continue
        modules="$modules$module "
        options+=(-Xcc "-fmodule-map-file=$map")
    done
    for map in "$scratch"/checkouts/*/Sources/*/include; do options+=(-Xcc -I -Xcc "$map"); done
}

# make_temporary_folder: sets $temporary to a new folder. The script removes it in clean_up.
make_temporary_folder() {
    temporary=$(mktemp -d "${TMPDIR:-/tmp}/holdfast.XXXXXX")
}

# start_origin ARGUMENTS...: starts sample-origin on a free port. Sets $origin to its URL, and
# $origin_pid.
#
# It waits for the line that the origin prints once it listens, not for a fixed time.
start_origin() {
    local line=
    rm -f "$temporary/ready"
    mkfifo "$temporary/ready"
    "$bin/sample-origin" --quiet --port 0 "$@" >"$temporary/ready" &
    origin_pid=$!
    # Reads up to that line, or to the end of the output if the origin fails.
    read -r -t 600 line <"$temporary/ready" || true
    origin=${line#sample-origin listening on }
    case $origin in
    http://*) ;;
    *) fail "sample-origin did not start; run '$bin/sample-origin' to see why." ;;
    esac
}

# start_python_origin: starts an origin that needs no build, on a free port. Every path has a response
# that names it, and is fresh for a day. Sets $origin to its URL, and $origin_pid.
start_python_origin() {
    rm -f "$temporary/ready"
    mkfifo "$temporary/ready"
    python3 -u - >"$temporary/ready" 2>/dev/null <<'END' &
import http.server

class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ("entry " + self.path + "\n").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=86400")
        self.end_headers()
        self.wfile.write(body)

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
print("http://127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
END
    origin_pid=$!
    read -r -t 600 origin <"$temporary/ready" || fail "The origin of the test did not start."
}

# stop_origin: stops the origin, if it is running, and waits for it to exit.
stop_origin() {
    [ -n "${origin_pid:-}" ] || return 0
    kill "$origin_pid" 2>/dev/null || true
    wait "$origin_pid" 2>/dev/null || true
    origin_pid=
}

# start_gateway ARGUMENTS...: starts 'holdfast serve'. Sets $gateway to its URL, and $gateway_pid.
start_gateway() {
    local line=
    rm -f "$temporary/listens"
    mkfifo "$temporary/listens"
    "$bin/holdfast" serve "$@" >"$temporary/listens" &
    gateway_pid=$!
    read -r -t 600 line <"$temporary/listens" || true
    gateway=${line#holdfast listening on }
    case $gateway in
    http://* | https://*) ;;
    *) fail "the gateway did not start; see above." ;;
    esac
}

# stop_gateway: stops the gateway, if it is running, and waits for it to exit.
stop_gateway() {
    [ -n "${gateway_pid:-}" ] || return 0
    kill "$gateway_pid" 2>/dev/null || true
    wait "$gateway_pid" 2>/dev/null || true
    gateway_pid=
}

# clean_up: stops the started processes and removes the temporary folder. For 'trap clean_up EXIT'.
clean_up() {
    stop_gateway
    stop_origin
    if [ -n "${temporary:-}" ]; then rm -rf "$temporary"; fi
}

# install_packages NAMES...: installs packages with apt, on systems that have it.
install_packages() {
    local privileged=
    if ! command -v apt-get >/dev/null 2>&1; then
        fail "Missing: $*. Install it with this system's package manager (Fedora: 'dnf install sqlite-devel zlib-devel libnghttp2-devel git')."
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

# kubernetes_python: sets $python to a Python in SCRATCH/kubernetes that has PyYAML and
# kubernetes-validate. Installs them with pip if they are missing.
kubernetes_python() {
    local environment=$scratch/kubernetes
    python=$environment/bin/python
    if "$python" -c 'import kubernetes_validate, yaml' 2>/dev/null; then return 0; fi
    python3 -m venv "$environment" || fail "Python has no venv module (Debian: 'apt-get install python3-venv')."
    "$python" -m pip install --quiet --disable-pip-version-check kubernetes-validate ||
        fail "'pip install kubernetes-validate' failed; see above."
}
