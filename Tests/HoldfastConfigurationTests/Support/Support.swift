import HTTPCache
import HTTPTypes

@testable import CacheRules
@testable import HoldfastConfiguration

/// A request with all its parts, as an engine receives it.
func request(_ url: String, _ method: HTTPRequest.Method = .get) -> HTTPRequest {
    let scheme = url.prefix { $0 != ":" }
    let rest = url.dropFirst(scheme.count + 3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    return HTTPRequest(
        method: method,
        scheme: String(scheme),
        authority: String(authority),
        path: String(rest.dropFirst(authority.count))
    )
}

/// Rules from a file's `rules`.
func rules(_ yaml: String, environment: [String: String] = [:]) throws -> RuleSet {
    try Configuration(yaml: "version: 1\nrules:\n" + yaml, environment: environment).rules
}

/// The findings of a configuration file, in order; empty if it is valid.
func findings(_ yaml: String, file: String? = nil, environment: [String: String] = [:]) -> [String] {
    do {
        _ = try Configuration(yaml: yaml, file: file, environment: environment)
        return []
    } catch let error as ConfigurationError {
        return error.findings.map(\.description)
    } catch {
        return ["another error: \(error)"]
    }
}

/// Random numbers that the seed determines.
struct Numbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_F491_4F6C_DD1D
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[Int(next() >> 33) % elements.count] }

    mutating func chance(_ of: Int) -> Bool { Int(next() >> 33) % of == 0 }
}
