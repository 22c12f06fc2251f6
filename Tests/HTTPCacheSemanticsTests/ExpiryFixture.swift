import Foundation
import Testing

/// One file of `Tests/Fixtures/expiry`: what was stored when, and what must be true at which later time.
///
/// This file needs nothing but Foundation and Testing, so that every test target that runs the fixtures can hold a copy of it or a link to it. The format is
/// described in `Tests/Fixtures/expiry/README.md`.
struct ExpiryFixture: Decodable, Sendable, CustomTestStringConvertible {
    enum Cache: String, Decodable, Sendable { case `private`, shared }

    /// A field line: `["Cache-Control", "max-age=60"]`.
    struct Line: Decodable, Sendable {
        var name: String
        var value: String
        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            name = try container.decode(String.self)
            value = try container.decode(String.self)
        }
    }

    struct Stored: Decodable, Sendable {
        var request: [Line]?
        var status: Int?
        var response: [Line]
        var requestTime: String
        var responseTime: String
        /// `never`, an offset from `responseTime`, or an instant.
        var explicitExpiry: String?
        /// It was invalidated after it was stored.
        var invalidated: Bool?
    }

    enum Verdict: String, Decodable, Sendable {
        case fresh
        case staleAllowed = "stale-allowed"
        case staleWhileRevalidate = "stale-while-revalidate"
        case validate
    }

    struct Expectation: Decodable, Sendable {
        var verdict: Verdict?
        /// What asks for validation: `stale`, `responseNoCache`, `invalidated`, `requestNoCache`, `requestMaxAge`, `requestMinFresh`,
        /// `requestCredentials`.
        var reason: String?
        /// Seconds, or `never`.
        var lifetime: Seconds?
        var source: String?
        /// Seconds.
        var age: Double?
        /// Seconds, or `never`.
        var ttl: Seconds?
        /// `allowed`, or the name of the directive that forbids it.
        var staleUse: String?
        var staleOnError: Bool?
    }

    enum Seconds: Decodable, Sendable, Equatable {
        case never
        case number(Double)
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if try container.decode(String.self) == "never" {
                self = .never
            } else {
                throw FixtureError(message: "a number of seconds or 'never' is needed")
            }
        }
        var milliseconds: Int64 {
            switch self {
            case .never: .max
            case .number(let seconds): Int64((seconds * 1000).rounded())
            }
        }
    }

    struct Instant: Decodable, Sendable {
        /// An offset from `responseTime` (`+61s`, `-5m`, `+1h`, `+2d`), or an instant.
        var at: String
        /// The presented request's fields.
        var request: [Line]?
        var expect: Expectation
    }

    var title: String
    var rfc: String
    var caches: [Cache]
    /// `false`: a cache that follows the rules would not have stored it; only the policy can be asked.
    var storable: Bool?
    var stored: Stored
    var then: [Instant]
    /// The file's name, without its extension.
    var name = ""

    enum CodingKeys: String, CodingKey { case title, rfc, caches, storable, stored, then }

    var testDescription: String { name }
}

struct FixtureError: Error, CustomStringConvertible {
    var message: String
    var description: String { message }
}

extension ExpiryFixture {
    /// The folder, found from where this file is: `Tests/<target>/ExpiryFixture.swift`.
    static func folder(_ file: String = #filePath) -> URL {
        URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/expiry", isDirectory: true)
    }

    /// All fixtures, by name.
    static func all() throws -> [ExpiryFixture] {
        let files = try FileManager.default.contentsOfDirectory(at: folder(), includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "json" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try files.map { file in
            do {
                var fixture = try decoder.decode(ExpiryFixture.self, from: Data(contentsOf: file))
                fixture.name = file.deletingPathExtension().lastPathComponent
                return fixture
            } catch {
                throw FixtureError(message: "'\(file.lastPathComponent)': \(error)")
            }
        }
    }

    /// Milliseconds since 1970 of an instant, or of an offset from `base`.
    static func milliseconds(_ text: String, from base: Int64 = 0) throws -> Int64 {
        if text.hasPrefix("+") || text.hasPrefix("-") {
            guard let unit = text.last, let number = Double(text.dropLast()),
                let factor = ["s": 1000.0, "m": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0][unit]
            else { throw FixtureError(message: "'\(text)' is no offset such as '+61s'") }
            return base + Int64((number * factor).rounded())
        }
        // Parsed by hand: the formatters of Foundation differ between platforms in what they let pass.
        let parts = text.split(whereSeparator: { "-T:.Z".contains($0) }).compactMap { Int64($0) }
        guard text.hasSuffix("Z"), parts.count == 6 || parts.count == 7, text.count == (parts.count == 6 ? 20 : 24)
        else {
            throw FixtureError(message: "'\(text)' is no instant such as '2026-03-01T12:00:00Z'")
        }
        let years = parts[1] <= 2 ? parts[0] - 1 : parts[0]
        let days =
            365 * years + years / 4 - years / 100 + years / 400
            + (153 * (parts[1] > 2 ? parts[1] - 3 : parts[1] + 9) + 2) / 5 + parts[2] - 1 - 719_468
        let seconds = days * 86_400 + parts[3] * 3600 + parts[4] * 60 + parts[5]
        return seconds * 1000 + (parts.count == 7 ? parts[6] : 0)
    }
}

extension ExpiryFixture.Stored {
    func requestMilliseconds() throws -> Int64 { try ExpiryFixture.milliseconds(requestTime) }
    func responseMilliseconds() throws -> Int64 { try ExpiryFixture.milliseconds(responseTime) }

    /// `nil` without one; `Int64.max` is never.
    func explicitExpiryMilliseconds() throws -> Int64? {
        guard let explicitExpiry else { return nil }
        if explicitExpiry == "never" { return .max }
        return try ExpiryFixture.milliseconds(explicitExpiry, from: responseMilliseconds())
    }
}

extension ExpiryFixture.Instant {
    func milliseconds(of stored: ExpiryFixture.Stored) throws -> Int64 {
        try ExpiryFixture.milliseconds(at, from: stored.responseMilliseconds())
    }
}
