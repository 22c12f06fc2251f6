import ArgumentParser
import Foundation
import HTTPCacheOperations
import Holdfast
import HoldfastControl
import NIOHTTP1

/// `holdfast reload`
struct Reload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a running gateway reload its configuration file.",
        discussion: """
            Does the same as SIGHUP, and prints the result: which settings and other files changed, and which settings need a restart. An invalid file is rejected as a whole; its errors \
            go to standard error, with line numbers. Certificates, keys, tokens and other files that the configuration names are reread too; those that cannot be used are listed. No connection is closed. A mode set with 'holdfast mode' stays until its end.

            The gateway reloads the file that it was started with. If '--config' names another file, nothing is reloaded.

            \(GatewayLocation.help)

            JSON: one object, with the keys outcome, at, by, findings, changed, changedFiles, kept, rejectedFiles and ineffectiveSwitches.

            The exit status is 0 if the file is in force, 1 if it or a file that it names was rejected, no gateway can be reached, or it runs with another file, 64 if the command line is invalid.

            Examples:
              holdfast check --config holdfast.yaml && holdfast reload --config holdfast.yaml
              holdfast reload --socket /run/holdfast/control.sock --format json | jq '.kept[].setting'
            """
    )

    @OptionGroup var location: GatewayLocation

    func run() async throws {
        // The gateway reports the errors of its file itself.
        let gateway = try location.gateway(warns: false)
        // The gateway rereads its own file. If the user edited another one, nothing would change.
        let file = location.namedFile().map { ["file": URL(fileURLWithPath: $0).path] } ?? [:]
        let result: ReloadResult = try await gateway.send(.POST, "/v1/reload", file)
        try location.write(result, Self.text)
        if result.rejectedFiles != nil { throw ExitCode.failure }
    }

    /// Returns human-readable lines.
    static func text(_ result: ReloadResult) -> String {
        let (rejected, files) = (result.rejectedFiles ?? [], result.changedFiles ?? [])
        let changesNothing = rejected.isEmpty && result.changed.isEmpty && files.isEmpty
        var lines: [String]
        switch result.kept.count {
        case _ where !rejected.isEmpty:
            lines = ["Reloaded, except for files that cannot be used. What was read from them before stays in use."]
        case 0: lines = [changesNothing ? "Reloaded. Nothing changed." : "Reloaded."]
        case 1 where changesNothing: lines = ["Reloaded. 1 change takes effect after a restart:"]
        case let number where changesNothing: lines = ["Reloaded. \(number) changes take effect after a restart:"]
        default: lines = ["Reloaded."]
        }
        lines += rejected.map { "  rejected: \($0)" }
        lines += result.changed.map { "  \($0.setting): \($0.from ?? "unset") -> \($0.to ?? "unset")" }
        lines += files.map { "  changed file: \($0)" }
        lines += result.kept.map {
            "  \($0.setting): \($0.from ?? "unset") -> \($0.to ?? "unset")"
                + (changesNothing ? "" : " takes effect after a restart")
        }
        lines += (result.ineffectiveSwitches ?? []).map { "  warning: \($0)" }
        return lines.joined(separator: "\n")
    }
}
