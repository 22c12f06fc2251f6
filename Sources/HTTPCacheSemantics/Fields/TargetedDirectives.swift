internal import HTTPTypes
internal import RawStructuredFieldValues

/// Targeted fields (`CDN-Cache-Control`): directives for one class of caches, written as a
/// Dictionary. RFC 9213 §2
extension ResponseDirectives {
    /// The maximum length of a targeted field in bytes; real fields are shorter.
    ///
    /// A longer field counts as malformed. The field is parsed on every use of a stored response,
    /// and the general parser compares each key with all previous keys.
    static let maximumTargetedLength = 4096

    /// Reads the first listed field that is present, not empty and well-formed. Returns `nil` if
    /// there is none. RFC 9213 §2.2
    ///
    /// - Parameter names: the lower-case names of the fields, in order of precedence.
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
        var first: HTTPField?
        var joined: [UInt8]?
        for field in fields where field.name.canonicalName == name {
            guard let earlier = first else {
                first = field
                continue
            }
            // All lines form one field. RFC 9651 §4.2
            var bytes = joined ?? earlier.withUnsafeBytesOfValue(Array.init)
            bytes += [UInt8(ascii: ","), UInt8(ascii: " ")]
            field.withUnsafeBytesOfValue { bytes.append(contentsOf: $0) }
            guard bytes.count <= Self.maximumTargetedLength else { return nil }
            joined = bytes
        }
        let found =
            if let joined {
                joined.withUnsafeBufferPointer { ResponseDirectives(dictionary: $0) }
            } else {
                first?.withUnsafeBytesOfValue { ResponseDirectives(dictionary: $0) } ?? nil
            }
        guard let found else { return nil }
        self = found
    }

    /// Parses a Dictionary. Returns `nil` if it is empty or malformed.
    init?(dictionary bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count <= Self.maximumTargetedLength else { return nil }
        if let simple = ResponseDirectives(simpleDictionary: bytes) {
            self = simple
        } else if let general = ResponseDirectives(generalDictionary: bytes) {
            self = general
        } else {
            return nil
        }
    }

    /// Parses any Dictionary, ten times slower than ``init(simpleDictionary:)``.
    init?(generalDictionary bytes: UnsafeBufferPointer<UInt8>) {
        var parser = StructuredFieldValueParser(bytes)
        guard let members = try? parser.parseDictionaryFieldValue(), members.startIndex != members.endIndex else {
            return nil
        }
        self.init()
        isTargeted = true
        for (key, member) in members {
            var key = key
            // Parameters and unknown directives are ignored. RFC 9213 §2.1, §2.2
            guard case .item(let item) = member else {
                key.withUTF8 { addMember($0, .other) }
                continue
            }
            switch item.rfc9651BareItem {
            case .bool(let value): key.withUTF8 { addMember($0, .bool(value)) }
            case .integer(let value): key.withUTF8 { addMember($0, .integer(value)) }
            case .string(var text): key.withUTF8 { key in text.withUTF8 { addMember(key, .string($0)) } }
            default: key.withUTF8 { addMember($0, .other) }
            }
        }
    }

    enum TargetedValue {
        case bool(Bool)
        case integer(Int64)
        /// A string without quotes and escapes.
        case string(UnsafeBufferPointer<UInt8>)
        case other

        var isTrue: Bool { if case .bool(true) = self { true } else { false } }
        var isFalse: Bool { if case .bool(false) = self { true } else { false } }
    }

    /// Adds a member. If a key is repeated, its last value applies, as in every Dictionary. RFC
    /// 9651 §4.2.2
    ///
    /// A value of the wrong type is not converted (RFC 9213 §2.1). A permitting directive with such
    /// a value permits nothing, and a number is read as zero. A restricting directive still
    /// restricts, unless its value is `?0`.
    mutating func addMember(_ key: UnsafeBufferPointer<UInt8>, _ value: TargetedValue) {
        let whole = 0..<key.count
        switch key.count {
        case 6 where key.equals("public", in: whole): isPublic = value.isTrue
        case 7 where key.equals("max-age", in: whole): maxAge = Self.seconds(value)
        case 7 where key.equals("private", in: whole): isPrivate = Self.scope(value)
        case 8 where key.equals("no-cache", in: whole): noCache = Self.scope(value)
        case 8 where key.equals("no-store", in: whole): noStore = !value.isFalse
        case 8 where key.equals("s-maxage", in: whole): sMaxage = Self.seconds(value)
        case 9 where key.equals("immutable", in: whole): immutable = value.isTrue
        case 14 where key.equals("stale-if-error", in: whole): staleIfError = Self.seconds(value)
        case 15 where key.equals("must-revalidate", in: whole): mustRevalidate = !value.isFalse
        // It overrides `no-store`, so it is a permitting directive.
        case 15 where key.equals("must-understand", in: whole): mustUnderstand = value.isTrue
        case 16 where key.equals("proxy-revalidate", in: whole): proxyRevalidate = !value.isFalse
        case 22 where key.equals("stale-while-revalidate", in: whole): staleWhileRevalidate = Self.seconds(value)
        default: break
        }
    }

    private static func seconds(_ value: TargetedValue) -> DeltaSeconds {
        guard case .integer(let seconds) = value else { return .zero }
        return DeltaSeconds(seconds: seconds)
    }

    /// Reads `true` or a string that lists field names. Anything else is read as `true`, which is
    /// stricter.
    private static func scope(_ value: TargetedValue) -> Scope {
        switch value {
        case .bool(false): .absent
        case .string(let bytes): Directive.fieldNames(in: bytes).map(Scope.fields) ?? .whole
        default: .whole
        }
    }
}
