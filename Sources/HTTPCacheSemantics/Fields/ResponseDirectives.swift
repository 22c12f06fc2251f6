internal import HTTPTypes

/// A response's `Cache-Control` with all its lines, or the targeted field that replaces it. RFC
/// 9111 §5.2.2, RFC 5861, RFC 8246, RFC 9213
///
/// Unknown directives are skipped. If a directive is repeated, its strictest value applies: the
/// smallest number, and zero for an invalid number. RFC 9111 §4.2.1 suggests using the first value
/// or treating the response as stale; the smallest value is never fresher than either.
struct ResponseDirectives: Sendable, Hashable {
    /// The scope of `no-cache` and `private`, with or without field names.
    enum Scope: Sendable, Hashable {
        case absent
        case fields([String])
        case whole

        mutating func add(_ names: [String]?) {
            switch (self, names) {
            case (.whole, _), (_, nil): self = .whole
            case (.absent, let names?): self = .fields(names)
            case (.fields(let earlier), let names?): self = .fields(earlier + names)
            }
        }
    }

    var maxAge: DeltaSeconds?
    var sMaxage: DeltaSeconds?
    var staleIfError: DeltaSeconds?
    var staleWhileRevalidate: DeltaSeconds?
    var noCache = Scope.absent
    var isPrivate = Scope.absent
    var isPublic = false
    var noStore = false
    var mustRevalidate = false
    var proxyRevalidate = false
    var mustUnderstand = false
    var immutable = false
    /// Whether the directives come from a targeted field, so that `Cache-Control` and `Expires` are
    /// ignored. RFC 9213 §2.2
    var isTargeted = false
    /// Whether the operator ignores a directive of the response.
    var isLoosened = false

    init() {}

    /// - Parameter targeted: the lower-case names of targeted fields, which take precedence over
    ///   `Cache-Control`.
    init(_ fields: HTTPFields, targeted: [String]) {
        var hasTargeted = false
        for field in fields {
            let name = field.name.canonicalName
            if name.utf8.count == 13, name == "cache-control" {
                field.withUnsafeBytesOfValue { addLine($0) }
            } else if !targeted.isEmpty, Self.isListed(name, targeted) {
                hasTargeted = true
            }
        }
        if hasTargeted, let directives = ResponseDirectives(targeted: targeted, in: fields) { self = directives }
    }

    /// Returns whether a field name is listed. Compares lengths first, because this runs for every
    /// field of every examined response.
    static func isListed(_ name: String, _ targeted: [String]) -> Bool {
        for other in targeted where other.utf8.count == name.utf8.count && other == name { return true }
        return false
    }

    /// Parses one line.
    mutating func addLine(_ bytes: UnsafeBufferPointer<UInt8>) {
        var scanner = ByteScanner(bytes)
        while let directive = scanner.nextDirective() {
            add(directive, bytes)
        }
    }

    private mutating func add(_ directive: Directive, _ bytes: UnsafeBufferPointer<UInt8>) {
        let name = directive.name
        // Compare lengths first: one comparison for each directive.
        switch name.count {
        case 6 where bytes.equals("public", in: name):
            isPublic = true
        case 7 where bytes.equals("max-age", in: name):
            maxAge = Self.strictest(maxAge, directive.deltaSeconds(in: bytes))
        case 7 where bytes.equals("private", in: name):
            isPrivate.add(directive.fieldNames(in: bytes))
        case 8 where bytes.equals("no-cache", in: name):
            noCache.add(directive.fieldNames(in: bytes))
        case 8 where bytes.equals("no-store", in: name):
            noStore = true
        case 8 where bytes.equals("s-maxage", in: name):
            sMaxage = Self.strictest(sMaxage, directive.deltaSeconds(in: bytes))
        case 9 where bytes.equals("immutable", in: name):
            immutable = true
        case 14 where bytes.equals("stale-if-error", in: name):
            staleIfError = Self.strictest(staleIfError, directive.deltaSeconds(in: bytes))
        case 15 where bytes.equals("must-revalidate", in: name):
            mustRevalidate = true
        case 15 where bytes.equals("must-understand", in: name):
            mustUnderstand = true
        case 16 where bytes.equals("proxy-revalidate", in: name):
            proxyRevalidate = true
        case 22 where bytes.equals("stale-while-revalidate", in: name):
            staleWhileRevalidate = Self.strictest(staleWhileRevalidate, directive.deltaSeconds(in: bytes))
        default:
            break
        }
    }

    /// Returns the strictest of a repeated directive's numbers. Each number permits something, so
    /// the smallest permits the least, and an invalid number permits nothing.
    private static func strictest(_ earlier: DeltaSeconds?, _ value: DeltaSeconds?) -> DeltaSeconds {
        min(earlier ?? .maximum, value ?? .zero)
    }
}
