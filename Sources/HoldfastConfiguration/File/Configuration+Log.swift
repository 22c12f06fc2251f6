import CacheRules

extension Configuration {
    /// `log`: the access log, which has one line for each logged client request.
    public struct Log: Sendable, Hashable {
        /// The requests to log.
        public enum Access: String, Sendable, Hashable, CaseIterable {
            /// Logs no requests.
            case off
            /// Logs the requests that matter after an incident: requests with a status of 400 or
            /// above, requests that got a stale response, were refused or interrupted, or took more
            /// than a second.
            case notable
            /// Logs every request.
            case all
        }

        /// The format of a line.
        public enum Format: String, Sendable, Hashable, CaseIterable {
            /// The combined log format of web servers, followed by cache information.
            case combined
            /// A JSON object.
            case json
        }

        /// The part of a query that is logged.
        public enum Query: String, Sendable, Hashable, CaseIterable {
            /// The names of parameters, with `*` for each value.
            case redacted
            /// The whole query.
            case full
        }

        /// The part of a client's address that is logged.
        public enum Client: String, Sendable, Hashable, CaseIterable {
            /// The whole address.
            case full
            /// The first 24 bits of an IPv4 address, or the first 48 bits of an IPv6 address.
            case masked
            /// No part of the address.
            case none
        }

        /// `access`. The default, `nil`, is ``Access/notable``.
        package var access: Access?
        /// `format`. The default, `nil`, is ``Format/combined``.
        package var format: Format?
        /// `to`: `stderr`, `stdout`, or the path of a file, relative to the configuration file.
        /// `nil` means standard error.
        package var to: String?
        /// `query`. The default, `nil`, is ``Query/redacted``.
        package var query: Query?
        /// `client`. The default, `nil`, is ``Client/full``.
        package var client: Client?
        /// Creates settings with the defaults.
        package init() {}
    }
}

extension TopSetting {
    static let log = [
        word("log.access", \.log.access, default: .notable),
        word("log.format", \.log.format, default: .combined),
        TopSetting(
            "log.to",
            .text,
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
            Word(rawValue: "off") == nil ? .words(of: Word.self) : .orOff(.words(of: Word.self)),
            read: { (value, configuration) throws(Refusal) in
                // YAML 1.1 reads 'off' as a boolean.
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
