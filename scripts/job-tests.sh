# Runs the tests of jobs in a folder of Tests. Sourced by 'test-jobs' and 'test-record', after
# 'lib.sh'.

# run_job_tests FOLDER GROUPS PROGRAMS [ARGUMENT...]
#
# FOLDER    the folder below Tests, with 'run.py' and 'requirements.txt'
# GROUPS    the groups of tests that an argument may be
# PROGRAMS  the programs that are installed if they are missing, with ':PACKAGE' if its name differs
run_job_tests() {
    local folder=$1 known=$2 programs=$3 script=${0##*/} bin='' quick='' groups='' missing environment lists requirements installed
    local options=()
    shift 3
    while [ $# -gt 0 ]; do
        case $1 in
        --quick)
            quick=1
            options+=(--quick)
            ;;
        --bin | --seed | -k)
            [ $# -gt 1 ] || fail "'$1' needs a value."
            if [ "$1" = --bin ]; then bin=$2; else options+=("$1" "$2"); fi
            shift
            ;;
        *)
            case " $known " in
            *" $1 "*) groups="$groups $1" ;;
            *) fail "'$1' is not known. Usage: scripts/$script [GROUP...] [--quick] [--seed NUMBER] [-k NAME] [--bin FOLDER]" ;;
            esac
            ;;
        esac
        shift
    done

    [ "$(uname -s)" = Linux ] || fail "These tests need network namespaces, which only Linux has."
    command -v python3 >/dev/null || fail "Python 3 is missing. Install it with its pip and venv modules, then try again."
    if [ -z "$quick" ]; then
        missing=
        # The package of each program whose package has a different name.
        for program in $programs ip:iproute2 unshare:util-linux; do
            command -v "${program%:*}" >/dev/null 2>&1 || missing="$missing ${program#*:}"
        done
        # Split on purpose: a list of package names.
        # shellcheck disable=SC2086
        if [ -n "$missing" ]; then install_packages $missing; fi
    fi
    environment=$scratch/${folder,,}
    lists=Tests/$folder/requirements.txt
    # The browser of a site is the one of 'test-packages'.
    case " $groups " in *" site "*) lists="$lists Tests/Packages/requirements.txt" ;; esac
    [ -x "$environment/bin/python" ] || python3 -m venv "$environment" ||
        fail "'python3 -m venv' failed; see above. Debian has it in 'python3-venv'."
    for requirements in $lists; do
        installed=$environment/${requirements//\//-}
        cmp -s "$requirements" "$installed" && continue
        say "Installing $(tr '\n' ' ' <"$requirements")into $environment"
        "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements" ||
            fail "'pip install' failed; see above."
        cp "$requirements" "$installed"
    done

    if [ -z "$bin" ]; then
        if [ -z "${SKIP_BUILD:-}" ]; then
            # Split on purpose: an option, or nothing.
            # shellcheck disable=SC2086
            swift_ build --product holdfast $swift_progress
            # shellcheck disable=SC2086
            swift_ build --product cache-dump $swift_progress
        fi
        bin=$(swift_ build --show-bin-path)
    fi
    # Python writes no compiled files next to the sources.
    export PYTHONDONTWRITEBYTECODE=1
    # Split on purpose: a list of names.
    # shellcheck disable=SC2086
    exec "$environment/bin/python" "Tests/$folder/run.py" --bin "$bin" ${options[@]+"${options[@]}"} $groups
}
