import CacheRules
import HTTPCacheSemantics

/// Settings by the kind of their value, and readers that need more than one line.
extension TopSetting {
    static func size(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Int64?> & Sendable,
        default standard: Int64,
        least: Int64 = 0
    ) -> TopSetting {
        TopSetting(
            name,
            .size,
            read: { (value, configuration) throws(Refusal) in
                configuration[keyPath: path] = try sizeRead(value, least: least)
            },
            written: { Quantity.written(bytes: $0[keyPath: path] ?? standard) }
        )
    }

    /// Reads a size that has a minimum, and possibly a maximum.
    static func sizeRead(_ value: FileValue, least: Int64, most: Int64 = .max) throws(Refusal) -> Int64 {
        let size = try Readers.size(value)
        guard size >= least else {
            throw Refusal("\(value.shown) is too small; the minimum is \(Quantity.written(bytes: least)).")
        }
        guard size <= most else {
            throw Refusal("\(value.shown) is too large; the maximum is \(Quantity.written(bytes: most)).")
        }
        return size
    }

    /// Creates a setting for a size in memory.
    static func count(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Int?> & Sendable,
        default standard: Int,
        least: Int64 = 0,
        most: Int64 = .max
    ) -> TopSetting {
        TopSetting(
            name,
            .size,
            read: { (value, configuration) throws(Refusal) in
                configuration[keyPath: path] = Int(clamping: try sizeRead(value, least: least, most: most))
            },
            written: { Quantity.written(bytes: Int64($0[keyPath: path] ?? standard)) }
        )
    }

    static func number(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Int?> & Sendable,
        _ range: ClosedRange<Int>,
        default standard: Int
    ) -> TopSetting {
        TopSetting(
            name,
            .integer(range),
            read: { (value, configuration) throws(Refusal) in
                configuration[keyPath: path] = try value.integer(range)
            },
            written: { "\($0[keyPath: path] ?? standard)" }
        )
    }

    static func flag(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Bool?> & Sendable,
        default standard: Bool
    ) -> TopSetting {
        TopSetting(
            name,
            .flag,
            read: { (value, configuration) throws(Refusal) in configuration[keyPath: path] = try value.flag() },
            written: { "\($0[keyPath: path] ?? standard)" }
        )
    }

    /// Creates a setting for the maximum time without progress on one side. The default is 60 s.
    static func stall(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Duration?> & Sendable
    ) -> TopSetting {
        TopSetting(
            name,
            .duration,
            read: { (value, configuration) throws(Refusal) in
                configuration[keyPath: path] = try Readers.duration(value)
            },
            written: { Quantity.written($0[keyPath: path] ?? .seconds(60)) }
        )
    }

    /// Creates a setting for a time limit on connections to origins.
    static func time(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Duration?> & Sendable,
        default standard: Duration
    ) -> TopSetting {
        TopSetting(
            name,
            .duration,
            read: { (value, configuration) throws(Refusal) in
                configuration[keyPath: path] = try OriginReader.time(value)
            },
            written: { Quantity.written($0[keyPath: path] ?? standard) }
        )
    }

    static func duration(
        _ name: String,
        _ path: any WritableKeyPath<Configuration, Duration> & Sendable,
        least: Duration = .milliseconds(1),
        most: Duration? = nil
    ) -> TopSetting {
        TopSetting(
            name,
            .duration,
            read: { (value, configuration) throws(Refusal) in
                let duration = try Readers.duration(value)
                guard duration >= least else {
                    throw Refusal("\(value.shown) is too short. The minimum is \(Quantity.written(least)).")
                }
                if let most, duration > most {
                    throw Refusal("\(value.shown) is too long. The maximum is \(Quantity.written(most)).")
                }
                configuration[keyPath: path] = duration
            },
            written: { Quantity.written($0[keyPath: path]) }
        )
    }

