# The report of scripts/test: one line for each step that passes, the output of a step that fails,
# and a summary at the end. This file is sourced after lib.sh. Tests/Scripts/report tests it.

report_folder=$scratch/test-output
report_started=$SECONDS
report_steps=0
report_suites=0
report_passed=0
# The processes of the steps that run, and the names and outputs of these steps.
report_running=()
report_started_steps=()
rm -rf "$report_folder"
mkdir -p "$report_folder"
trap 'interrupted 130' INT
trap 'interrupted 143' TERM

# step NAME COMMAND...: runs the command and writes its output to a file, which is shown only if the
# command fails. With VERBOSE=1, the output is shown immediately.
step() {
    local name=$1 started=$SECONDS status=0 log
    shift
    report_steps=$((report_steps + 1))
    log=$report_folder/$report_steps.txt
    if [ -n "${VERBOSE:-}" ]; then
        printf '%s\n' "$name"
        # Not in a condition, so that 'set -e' still ends the command at its first failure.
        set +e
        (
            set -e
            "$@"
        ) 2>&1 | tee "$log"
        status=${PIPESTATUS[0]}
        set -e
    else
        printf '%-40s ' "$name"
        set +e
        (
            set -e
            "$@"
        ) >"$log" 2>&1
        status=$?
        set -e
    fi
    count_tests "$log"
    [ "$status" -eq 0 ] || failed_step "$name" "$status" "$((SECONDS - started))" "$log"
    [ -z "${VERBOSE:-}" ] || printf '%-40s ' "$name"
    printf 'ok  %4d s\n' "$((SECONDS - started))"
}

# start NAME COMMAND...: starts a step that mostly waits. It runs beside the steps that are started after
# it, until 'collect'. With VERBOSE=1, it runs at once.
start() {
    if [ -n "${VERBOSE:-}" ]; then
        step "$@"
        return
    fi
    report_steps=$((report_steps + 1))
    local name=$1 began=$SECONDS log=$report_folder/$report_steps.txt
    shift
    # In a process group of its own, for 'end_started'. With 'set -m', bash says on standard error that an
    # earlier step is done.
    {
        set -m
        (
            set +e
            (
                set -e
                "$@"
            )
            printf '%d %d\n' "$?" "$((SECONDS - began))" >"$log.end"
        ) >"$log" 2>&1 </dev/null &
        report_running+=("$!")
        set +m
    } 2>/dev/null
    report_started_steps+=("$name" "$log")
}

# collect: waits for the steps that were started, and prints them in that order.
collect() {
    [ "${#report_started_steps[@]}" -gt 0 ] || return 0
    local status seconds
    wait "${report_running[@]}" || true
    set -- "${report_started_steps[@]}"
    report_running=()
    report_started_steps=()
    while [ $# -gt 0 ]; do
        printf '%-40s ' "$1"
        read -r status seconds <"$2.end"
        rm "$2.end"
        count_tests "$2"
        [ "$status" -eq 0 ] || failed_step "$1" "$status" "$seconds" "$2"
        printf 'ok  %4d s\n' "$seconds"
        shift 2
    done
}

# test_step NAME COMMAND...: like step, for a command that runs tests. It also fails if no test
# matches its filter, because otherwise a stale filter would go unnoticed.
test_step() {
    local before=$report_passed
    step "$@"
    [ "$report_passed" -gt "$before" ] || failed_step "$1" 1 0 "$report_folder/$report_steps.txt" "It ran no test."
}

# failed_step NAME STATUS SECONDS LOG [WORDS]: shows the step's output and ends the script.
failed_step() {
    end_started
    printf 'FAILED\n\n'
    [ -n "${VERBOSE:-}" ] || without_passes <"$4"
    [ -z "${5:-}" ] || printf '%s\n' "$5"
    # The status of timeout.
    if [ "$2" -eq 124 ]; then printf 'Its time is over. These tests had not ended:\n%s\n' "$(unfinished_tests "$4")"; fi
    # A step that has no tests, or ended before its tests did, counts as one failure.
    local failed
    failed=$(failed_tests "$4")
    [ "$failed" -gt 0 ] || failed=1
    printf '\n%s failed after %d s, with status %d. All of its output is in %s.\n' "$1" "$3" "$2" "$4"
    printf '%d passed, %d failed\n' "$report_passed" "$failed"
    exit "$2"
}

# end_started: ends the steps that were started and still run.
end_started() {
    local process
    for process in ${report_running[@]+"${report_running[@]}"}; do kill -TERM -- "-$process" 2>/dev/null || true; done
}

# interrupted STATUS: prints where the output of the interrupted step is, and the tests that were running.
# A CI job shows only what is printed.
interrupted() {
    end_started
    printf '\nInterrupted. The output so far is in %s.\n' "$report_folder/$report_steps.txt"
    [ ! -f "$report_folder/$report_steps.txt" ] || unfinished_tests "$report_folder/$report_steps.txt"
    exit "$1"
}

# finish WORDS: prints the summary. The last line is for programs: it always has this form.
finish() {
    printf '\n%d steps in %d s: %d suites, %d tests%s.\n' \
        "$report_steps" "$((SECONDS - report_started))" "$report_suites" "$report_passed" "${1:+, $1}"
    printf '%d passed, %d failed\n' "$report_passed" 0
}

# count_tests LOG: adds up the totals that the test runs print at their end.
count_tests() {
    local counts
    counts=$(awk '
        /^(✔|✘|━) Test run with [0-9]+ test/ {
            tests += $5
            if ($7 == "in") suites += $8
        }
        END { print tests + 0, suites + 0 }' "$1")
    report_suites=$((report_suites + ${counts#* }))
    report_passed=$((report_passed + ${counts% *} - $(failed_tests "$1")))
}

# failed_tests LOG: prints the number of failed tests. A test counts once, however many of its cases
# failed.
failed_tests() {
    awk '/^✘ Test / && !/^✘ Test (run with|case passing) / && / failed after / { count += 1 } END { print count + 0 }' "$1"
}

# unfinished_tests LOG: prints the names of the tests that began and did not end.
unfinished_tests() {
    awk '
        /^◇ Test / && / started\.$/ { change = 1 }
        /^(✔|✘|━) Test / && / (passed|failed) after / { change = -1 }
        change {
            name = $0
            sub(/^[^ ]+ Test /, "", name)
            sub(/( with [0-9]+ test cases?)? (started\.|(passed|failed) after .*)$/, "", name)
            if (name !~ /^(run|case)( |$)/) running[name] += change
            change = 0
        }
        END { for (name in running) if (running[name] > 0) print "  " name }' "$1" | sort
}

# without_passes: copies test output without the messages about tests that start or pass. Such a
# message contains the test's arguments unchanged, possibly on several lines. It is skipped up to
# its end or to the next message, so that a failure is never skipped.
without_passes() {
    awk '
        /^(◇|✔|✘|↳|━|⚠|➜) / { inside = 0 }
        inside { if ($0 ~ ending) inside = 0; next }
        /^◇ / { ending = " started\\.$"; inside = $0 !~ ending; next }
        /^✔ / { ending = " passed after .*$"; inside = $0 !~ ending; next }
        { print }'
}
