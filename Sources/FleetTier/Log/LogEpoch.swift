package import HTTPCache

/// One history of a log: the period during which one server is in charge of it.
package struct LogEpoch: Sendable, Hashable {
    /// The epoch's number, which increases with each server that takes over the log.
    package var number: UInt64
    /// Distinguishes two epochs that accidentally have the same number.
    package var name: EpochName

    package init(number: UInt64, name: EpochName) {
        self.number = number
        self.name = name
    }
}

/// 16 random bytes, chosen by the node that begins the epoch.
package struct EpochName: Sendable, Hashable, CustomStringConvertible {
    private let bytes: SixteenBytes

    package init(using generator: inout some RandomNumberGenerator) { bytes = SixteenBytes(using: &generator) }

    /// Creates a name from 32 lower-case hexadecimal digits; returns `nil` for any other text.
    package init?(_ text: some StringProtocol) {
        guard let bytes = SixteenBytes(hex: text.utf8) else { return nil }
        self.bytes = bytes
    }

    package var description: String { bytes.hex }
}

/// A node's offer to begin an epoch.
package struct EpochOffer: Sendable, Hashable {
    /// The highest epoch that the node has seen.
    package var highestKnown: UInt64
    /// The epoch to begin, if the server needs a new one.
    package var candidate: LogEpoch

    package init(highestKnown: UInt64, candidate: LogEpoch) {
        self.highestKnown = highestKnown
        self.candidate = candidate
    }

    /// Creates an offer whose candidate has a higher number than the given epochs. The number
    /// consists of 44 bits of time and 20 random bits, so if two nodes that cannot reach each other
    /// begin epochs on two servers at the same moment, the epochs almost certainly differ.
    ///
    /// - Parameter higher: another epoch that the candidate must exceed, such as the epoch in
    ///   ``FleetLogError/lowEpoch(_:)``.
    /// - Returns: `nil` if no higher number exists, which only a hostile server can cause.
    package init?(
        above highestKnown: UInt64,
        exceeding higher: UInt64 = 0,
        at time: EngineTime,
        using generator: inout some RandomNumberGenerator
    ) {
        let floor = max(highestKnown, higher) >> 20
        let high = max(UInt64(clamping: time.milliseconds), floor + 1)
        guard high < 1 << 44 else { return nil }
        let number = high << 20 | generator.next() >> 44
        self.init(
            highestKnown: highestKnown,
            candidate: LogEpoch(number: number, name: EpochName(using: &generator))
        )
    }
}

/// The first entry of an epoch.
package struct EpochMarker: Sendable, Hashable {
    package var name: EpochName
    /// The last entry that the server had when it took over the log; `nil` if the log is new or was
    /// lost.
    package var inherited: LogPosition?

    package init(name: EpochName, inherited: LogPosition?) {
        self.name = name
        self.inherited = inherited
    }
}
