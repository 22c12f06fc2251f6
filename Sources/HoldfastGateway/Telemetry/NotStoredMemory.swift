import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPWire
import NIOCore

/// The latest responses that were not stored, a few per reason. It belongs to one event loop.
///
/// A flood of such responses costs little, because at most one per reason is recorded each second.
struct NotStoredMemory: Sendable {
    /// A response that was not stored.
    struct Example: Sendable {
        var target: String
        var status: Int
        var at: Timestamp
        var route: RouteLabel
    }

    /// A target that an operator asked about.
    struct Watched: Sendable {
        var authority: String
        var target: String
        var until: NIODeadline

        func includes(_ request: GatewayRequest, at now: NIODeadline) -> Bool {
            now < until && request.target == target && request.authority?.description == authority
        }
    }

    /// The target whose responses are all recorded; `nil` if there is none.
    var watched: Watched?

    /// The maximum length of a target to keep, in bytes.
    static let longestTarget = 2048
    private static let pause = TimeAmount.seconds(1)

    /// The examples by the index of their reason, oldest first.
    private(set) var examples = [[Example]](repeating: [], count: StorageRefusal.allCases.count)
    private var nextAt = [NIODeadline?](repeating: nil, count: StorageRefusal.allCases.count)

    /// Records a response, unless one with the same reason was recorded in the last second and the
    /// target is not ``watched``.
    ///
    /// - Parameter now: called only if the response is recorded.
    mutating func take(_ record: ExchangeRecord, at now: () -> Timestamp) {
        guard let reason = record.facts?.notStored, let request = record.request else { return }
        let index = RouteCounters.reason(reason)
        let isWatched = watched?.includes(request, at: record.end) == true
        if !isWatched, let next = nextAt[index], record.end < next { return }
        nextAt[index] = record.end + Self.pause
        if examples[index].count >= NotStoredExample.limit { examples[index].removeFirst() }
        let target = (request.authority?.description ?? "") + request.target
        examples[index].append(
            Example(
                target: target.cut(at: Self.longestTarget),
                status: record.status ?? 0,
                at: now(),
                route: record.route
            )
        )
    }

    /// Returns the examples of several loops: the latest ones for each reason.
    static func latest(_ memories: [NotStoredMemory], routes names: [String]) -> [NotStoredExample] {
        StorageRefusal.allCases.enumerated().flatMap { index, reason in
            memories.flatMap { $0.examples[index] }.sorted { $0.at > $1.at }.prefix(NotStoredExample.limit).map {
                NotStoredExample(
                    reason: reason,
                    target: $0.target,
                    status: $0.status,
                    at: $0.at,
                    route: names.indices.contains($0.route) ? names[$0.route] : ""
                )
            }
        }
    }
}

extension String {
    /// Returns the text, cut to this many bytes and marked if it is longer.
    fileprivate func cut(at limit: Int) -> String {
        utf8.count <= limit ? self : String(decoding: utf8.prefix(limit), as: UTF8.self) + "…"
    }
}
