extension Configuration {
    /// `log`: the access log, which has a line for each request of a client.
    public struct Log: Sendable, Hashable {
        /// The requests that are logged.
        public enum Access: String, Sendable, Hashable, CaseIterable {
            /// None.
            case off
            /// Those that an operator looks for after an incident: a status of 400 and above, a
            /// stale response, a refused or broken-off request, one slower than a second.
            case notable
            /// Every request.
            case all
        }

        /// How a line is written.
        public enum Format: String, Sendable, Hashable, CaseIterable {
            /// The combined log format of web servers, with the cache's part at its end.
            case combined
            /// A JSON object.
            case json
        }

        /// How much of a query is logged.
        public enum Query: String, Sendable, Hashable, CaseIterable {
            /// The names of parameters; `*` stands for each value.
            case redacted
            /// All of it.
            case full
        }

        /// How much of a client's address is logged.
        public enum Client: String, Sendable, Hashable, CaseIterable {
            /// All of it.
            case full
            /// The first 24 bits of an IPv4 address, the first 48 of an IPv6 address.
            case masked
            /// Nothing.
            case none
        }

        /// `access`; `nil`: ``Access/notable``.
        public var access: Access?
        /// `format`; `nil`: ``Format/combined``.
        public var format: Format?
        /// `to`: `stderr`, `stdout`, or the path of a file, relative to the configuration file.
        /// `nil`: standard error.
        public var to: String?
        /// `query`; `nil`: ``Query/redacted``.
        public var query: Query?
        /// `client`; `nil`: ``Client/full``.
        public var client: Client?
        /// The defaults.
        public init() {}
    }
}

extension TopSetting {
    static let log = [
        word("log.access", \.log.access, default: .notable),
        word("log.format", \.log.format, default: .combined),
        TopSetting(
            "log.to",
            read: { (value, configuration) throws(Refusal) in
                let text = try value.text("'stderr', 'stdout' or the path of a file")
                guard !text.isEmpty, !text.utf8.contains(0) else { throw Refusal("The path is empty.") }
                configuration.log.to = text
            },
            written: { $0.log.to ?? "stderr" }
        ),
        word("log.query", \.log.query, default: .redacted),
        word("log.client", \.log.client, default: .full),
    ]

    private static func word<Word: CaseIterable & RawRepresentable<String> & Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Word?> & Sendable,
        default standard: Word
    ) -> TopSetting {
        TopSetting(
            name,
            read: { (value, configuration) throws(Refusal) in
                // YAML 1.1 reads 'off' as a truth value.
                if value.isOff, let off = Word(rawValue: "off") {
                    configuration[keyPath: path] = off
                } else {
                    configuration[keyPath: path] = try value.word(Word.allCases.map { ($0.rawValue, $0) })
                }
            },
            written: { ($0[keyPath: path] ?? standard).rawValue }
        )
    }
}
