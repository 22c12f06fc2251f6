package import HTTPCache
package import HTTPCacheSemantics
package import HTTPTypes

/// Reads the values of settings. ``Writers`` formats them.
package enum Readers {
    /// - Parameter word: a word that the setting also accepts, for messages.
    package static func duration(_ value: FileValue, or word: String? = nil) throws(Refusal) -> Duration {
        try Quantity.duration(value.text("a duration such as '5 m'"), or: word)
    }

    /// Reads a whole number of seconds, as in RFC 9111 §1.2.2.
    package static func seconds(_ value: FileValue) throws(Refusal) -> Duration { try seconds(value, or: nil) }

    private static func seconds(_ value: FileValue, or word: String?) throws(Refusal) -> Duration {
        let duration = try duration(value, or: word)
        guard duration.components.attoseconds == 0 else {
            throw Refusal("\(value.shown) is not a whole number of seconds, which RFC 9111 requires.")
        }
        return duration
    }

    package static func budget(_ value: FileValue) throws(Refusal) -> RuleSettings.Budget {
        if case .text("unlimited", _, _) = value { return .unlimited }
        return .limited(try seconds(value, or: "unlimited"))
    }

    package static func size(_ value: FileValue) throws(Refusal) -> Int64 {
        try Quantity.size(value.text("a size such as '10 MiB'"))
    }

    package static func timeout(_ value: FileValue) throws(Refusal) -> RuleSettings.Switch<Duration> {
        if value.isOff { return .off }
        let duration = try duration(value)
        guard duration > .zero else { throw Refusal("A timeout must be more than 0 s. Write 'off' for no timeout.") }
        return .on(duration)
    }

    package static func eagerRefresh(_ value: FileValue) throws(Refusal) -> RuleSettings.Switch<Double> {
        value.isOff ? .off : .on(try value.share())
    }

    package static func goodDataGuard(_ value: FileValue) throws(Refusal) -> RuleSettings.Switch<GoodDataGuard> {
        if value.isOff { return .off }
        var result = GoodDataGuard()
        if case .text(_, _, _) = value, (try? value.flag()) == true { return .on(result) }
        for entry in try value.entries("off, or the checks of the guard") {
            switch entry.key {
            case "empty": result.refusesEmpty = try entry.flag()
            case "other-media-type": result.refusesOtherMediaType = try entry.flag()
            case "html": result.refusesHTML = try entry.flag()
            case "smallest-json-share":
                result.minimumJSONShare = try entry.reading { (value) throws(Refusal) in try value.share() }
            default: throw unknown(entry, of: ["empty", "other-media-type", "html", "smallest-json-share"])
            }
        }
        return .on(result)
    }

    package static let modes = OfflineMode.allCases.map { ($0.rawValue, $0) }

    package static func mode(_ value: FileValue) throws(Refusal) -> OfflineMode { try value.word(modes) }

    package static func texts(_ value: FileValue, _ expected: String) throws(Refusal) -> [String] {
        var result: [String] = []
        for item in try value.list(of: expected) { result.append(try item.text(expected)) }
        return result
    }

    package static func fieldName(_ value: FileValue) throws(Refusal) -> HTTPField.Name {
        let text = try value.text("a field name")
        guard let name = HTTPField.Name(text) else {
            throw Refusal("\(value.shown) is not a field name.", line: value.line)
        }
        return name
    }

    package static func fieldNames(_ value: FileValue) throws(Refusal) -> [HTTPField.Name] {
        var result: [HTTPField.Name] = []
        for item in try value.list(of: "field names") { result.append(try fieldName(item)) }
        return result
    }

    /// Reads the fields that contain tags, and removes duplicates.
    package static func tagFields(_ value: FileValue) throws(Refusal) -> [TagField] {
        let known = choice(TagField.allCases.map(\.rawValue))
        var result: [TagField] = []
        for item in try value.list(of: "fields with tags (\(known))") {
            guard let field = TagField(named: try item.text("a field name")) else {
                throw Refusal("\(item.shown) is not a field with tags. Use \(known).", line: item.line)
            }
            if !result.contains(field) { result.append(field) }
        }
        return result
    }

    /// Reads tags. Their length is checked with the rule.
    package static func tags(_ value: FileValue) throws(Refusal) -> [String] {
        var result: [String] = []
        for item in try value.list(of: "tags") {
            if case .text(let text, isPlain: false, _) = item {
                result.append(text)
            } else {
                result.append(try item.text("tags"))
            }
        }
        return result
    }

    package static func methods(_ value: FileValue) throws(Refusal) -> [HTTPRequest.Method] {
        var result: [HTTPRequest.Method] = []
        for item in try value.list(of: "methods") {
            guard let method = HTTPRequest.Method(try item.text("a method")) else {
                throw Refusal("\(item.shown) is not a method.", line: item.line)
            }
            // Reject a common method in lower case: methods are case-sensitive, so no request would
            // match. RFC 9110 §9.1
            let capitals = method.rawValue.uppercased()
            guard capitals == method.rawValue || !KnownMethods.common.contains(capitals) else {
                throw Refusal(
                    "\(item.shown) is not '\(capitals)': methods are case-sensitive. Write '\(capitals)'.",
                    line: item.line
                )
            }
            result.append(method)
        }
        return result
    }

    package static func statuses(_ value: FileValue) throws(Refusal) -> Set<Int> {
        var result: Set<Int> = []
        for item in try value.list(of: "statuses") { result.insert(try item.integer(200...599)) }
        return result
    }

    package static let ignorable: [(String, PolicyOverrides.Directives)] = [
        ("no-store", .noStore), ("no-cache", .noCache), ("private", .private), ("must-revalidate", .mustRevalidate),
        ("proxy-revalidate", .proxyRevalidate), ("s-maxage", .sMaxage),
    ]
    package static let liftable = ignorable.filter { $0.1 != .private } + [("invalidated", .invalidated)]

    package static func directives(
        _ value: FileValue,
        _ known: [(String, PolicyOverrides.Directives)]
    ) throws(Refusal) -> PolicyOverrides.Directives {
        var result: PolicyOverrides.Directives = []
        for item in try value.list(of: "directives") { result.insert(try item.word(known)) }
        return result
    }

    package static func principal(_ value: FileValue) throws(Refusal) -> ExchangeSettings.PrincipalSource {
        let entries = try value.entries("'{field: NAME}' or '{cookie: NAME}'")
        guard entries.count == 1, let entry = entries.first else {
            throw Refusal("Expected either '{field: NAME}' or '{cookie: NAME}'.")
        }
        switch entry.key {
        case "field": return .field(try fieldName(entry.value))
        case "cookie": return .cookie(try entry.value.text("a cookie's name"))
        default: throw unknown(entry, of: ["field", "cookie"])
        }
    }

    static func eventStreams(_ value: FileValue) throws(Refusal) -> EventStreamRule {
        let expected = "'{largest: SIZE, ends-with: TEXT}'"
        var largest: Int64?
        var ending: String?
        for entry in try value.entries(expected) {
            switch entry.key {
            case "largest": largest = try entry.reading(size)
            case "ends-with": ending = try entry.reading { (value) throws(Refusal) in try value.text("text") }
            default: throw unknown(entry, of: ["largest", "ends-with"])
            }
        }
        guard let ending else {
            throw Refusal("'ends-with' is missing. Write a text that only the last event of a whole stream holds.")
        }
        return largest.map { EventStreamRule(largest: $0, ending: ending) } ?? EventStreamRule(ending: ending)
    }

    package static func cookies(_ value: FileValue) throws(Refusal) -> CookieRule {
        var names: [String]?
        var forwardsAll = false
        for entry in try value.entries("'{keep: [NAMES]}'") {
            switch entry.key {
            case "keep":
                // An empty list keeps no cookie.
                if case .list(let items, _) = entry.value, items.isEmpty {
                    names = []
                } else {
                    names = try texts(entry.value, "names of cookies")
                }
            case "forward": forwardsAll = try entry.value.word([("all", true)])
            default: throw unknown(entry, of: ["keep", "forward"])
            }
        }
        guard let names else { throw Refusal("'keep' is missing. Write the cookies to keep, or '[]' for none.") }
        return CookieRule(kept: CookieNames(names), forwardsAll: forwardsAll)
    }

    package static func listedValues(_ value: FileValue) throws(Refusal) -> ListedValues {
        var result = ListedValues()
        for group in try value.entries("'{cookies: {NAME: [VALUES]}, fields: {NAME: [VALUES]}}'") {
            let lists = group.value
            guard case .mapping = lists else {
                throw Refusal(
                    "\(shown(group.key)): Expected names and their values, such as '{NAME: [VALUES]}', not \(lists.shown).",
                    line: group.line
                )
            }
            switch group.key {
            case "cookies": result.cookies = try valuesByName(lists, "cookies")
            case "fields": result.fields = try valuesByField(lists)
            default: throw unknown(group, of: ["cookies", "fields"])
            }
        }
        return result
    }

    /// Reads `{NAME: [VALUES]}`, or names alone, whose lists of values are empty.
    package static func valuesByName(_ value: FileValue, _ expected: String) throws(Refusal) -> [String: [String]] {
        var result: [String: [String]] = [:]
        guard case .mapping(let entries, _) = value else {
            for name in try texts(value, "names of \(expected)") { result[name] = [] }
            return result
        }
        for entry in entries { result[entry.key] = try texts(entry.value, "values") }
        return result
    }

    /// Reads names of fields like ``valuesByName(_:_:)``.
    package static func valuesByField(_ value: FileValue) throws(Refusal) -> [HTTPField.Name: [String]] {
        var result: [HTTPField.Name: [String]] = [:]
        for (text, values) in try valuesByName(value, "fields").sorted(by: { $0.key < $1.key }) {
            guard let name = HTTPField.Name(text) else {
                // The value may be a secret, so it is not shown.
                let first = text.prefix { $0 != ":" }
                guard first.count < text.count, let name = HTTPField.Name(String(first)) else {
                    throw Refusal("\(shown(text)) is not a field name.", line: value.line)
                }
                throw Refusal(
                    "Expected names of fields. For a name with values, write '{\(name.rawName): [VALUES]}'.",
                    line: value.line
                )
            }
            guard result[name] == nil else {
                throw Refusal("'\(text)' is listed twice. Field names are not case-sensitive.", line: value.line)
            }
            result[name] = values
        }
        return result
    }

    /// Reads the fields to set. No message contains a value, because it may be a misplaced secret.
    package static func fields(_ value: FileValue) throws(Refusal) -> [HTTPField.Name: FieldValue] {
        var result: [HTTPField.Name: FieldValue] = [:]
        for entry in try value.entries("names and values of fields, such as '{X-Frame-Options: DENY}'", isSecret: true)
        {
            guard let name = HTTPField.Name(entry.key) else {
                throw Refusal("\(shown(entry.key)) is not a field name.", line: entry.line)
            }
            guard result[name] == nil else {
                throw Refusal(
                    "'\(name.rawName)' is listed twice. Field names are not case-sensitive.",
                    line: entry.line
                )
            }
            result[name] = try fieldValue(entry)
        }
        guard !result.isEmpty else { throw Refusal("It has no fields. Add one, or remove the setting.") }
        return result
    }

    private static func fieldValue(_ entry: FileValue.Entry) throws(Refusal) -> FieldValue {
        switch entry.value {
        case .text(let text, let isPlain, _) where !(isPlain && text.isEmpty): return .literal(text)
        case .mapping(let sources, _) where sources.count == 1 && sources[0].key == "env":
            return .environment(try sources[0].value.variable())
        case .mapping(let sources, _) where sources.count == 1 && sources[0].key == "file":
            return .file(try sources[0].value.text("the path of a file"))
        default:
            throw Refusal(
                "The value of \(shown(entry.key)) is not supported. Write text, '{env: NAME}' or '{file: PATH}'.",
                line: entry.line
            )
        }
    }

    /// Returns the refusal for an unknown name, with the most similar known name.
    ///
    /// - Parameter group: the group of settings that contains the name.
    package static func unknown(_ entry: FileValue.Entry, of known: [String], in group: String? = nil) -> Refusal {
        if let name = FormerNames.newName(of: entry.key, in: group) {
            return Refusal("\(shown(entry.key)) was renamed. Write '\(name)'.", line: entry.line)
        }
        let all = known.map { "'\($0)'" }.joined(separator: ", ")
        let meant = CommonNames.meant(by: entry.key, in: group, of: known)
        if !meant.isEmpty {
            let names = choice(meant.map { "'\($0)'" })
            return Refusal("\(shown(entry.key)) is unknown. Write \(names). Known names: \(all).", line: entry.line)
        }
        let advice = nearest(to: entry.key, of: known).map { "Did you mean '\($0)'? " } ?? ""
        return Refusal("\(shown(entry.key)) is unknown. \(advice)Known names: \(all).", line: entry.line)
    }
}
