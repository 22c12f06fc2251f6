internal import HTTPTypes

/// A request's `Cache-Control`, or its `Pragma: no-cache` if it has no `Cache-Control`. RFC 9111
/// §5.2.1, §5.4, RFC 5861 §4
///
/// - A malformed number in a restricting directive (`max-age`, `min-fresh`) restricts as much as
///   possible.
/// - A malformed number in a permitting directive (`max-stale`, `stale-if-error`) permits nothing.
/// - If a directive is repeated, its strictest value applies.
struct RequestDirectives: Sendable, Hashable {
    enum MaxStale: Sendable, Hashable {
        /// `max-stale` without a value: any staleness is accepted.
        case any
        case upTo(DeltaSeconds)
    }

    var maxAge: DeltaSeconds?
    var minFresh: DeltaSeconds?
    var maxStale: MaxStale?
    var staleIfError: DeltaSeconds?
    var noCache = false
    var noStore = false
    var onlyIfCached = false
    /// Whether the request has a `Cookie`. It is not a directive but is found in the same pass.
    var hasCookie = false

    init(_ fields: HTTPFields) {
        var hasCacheControl = false
        var pragmaNoCache = false
        for field in fields {
            let name = field.name.canonicalName
            switch name.utf8.count {
            case 13 where name == "cache-control":
                hasCacheControl = true
                field.withUnsafeBytesOfValue { addLine($0) }
            case 6 where name == "pragma":
                field.withUnsafeBytesOfValue { bytes in
                    var scanner = ByteScanner(bytes)
                    while !pragmaNoCache, let directive = scanner.nextDirective() {
                        pragmaNoCache = bytes.equals("no-cache", in: directive.name)
                    }
                }
            case 6 where name == "cookie":
                hasCookie = true
            default:
                break
            }
        }
        // Pragma applies only without Cache-Control. RFC 9111 §5.4
        if !hasCacheControl && pragmaNoCache { noCache = true }
    }

    private mutating func addLine(_ bytes: UnsafeBufferPointer<UInt8>) {
        var scanner = ByteScanner(bytes)
        while let directive = scanner.nextDirective() {
            add(directive, bytes)
        }
    }

    private mutating func add(_ directive: Directive, _ bytes: UnsafeBufferPointer<UInt8>) {
        let name = directive.name
        switch name.count {
        case 7 where bytes.equals("max-age", in: name):
            maxAge = min(maxAge ?? .maximum, directive.deltaSeconds(in: bytes) ?? .zero)
        case 8 where bytes.equals("no-cache", in: name):
            noCache = true
        case 8 where bytes.equals("no-store", in: name):
            noStore = true
        case 9 where bytes.equals("min-fresh", in: name):
            minFresh = max(minFresh ?? .zero, directive.deltaSeconds(in: bytes) ?? .maximum)
        case 9 where bytes.equals("max-stale", in: name):
            addMaxStale(directive, bytes)
        case 14 where bytes.equals("stale-if-error", in: name):
            staleIfError = min(staleIfError ?? .maximum, directive.deltaSeconds(in: bytes) ?? .zero)
        case 14 where bytes.equals("only-if-cached", in: name):
            onlyIfCached = true
        default:
            break
        }
    }

    private mutating func addMaxStale(_ directive: Directive, _ bytes: UnsafeBufferPointer<UInt8>) {
        if case .none = directive.argument {
            if maxStale == nil { maxStale = .any }
            return
        }
        let value = directive.deltaSeconds(in: bytes) ?? .zero
        if case .upTo(let earlier) = maxStale {
            maxStale = .upTo(min(earlier, value))
        } else {
            maxStale = .upTo(value)
        }
    }
}
