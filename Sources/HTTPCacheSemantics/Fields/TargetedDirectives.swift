internal import HTTPTypes
internal import RawStructuredFieldValues

/// Targeted fields (`CDN-Cache-Control`): directives for one class of caches, as a Dictionary of structured fields. RFC 9213 §2
extension ResponseDirectives {
    /// More octets than any real field of the kind holds.
    ///
    /// Beyond them the field counts as malformed: it is parsed for every use of a stored response, by a parser that compares each key with all before it.
    static let maximumTargetedLength = 4096

    /// The directives of the first listed field that is there, not empty and well-formed; `nil` where there is none. RFC 9213 §2.2
    ///
    /// - Parameter names: in lower case, the most important first.
    init?(targeted names: [String], in fields: HTTPFields) {
        for name in names {
            if let found = ResponseDirectives(targetedField: name, in: fields) {
                self = found
                return
            }
        }
        return nil
    }

    private init?(targetedField name: String, in fields: HTTPFields) {
        var octets: [UInt8] = []
        for field in fields where field.name.canonicalName == name {
            // All lines are one field. RFC 9651 §4.2
            if !octets.isEmpty { octets += [UInt8(ascii: ","), UInt8(ascii: " ")] }
            field.withUnsafeBytesOfValue { octets.append(contentsOf: $0) }
            guard octets.count <= Self.maximumTargetedLength else { return nil }
        }
        guard !octets.isEmpty else { return nil }
        var parser = StructuredFieldValueParser(octets)
        guard let members = try? parser.parseDictionaryFieldValue(), members.startIndex != members.endIndex else {
            return nil
        }
        self.init()
        isTargeted = true
        for (key, member) in members {
            // Parameters are ignored, and so is a directive that is not known. RFC 9213 §2.1, §2.2
            if case .item(let item) = member {
                add(key, item.rfc9651BareItem)
            } else {
                add(key, nil)
            }
        }
    }

    /// A value of the wrong type is not converted (RFC 9213 §2.1): what permits then permits nothing, a number counting as zero; what restricts restricts
    /// all the same, unless it is plainly `?0`.
    private mutating func add(_ key: String, _ value: RFC9651BareItem?) {
        let isFalse = value == .bool(false)
        let isTrue = value == .bool(true)
        switch key {
        case "max-age": maxAge = Self.seconds(value)
        case "s-maxage": sMaxage = Self.seconds(value)
        case "stale-if-error": staleIfError = Self.seconds(value)
        case "stale-while-revalidate": staleWhileRevalidate = Self.seconds(value)
        case "no-cache": if !isFalse { noCache = Self.scope(value) }
        case "private": if !isFalse { isPrivate = Self.scope(value) }
        case "no-store": noStore = !isFalse
        case "must-revalidate": mustRevalidate = !isFalse
        case "proxy-revalidate": proxyRevalidate = !isFalse
        case "public": isPublic = isTrue
        case "immutable": immutable = isTrue
        // It lifts `no-store`, so it counts among what permits.
        case "must-understand": mustUnderstand = isTrue
        default: break
        }
    }

    private static func seconds(_ value: RFC9651BareItem?) -> DeltaSeconds {
        guard case .integer(let seconds) = value else { return .zero }
        return DeltaSeconds(seconds: seconds)
    }

    /// `true`, or a string that lists field names; anything else counts as `true`, which asks for more.
    private static func scope(_ value: RFC9651BareItem?) -> Scope {
        guard case .string(var text) = value,
            let names = text.withUTF8({ Directive.fieldNames(in: $0) })
        else { return .whole }
        return .fields(names)
    }
}
