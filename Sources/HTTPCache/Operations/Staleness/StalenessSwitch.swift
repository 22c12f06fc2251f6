public import Logging

/// How stale every stored response may at least be while its origin fails: an operator's extension
/// of the configured limits, for a time.
///
/// It raises `stale.offline` and, while the origin is unreachable, `stale.unreachable`, if rules
/// set them. It raises `stale-if-error` and `stale.on-error` for an origin that responds with 5xx.
/// It lowers nothing, lifts no directive (`must-revalidate`, `no-cache`, `proxy-revalidate`,
/// `s-maxage` stay binding), and leaves a limit of 0 as it is: a rule says *never* with it. RFC
/// 9111 §4.2.4
public struct StalenessExtension: TemporaryValue {
    /// Seconds beyond the freshness lifetime, from 0 to ``longest``. 0 extends nothing.
    public let seconds: Int64

    /// The longest extension: 365 days, in seconds.
    public static let longest: Int64 = 365 * 86_400
    /// The configured limits alone.
    public static let none = StalenessExtension(seconds: 0)

    /// An extension; a number beyond the limits is brought to the nearest one.
    public init(seconds: Int64) { self.seconds = min(max(0, seconds), Self.longest) }

    /// Reads a number of seconds.
    ///
    /// - Throws: `DecodingError`
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let seconds = try container.decode(Int64.self)
        guard (0...Self.longest).contains(seconds) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "The length of a staleness extension is out of range."
            )
        }
        self.seconds = seconds
    }

    /// Writes the number of seconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(seconds)
    }

    /// `staleness`
    public static var settingName: String { "staleness" }
    /// The seconds.
    public var logged: String { "\(seconds)" }
}

/// An extension that an operator set for a time.
public typealias TemporaryStaleness = Temporary<StalenessExtension>
/// The extension of a running cache. The configured one is always ``StalenessExtension/none``.
public typealias StalenessState = TemporaryState<StalenessExtension>
/// Extends for a time how stale an engine's responses may be.
public typealias StalenessSwitch = TemporarySwitch<StalenessExtension>

extension TemporarySwitch<StalenessExtension> {
    /// Nothing is extended. See ``init(configured:store:clock:sleeper:logger:set:)``.
    public init(
        engine: CacheEngine,
        store: any TemporaryStore,
        clock: any WallClock = SystemWallClock(),
        sleeper: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) {
        self.init(
            configured: .none,
            store: store,
            clock: clock,
            sleeper: sleeper,
            logger: logger,
            set: { engine.staleness = $0 }
        )
    }
}
