import Crypto
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// A comparison of a stored response with the response that its origin sends now.
package struct ResponseComparison: Sendable, Hashable, Codable {
    /// Two statuses.
    package struct Statuses: Sendable, Hashable, Codable {
        /// The status of the stored response.
        package var stored: Int
        /// The status of the origin's response.
        package var origin: Int
    }

    /// A field that differs.
    package struct Field: Sendable, Hashable, Codable {
        /// The field's name in lower case.
        package var name: String
        /// The stored response's values, joined by commas; `nil` if it does not have the field.
        /// Secrets are replaced.
        package var stored: String?
        /// The origin's values, in the same format.
        package var origin: String?
    }

    /// The two bodies.
    package struct Bodies: Sendable, Hashable, Codable {
        /// Whether the bodies have the same bytes; `nil` if one of them is too long to compare.
        package var isSame: Bool?
        /// The length of the stored body in bytes.
        package var stored: Int64
        /// The length of the origin's body in bytes, as far as it was read.
        package var origin: Int64
    }

    /// The statuses.
    package var status: Statuses
    /// The fields that differ, except fields that differ every time.
    package var fields: [Field]
    /// The bodies.
    package var body: Bodies

    /// The maximum body length that is compared, in bytes.
    package static let bodyLimit: Int64 = 64 << 20

    /// The reason that there is no comparison.
    package enum NotComparable: Error, Sendable, Hashable {
        /// No stored response has this number and this ID.
        case unknown
        /// The response belongs to a principal, whose credentials are not stored.
        case ofPrincipal
        /// The request was not a GET.
        case otherMethod
    }
}

extension CacheEngine {
    /// Requests a stored response from the origin again, bypassing the store, and compares the two.
    ///
    /// - Throws: ``ResponseComparison/NotComparable``; ``ExchangeError`` if the origin may not be
    ///   contacted or does not respond; the store's error.
    func compare(_ stored: StoredResponse) async throws -> ResponseComparison {
        let key = stored.key.components
        guard key.partition == .common else { throw ResponseComparison.NotComparable.ofPrincipal }
        guard key.method == .get else { throw ResponseComparison.NotComparable.otherMethod }
        let head = HTTPRequest(
            method: .get,
            scheme: key.target.scheme,
            authority: key.target.authority,
            path: key.target.requestTarget,
            headerFields: stored.head.repeatedFields
        )
        var request = repeating(head)
        request.storage = .never
        let response = try await respond(to: request)
        let new = await Self.digest(response.body)
        var old: (bytes: Int64, digest: SHA256Digest?) = (stored.bodyLength, nil)
        if stored.bodyLength <= ResponseComparison.bodyLimit, let body = try await store.openBody(of: stored) {
            old = await Self.digest(body)
        }
        let isKnown = old.digest != nil && new.digest != nil
        return ResponseComparison(
            status: .init(stored: stored.head.status.code, origin: response.head.status.code),
            fields: Self.differences(stored.head.fields, response.head.headerFields),
            body: .init(isSame: isKnown ? old.digest == new.digest : nil, stored: old.bytes, origin: new.bytes)
        )
    }

    /// - Returns: no digest if the body broke off or is too long.
    private static func digest(_ body: BodyStream) async -> (bytes: Int64, digest: SHA256Digest?) {
        var hash = SHA256()
        var bytes: Int64 = 0
        do {
            for try await part in body {
                bytes += Int64(part.readableBytes)
                guard bytes <= ResponseComparison.bodyLimit else { return (bytes, nil) }
                hash.update(data: Array(part.readableBytesView))
            }
        } catch {
            return (bytes, nil)
        }
        return (bytes, hash.finalize())
    }

    /// Fields that differ every time, or that only concern one connection.
    private static let passing: Set<String> = [
        "age", "cache-status", "connection", "content-length", "date", "keep-alive", "transfer-encoding", "via",
        "x-request-id",
    ]

    private static func differences(_ stored: HTTPFields, _ origin: HTTPFields) -> [ResponseComparison.Field] {
        let names = Set((Array(stored) + Array(origin)).map(\.name.canonicalName)).subtracting(passing).sorted()
        let (shownStored, shownOrigin) = (redactedFields(stored), redactedFields(origin))
        return names.compactMap { text in
            guard let name = HTTPField.Name(text) else { return nil }
            let (old, new) = (stored[values: name], origin[values: name])
            guard old != new else { return nil }
            return ResponseComparison.Field(
                name: text,
                stored: old.isEmpty ? nil : shownStored[values: name].joined(separator: ", "),
                origin: new.isEmpty ? nil : shownOrigin[values: name].joined(separator: ", ")
            )
        }
    }
}
