import ArgumentParser

/// The option of commands that can count the responses instead of changing them.
struct DryRunOption: ParsableArguments {
    @Flag(name: .customLong("dry-run"), help: "Count the responses; change nothing.")
    var isDryRun = false
}
