import Crypto
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// A stored response beside the one that its origin sends now.
public struct ResponseComparison: Sendable, Hashable, Codable {
    /// Two statuses.
    public struct Statuses: Sendable, Hashable, Codable {
        /// The status of the stored response.
        public var stored: Int
        /// The status of the origin's response.
        public var origin: Int
    }

    /// A field that differs.
    public struct Field: Sendable, Hashable, Codable {
        /// In lower case.
        public var name: String
        /// The values of the stored response, joined by commas; `nil` if it does not have the
        /// field. Secrets are replaced.
        public var stored: String?
        /// The same of the origin's response.
        public var origin: String?
    }

    /// The two bodies.
    public struct Bodies: Sendable, Hashable, Codable {
        /// Whether they have the same bytes; `nil` if one of them is too long to be compared.
        public var isSame: Bool?
        /// The bytes of the stored one.
        public var stored: Int64
        /// The bytes of the origin's, as far as they were read.
        public var origin: Int64
    }

    /// The statuses.
    public var status: Statuses
    /// The fields that differ, except those that differ each time.
    public var fields: [Field]
    /// The bodies.
    public var body: Bodies

    /// The most bytes of a body that are compared.
    public static let bodyLimit: Int64 = 64 << 20

    /// Why there is no comparison.
    public enum Refusal: Error, Sendable, Hashable {
        /// No stored response has this number and this ID.
        case unknown
        /// It belongs to a principal, whose credentials are not stored.
        case ofPrincipal
        /// It was not the response to a GET.
        case otherMethod
    }
}

extension CacheEngine {
    /// Asks the origin for a stored response again, past the store, and compares.
    ///
    /// - Throws: ``ResponseComparison/Refusal``; ``ExchangeError`` if the origin may not be asked
    ///   or does not respond; the store's error.
    func compare(_ stored: StoredResponse) async throws -> ResponseComparison {
        let key = stored.key.components
        guard key.partition == .common else { throw ResponseComparison.Refusal.ofPrincipal }
        guard key.method == .get else { throw ResponseComparison.Refusal.otherMethod }
        let head = HTTPRequest(
            method: .get,
            scheme: key.target.scheme,
            authority: key.target.authority,
            path: key.target.requestTarget,
            headerFields: stored.head.selectingFields
        )
        let response = try await respond(to: CacheRequest(head: head, storage: .never))
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

    /// - Returns: no digest for a body that broke off or is too long.
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

    /// Fields that differ each time, or that concern one connection.
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
