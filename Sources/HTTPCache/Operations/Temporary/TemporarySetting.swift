public import HTTPCacheSemantics

/// The values of a setting that an operator may set for a time.
public protocol TemporaryValue: Sendable, Hashable, Codable {
    /// The setting's name: `mode`. It is the member of the value in JSON, the name of the store's
    /// file, and the word in the log. Stores keep it, so it never changes.
    static var settingName: String { get }
    /// The value for the log.
    var logged: String { get }
}

/// A value that an operator set for a time. It replaces the configured one until then.
///
/// In JSON, the value is the member that ``TemporaryValue/settingName`` names.
public struct Temporary<Value: TemporaryValue>: Sendable, Hashable, Codable {
    /// The value that was set.
    public var value: Value
    /// The first instant at which the configured value is in force again.
    public var until: Timestamp
    /// When it was set.
    public var since: Timestamp
    /// Why it was set, for other operators.
    public var reason: String?
    /// The client that set it: `uid 1000`.
    public var client: String

    /// A value with an end.
    public init(_ value: Value, until: Timestamp, since: Timestamp, reason: String? = nil, client: String) {
        self.value = value
        self.until = until
        self.since = since
        self.reason = reason
        self.client = client
    }

    /// Whether its end has come.
    public func isOver(at now: Timestamp) -> Bool { now >= until }

    private struct Member: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }

        static var value: Member { Member(stringValue: Value.settingName) }
        static var until: Member { Member(stringValue: "until") }
        static var since: Member { Member(stringValue: "since") }
        static var reason: Member { Member(stringValue: "reason") }
        static var client: Member { Member(stringValue: "client") }
    }

    /// Reads it.
    ///
    /// - Throws: `DecodingError`
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        value = try members.decode(Value.self, forKey: .value)
        until = try members.decode(Timestamp.self, forKey: .until)
        since = try members.decode(Timestamp.self, forKey: .since)
        reason = try members.decodeIfPresent(String.self, forKey: .reason)
        client = try members.decode(String.self, forKey: .client)
    }

    /// Writes it.
    ///
    /// - Throws: `EncodingError`
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(value, forKey: .value)
        try members.encode(until, forKey: .until)
        try members.encode(since, forKey: .since)
        try members.encodeIfPresent(reason, forKey: .reason)
        try members.encode(client, forKey: .client)
    }
}

/// A setting of a running cache, and where its value comes from.
public struct TemporaryState<Value: TemporaryValue>: Sendable, Hashable {
    /// The value of the configuration.
    public var configured: Value
    /// The value that replaces it for a time; `nil` if there is none.
    public var temporary: Temporary<Value>?

    /// A state.
    public init(configured: Value, temporary: Temporary<Value>? = nil) {
        self.configured = configured
        self.temporary = temporary
    }

    /// The value in force.
    public var value: Value { temporary?.value ?? configured }
}

/// Keeps values that an operator set for a time, one of each setting. A store implements it beside
/// `StoreOperations`.
public protocol TemporaryStore: Sendable {
    /// The value that is kept, also if it is over; `nil` if there is none.
    ///
    /// - Throws: the store's error if it cannot be read.
    func temporary<Value>(_ type: Value.Type) throws -> Temporary<Value>?

    /// Keeps a value in place of the setting's one before. It is durable when this returns.
    ///
    /// - Throws: the store's error if it cannot be written.
    func keep<Value>(_ temporary: Temporary<Value>) throws

    /// Keeps no value of a setting any more. It is durable when this returns.
    ///
    /// - Throws: the store's error if it cannot be written.
    func forget<Value: TemporaryValue>(_ type: Value.Type) throws
}
