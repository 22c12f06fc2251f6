package import HTTPCache
package import HTTPCacheSemantics

/// A value that a store keeps until it ends.
package protocol KeptValue: Sendable, Hashable, Codable {
    /// The setting's name, such as `mode`. The name is also used for the value's member in JSON,
    /// for the store's file, and in the log. Stores keep it, so it must never change.
    static var settingName: String { get }
}

/// The values of a setting that an operator can change temporarily.
package protocol TemporaryValue: KeptValue {
    /// The value as text for the log.
    var logged: String { get }
    /// Returns the value that applies while no temporary value is set.
    static func configured(for engine: CacheEngine) -> Self
    /// Applies the value, starting with the next request.
    func apply(to engine: CacheEngine)
}

/// A value that an operator set temporarily. It replaces the configured value until it expires.
///
/// In JSON, the value's member is named by ``KeptValue/settingName``.
package struct Temporary<Value: KeptValue>: Sendable, Hashable, Codable {
    /// The value that was set.
    package var value: Value
    /// The first instant at which the configured value applies again.
    package var until: Timestamp
    /// When the value was set.
    package var since: Timestamp
    /// The reason that the value was set, for other operators.
    package var reason: String?
    /// The client that set the value, such as `uid 1000`.
    package var client: String

    /// Creates a temporary value.
    package init(_ value: Value, until: Timestamp, since: Timestamp, reason: String? = nil, client: String) {
        self.value = value
        self.until = until
        self.since = since
        self.reason = reason
        self.client = client
    }

    /// Returns whether the value has expired.
    package func isOver(at now: Timestamp) -> Bool { now >= until }

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

    /// Decodes a temporary value.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        value = try members.decode(Value.self, forKey: .value)
        until = try members.decode(Timestamp.self, forKey: .until)
        since = try members.decode(Timestamp.self, forKey: .since)
        reason = try members.decodeIfPresent(String.self, forKey: .reason)
        client = try members.decode(String.self, forKey: .client)
    }

    /// Encodes the temporary value.
    ///
    /// - Throws: `EncodingError`.
    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(value, forKey: .value)
        try members.encode(until, forKey: .until)
        try members.encode(since, forKey: .since)
        try members.encodeIfPresent(reason, forKey: .reason)
        try members.encode(client, forKey: .client)
    }
}

/// A setting of a running cache, and the source of its value.
package struct TemporaryState<Value: TemporaryValue>: Sendable, Hashable {
    /// The configured value.
    package var configured: Value
    /// The value that temporarily replaces it; `nil` if there is none.
    package var temporary: Temporary<Value>?

    /// Creates a state.
    package init(configured: Value, temporary: Temporary<Value>? = nil) {
        self.configured = configured
        self.temporary = temporary
    }

    /// The value in force.
    package var value: Value { temporary?.value ?? configured }
}

/// Keeps temporary values that an operator set, one for each setting. A store implements this
/// protocol in addition to `StoreOperations`.
package protocol TemporaryStore: Sendable {
    /// Returns the stored value, even if it has expired; returns `nil` if there is none.
    ///
    /// - Throws: the store's error if it cannot be read.
    func temporary<Value>(_ type: Value.Type) throws -> Temporary<Value>?

    /// Stores a value, and replaces the setting's previous value. The value is durable when this
    /// returns.
    ///
    /// - Throws: the store's error if it cannot be written.
    func keep<Value>(_ temporary: Temporary<Value>) throws

    /// Removes the stored value of a setting. The removal is durable when this returns.
    ///
    /// - Throws: the store's error if it cannot be written.
    func forget<Value: KeptValue>(_ type: Value.Type) throws
}
