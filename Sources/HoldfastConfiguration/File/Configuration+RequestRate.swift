import CacheRules
import HTTPCacheSemantics

extension Configuration {
    /// `limits.requests` of the top level or of a route: how many requests a gateway serves to each
    /// client.
    ///
    /// A client may send ``burst`` requests at once, and then as many as ``count`` and ``period``
    /// allow: `50/s` is one every 20 ms.
    public struct RequestRate: Sendable, Hashable {
        /// The time for ``count`` requests.
        public enum Period: String, Sendable, Hashable, CaseIterable {
            /// A second.
            case second = "s"
            /// A minute.
            case minute = "m"
            /// An hour.
            case hour = "h"

            /// The number of seconds.
            package var seconds: Int {
                switch self {
                case .second: 1
                case .minute: 60
                case .hour: 3600
                }
            }
        }

        /// `by`: the addresses that count as one client.
        public enum Grouping: String, Sendable, Hashable, CaseIterable {
            /// An IPv4 address, or an IPv6 /64, because one client may use all addresses of a /64.
            case address
            /// An IPv4 /24 or an IPv6 /56, which a site or a provider's customers share.
            case prefix
        }

        /// The number of requests per ``period``: 1 to 1,000,000.
        public var count: Int
        /// The time for ``count`` requests.
        public var period: Period
        /// `burst`: the number of requests that a client may send at once: 1 to 1,000,000.
        public var burst: Int
        /// `by`: the addresses that count as one client.
        public var grouping: Grouping

        /// The smallest and largest ``count`` and ``burst``.
        package static let range = 1...1_000_000

        /// Creates a rate. Values outside of 1 to 1,000,000 are clamped.
        ///
        /// - Parameter burst: `nil` for ``count``.
        public init(_ count: Int, per period: Period, burst: Int? = nil, by grouping: Grouping = .address) {
            func clamped(_ value: Int) -> Int { min(max(value, Self.range.lowerBound), Self.range.upperBound) }
            self.count = clamped(count)
            self.period = period
            self.burst = clamped(burst ?? count)
            self.grouping = grouping
        }
    }
}

extension Readers {
    static let requestRateShape = Shape.orOff(
        .mapping([
            .init("rate", .text, isRequired: true), .init("burst", .integer(Configuration.RequestRate.range)),
            .init("by", .words(of: Configuration.RequestRate.Grouping.self)),
        ])
    )
    static let routeLimitsShape = Shape.mapping([
        .init("requests", requestRateShape, describedBy: "limits.requests")
    ])

    /// Reads `off`, or `{rate: 50/s, burst: 200, by: address}`.
    static func requestRate(_ value: FileValue) throws(Refusal) -> Configuration.RequestRate? {
        if value.isOff { return nil }
        var rate: (count: Int, period: Configuration.RequestRate.Period)?
        var burst: Int?
        var grouping = Configuration.RequestRate.Grouping.address
        for entry in try value.entries("off, or '{rate: 50/s, burst: 200, by: address}'") {
            switch entry.key {
            case "rate": rate = try Self.rate(entry.value)
            case "burst":
                burst = try entry.reading { (value) throws(Refusal) in
                    try value.integer(Configuration.RequestRate.range)
                }
            case "by":
                grouping = try entry.reading { (value) throws(Refusal) in
                    try value.word(Configuration.RequestRate.Grouping.allCases.map { ($0.rawValue, $0) })
                }
            default: throw unknown(entry, of: ["rate", "burst", "by"])
            }
        }
        guard let rate else { throw Refusal("'rate' is missing. Write the requests for each client, as in '50/s'.") }
        return Configuration.RequestRate(rate.count, per: rate.period, burst: burst, by: grouping)
    }

    /// Reads `limits` of a route.
    static func routeLimits(_ value: FileValue) throws(Refusal) -> Configuration.RequestRate? {
        var result: Configuration.RequestRate?
        for entry in try value.entries("'{requests: {rate: 50/s}}'") {
            guard entry.key == "requests" else { throw unknown(entry, of: ["requests"]) }
            result = try requestRate(entry.value)
        }
        return result
    }

    private static func rate(
        _ value: FileValue
    ) throws(Refusal) -> (count: Int, period: Configuration.RequestRate.Period) {
        let parts = try value.text("a rate such as '50/s'").split(separator: "/", omittingEmptySubsequences: false)
        let range = Configuration.RequestRate.range
        guard parts.count == 2, let first = parts.first, let last = parts.last, first.utf8.allSatisfy(\.isDigit),
            let count = Int(first), let period = Configuration.RequestRate.Period(rawValue: String(last))
        else {
            throw Refusal("\(value.shown) is not a rate such as '50/s', '600/m' or '10/h'.", line: value.line)
        }
        guard range.contains(count) else {
            throw Refusal(
                "\(value.shown) is out of range. Write \(range.lowerBound) to \(range.upperBound) requests.",
                line: value.line
            )
        }
        return (count, period)
    }
}

extension Writers {
    static func requestRate(_ rate: Configuration.RequestRate?) -> String {
        guard let rate else { return "off" }
        return "{rate: \(rate.count)/\(rate.period.rawValue), burst: \(rate.burst), by: \(rate.grouping.rawValue)}"
    }

    /// Formats a list of addresses; `nil` if it is empty.
    static func addresses(_ ranges: [AddressRange]) -> String? {
        ranges.isEmpty ? nil : list(ranges.map(\.description))
    }
}