    /// Reads a host and port.
    static func listen(_ value: FileValue) throws(Refusal) -> String {
        let text = try value.text("a host and a port such as '127.0.0.1:8080'")
        if let scheme = text.firstRange(of: "://") {
            let address = text[scheme.upperBound...].prefix { $0 != "/" }
            throw Refusal(
                "\(value.shown) is a URL. Write the host and the port without \(shown(text[..<scheme.upperBound])): \(shown(address))."
            )
        }
        if let number = text.lastIndex(of: ":").map({ text[$0...].dropFirst() }), !number.isEmpty,
            number.utf8.allSatisfy(\.isDigit), UInt16(number) == nil
        {
            throw Refusal("\(value.shown) has an invalid port. Ports are 0 to 65535.")
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            // Port 0 means any free port, but it is not valid in a URI.
            (try? TargetURI("http://\(text[..<colon]):\(max(port, 1))/")) != nil
        else {
            let digits = text.hasPrefix(":") ? text.dropFirst() : text[...]
            if digits.utf8.allSatisfy(\.isDigit), let port = UInt16(digits) {
                throw Refusal(
                    "\(value.shown) has no host. Write '127.0.0.1:\(port)' for this machine alone, or '0.0.0.0:\(port)' for all addresses."
                )
            }
            let fault = "\(value.shown) is not a host and port such as '127.0.0.1:8080' or '[::1]:8080'."
            let port = text.dropFirst(2)
            guard text.hasPrefix("*:"), !port.isEmpty, port.utf8.allSatisfy(\.isDigit) else { throw Refusal(fault) }
            throw Refusal("\(fault) For every address, write '0.0.0.0:\(port)' or '[::]:\(port)'.")
        }
        return text
    }

    static func drainDelay(_ value: FileValue) throws(Refusal) -> Duration {
        if value.isOff { return .zero }
        let delay = try Readers.duration(value)
        guard delay <= Configuration.longestDrainDelay else {
            let limit = Quantity.written(Configuration.longestDrainDelay)
            throw Refusal("\(value.shown) is too long. The limit is \(limit). Set a shorter time, or 'off'.")
        }
        return delay
    }

    /// Reads a path that can be compared with a request's path byte for byte.
    static func path(_ value: FileValue) throws(Refusal) -> String {
        let text = try value.text("a path such as '/healthz', or 'off'")
        guard text.utf8.count <= 128 else {
            throw Refusal("\(value.shown) has \(text.utf8.count) bytes; the limit is 128. Choose a shorter path.")
        }
        guard text.utf8.first == UInt8(ascii: "/"),
            text.utf8.allSatisfy({ $0.isVisible && !"?#".utf8.contains($0) })
        else {
            throw Refusal(
                "\(value.shown) is not a path such as '/healthz'. A path begins with a slash, has only visible ASCII characters, and has no query or fragment."
            )
        }
        guard !PathNormalForm.hasDotSegment(text) else {
            throw Refusal("\(value.shown) contains a dot segment, which no client sends. Write the resolved path.")
        }
        return text
    }

    static func addresses(_ value: FileValue) throws(Refusal) -> [AddressRange] {
        var result: [AddressRange] = []
        for item in try value.list(of: "addresses such as '10.0.0.0/8'") {
            let text = try item.text("an address")
            guard let range = AddressRange(text) else {
                if let intended = AddressRange.intended(by: text) {
                    throw Refusal(
                        "\(item.shown) has bits after its prefix. Write '\(intended)' for the network, or \(shown(text.prefix { $0 != "/" })) for the address.",
                        line: item.line
                    )
                }
                throw Refusal(
                    "\(item.shown) is not an address such as '10.0.0.7', a range such as '10.0.0.0/8' or 'fd00::/8', or 'unix' (all clients of Unix sockets).",
                    line: item.line
                )
            }
            result.append(range)
        }
        return result
    }

    static let quotasShape = Shape.mapping([
        .init("tags", .table(.size)), .init("origins", .table(.size)), .init("each-origin", .size),
    ])

    @Sendable static func quotas(_ value: FileValue, _ configuration: inout Configuration) throws(Refusal) {
        for entry in try value.entries("'tags', 'origins' and 'each-origin'") {
            switch entry.key {
            case "tags":
                for quota in try entry.value.entries("tags and sizes") {
                    guard !quota.key.isEmpty, quota.key.utf8.count <= 1024 else {
                        throw Refusal("A tag must have 1 to 1024 bytes.", line: quota.line)
                    }
                    configuration.store.tagQuotas[quota.key] = try self.quota(quota)
                }
            case "origins":
                for quota in try entry.value.entries("origins and sizes") {
                    guard let target = try? TargetURI(quota.key), target.path == "/", target.query == nil else {
                        throw Refusal(
                            "\(shown(quota.key)) is not an origin such as 'https://api.example.com'.",
                            line: quota.line
                        )
                    }
                    let origin = "\(target.scheme)://\(target.authority)"
                    guard configuration.store.originQuotas.updateValue(try self.quota(quota), forKey: origin) == nil
                    else { throw Refusal("'\(origin)' is listed twice. Remove one of them.", line: quota.line) }
                }
            case "each-origin": configuration.store.eachOriginQuota = try quota(entry)
            default: throw Readers.unknown(entry, of: ["tags", "origins", "each-origin"])
            }
        }
    }

    private static func quota(_ entry: FileValue.Entry) throws(Refusal) -> Int64 {
        do throws(Refusal) {
            let size = try Readers.size(entry.value)
            guard size > 0 else { throw Refusal("A quota must be more than 0 B.") }
            return size
        } catch {
            throw Refusal(error.message, line: entry.line)
        }
    }
}

extension RuleSettings.Switch {
    /// The value; `nil` if the setting is off.
    var value: Value? { if case .on(let value) = self { value } else { nil } }
}
