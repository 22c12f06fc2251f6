#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// An error in a fixture file.
package struct ExpiryFixtureError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file and the error.
    package var message: String
    /// The message.
    package var description: String { message }
}

// Without this, `localizedDescription` would state only the type and a number.
extension ExpiryFixtureError: LocalizedError {
    /// The description.
    package var errorDescription: String? { description }
}

extension ExpiryFixture {
    /// Reads a fixture.
    ///
    /// - Parameter name: the name used in findings, for example the file's name.
    /// - Throws: ``ExpiryFixtureError``
    package static func decode(_ json: Data, name: String = "") throws -> ExpiryFixture {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            var fixture = try decoder.decode(ExpiryFixture.self, from: json)
            fixture.name = name
            return fixture
        } catch {
            throw ExpiryFixtureError(message: "'\(name)': \(error)")
        }
    }

    /// Reads all `.json` files in a folder as fixtures, sorted by name.
    ///
    /// - Throws: ``ExpiryFixtureError`` if a file is not a fixture, or a file system error.
    package static func load(folder: String) throws -> [ExpiryFixture] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }.sorted().map {
            file in
            let json = try Data(contentsOf: URL(filePath: folder).appending(path: file))
            return try decode(json, name: String(file.dropLast(".json".count)))
        }
    }

    /// Returns the milliseconds since 1970 of an instant, or of an offset from `base`.
    package static func milliseconds(_ text: String, from base: Int64 = 0) throws -> Int64 {
        if text.hasPrefix("+") || text.hasPrefix("-") {
            guard let unit = text.last, let number = Double(text.dropLast()),
                let factor = ["s": 1000.0, "m": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0][unit]
            else { throw ExpiryFixtureError(message: "'\(text)' is not an offset such as '+61s'") }
            return base + Int64((number * factor).rounded())
        }
        // This parses the text itself, because Foundation's formatters accept different texts on
        // different platforms.
        let parts = text.split(whereSeparator: { "-T:.Z".contains($0) }).compactMap { Int64($0) }
        guard text.hasSuffix("Z"), parts.count == 6 || parts.count == 7, text.count == (parts.count == 6 ? 20 : 24)
        else {
            throw ExpiryFixtureError(message: "'\(text)' is not an instant such as '2026-03-01T12:00:00Z'")
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
    package func requestMilliseconds() throws -> Int64 { try ExpiryFixture.milliseconds(requestTime) }
    package func responseMilliseconds() throws -> Int64 { try ExpiryFixture.milliseconds(responseTime) }

    /// Returns the explicit expiry; `nil` if there is none, and `Int64.max` for never.
    package func explicitExpiryMilliseconds() throws -> Int64? {
        guard let explicitExpiry else { return nil }
        if explicitExpiry == "never" { return .max }
        return try ExpiryFixture.milliseconds(explicitExpiry, from: responseMilliseconds())
    }
}

extension ExpiryFixture.Instant {
    package func milliseconds(of stored: ExpiryFixture.Stored) throws -> Int64 {
        try ExpiryFixture.milliseconds(at, from: stored.responseMilliseconds())
    }
}
