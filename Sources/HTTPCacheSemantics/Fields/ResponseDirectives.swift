internal import HTTPTypes

/// A response's `Cache-Control`, all its lines together. RFC 9111 §5.2.2, RFC 5861, RFC 8246
///
/// Directives that are not known are passed over. A directive given more than once counts with its strictest value: for a number the
/// smallest, an invalid one as zero. RFC 9111 §4.2.1 asks for the first or for staleness; the smallest is never fresher than either.
struct ResponseDirectives: Sendable, Hashable {
    /// `no-cache` and `private` with or without field names.
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

    init() {}

    init(_ fields: HTTPFields) {
        for field in fields where field.name.canonicalName == "cache-control" {
            field.withUnsafeBytesOfValue { add($0) }
        }
    }

    /// Reads one line.
    mutating func add(_ octets: UnsafeBufferPointer<UInt8>) {
        var scanner = OctetScanner(octets)
        while let directive = scanner.nextDirective() {
            add(directive, octets)
        }
    }

    private mutating func add(_ directive: Directive, _ octets: UnsafeBufferPointer<UInt8>) {
        let name = directive.name
        // By length first: one comparison a directive.
        switch name.count {
        case 6 where octets.equals("public", in: name):
            isPublic = true
        case 7 where octets.equals("max-age", in: name):
            maxAge = Self.strictest(maxAge, directive.deltaSeconds(in: octets))
        case 7 where octets.equals("private", in: name):
            isPrivate.add(directive.fieldNames(in: octets))
        case 8 where octets.equals("no-cache", in: name):
            noCache.add(directive.fieldNames(in: octets))
        case 8 where octets.equals("no-store", in: name):
            noStore = true
        case 8 where octets.equals("s-maxage", in: name):
            sMaxage = Self.strictest(sMaxage, directive.deltaSeconds(in: octets))
        case 9 where octets.equals("immutable", in: name):
            immutable = true
        case 14 where octets.equals("stale-if-error", in: name):
            staleIfError = Self.strictest(staleIfError, directive.deltaSeconds(in: octets))
        case 15 where octets.equals("must-revalidate", in: name):
            mustRevalidate = true
        case 15 where octets.equals("must-understand", in: name):
            mustUnderstand = true
        case 16 where octets.equals("proxy-revalidate", in: name):
            proxyRevalidate = true
        case 22 where octets.equals("stale-while-revalidate", in: name):
            staleWhileRevalidate = Self.strictest(staleWhileRevalidate, directive.deltaSeconds(in: octets))
        default:
            break
        }
    }

    /// All these numbers permit, so the smallest permits least, and an invalid one nothing.
    private static func strictest(_ earlier: DeltaSeconds?, _ value: DeltaSeconds?) -> DeltaSeconds {
        min(earlier ?? .maximum, value ?? .zero)
    }
}
