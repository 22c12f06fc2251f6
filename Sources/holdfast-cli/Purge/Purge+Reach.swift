import ArgumentParser
import CommandLineSupport
import HTTPCacheOperations
import Holdfast
import HoldfastControl

extension Purge {
    /// The levels, with their names on the command line.
    enum Level: String, ExpressibleByArgument, CaseIterable {
        case queued, published, replicated, everywhere

        var level: PurgeLevel {
            switch self {
            case .queued: .queued
            case .published: .published
            case .replicated: .replicated
            case .everywhere: .everywhere
            }
        }
    }

    /// The exit status if the purge was applied but has not reached the requested level.
    static let notReached = ExitCode(2)

    /// The exit status if the purge is in force, but not on disk.
    static let notDurable = ExitCode(3)

    /// The warning about a purge that is not on disk.
    static func durabilityText(_ result: PurgeResult) -> String {
        guard result.durable == false else { return "" }
        return " In force, but not on disk, which is full or read-only: if the gateway ends before the purge is "
            + "written, the responses may be served again. Free some space, or make the disk writable, then repeat it."
    }

    /// - Throws: ``notReached``
    func checkReached(_ purged: PurgedStore.Purged) throws {
        let result = purged.result
        guard let wait, !result.dryRun else { return }
        guard let reached = result.reached else {
            let reason =
                purged.isByGateway
                ? "this gateway shares no purges. Set 'fleet.url' to share them."
                : "no gateway is running. If 'fleet.url' is set, the purge reaches other nodes once the gateway runs."
            StandardStream.error.line("The purge is in force here, but '--wait' cannot be checked: \(reason)")
            throw Self.notReached
        }
        if reached < wait.level { throw Self.notReached }
    }

    /// Describes how far a purge has reached.
    static func reachText(_ result: PurgeResult) -> String {
        guard let reached = result.reached else { return "" }
        var text: String
        switch reached {
        case .queued: text = " Not yet published to other nodes."
        case .published: text = " Published to other nodes."
        case .replicated:
            // Without a quorum, a purge has this level although no replica was asked.
            text = " Published to other nodes\(result.replicas ?? 0 > 0 ? ", and replicated" : "")."
        case .everywhere: text = " In force on all \(result.nodes?.applied ?? 1) nodes."
        }
        if let note = result.note { text += " \(note)" }
        for node in result.nodes?.waiting ?? [] {
            let behind = node.behind.map { ", \($0) behind" } ?? ""
            text += "\n  waiting  \(node.node), seen \(node.seenSeconds) s ago\(behind)"
        }
        return text
    }
}
