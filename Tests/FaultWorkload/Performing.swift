import HTTPCache
package import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore
package import OfflineStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An error for a store that did what it must never do.
package struct Wrong: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A clock that stands still, so that nothing expires by itself.
package struct FixedClock: WallClock {
    private let instant: Timestamp

    package init(_ milliseconds: Int64 = 1_700_000_000_000) { instant = Timestamp(milliseconds: milliseconds) }

    package func now() -> Timestamp { instant }
}

/// The type that objects are stored as.
private struct Letters: Codable, Sendable {
    var name: String
    var text: String
}

extension HTTPField.Name {
    private static func name(_ text: String) -> Self {
        guard let name = Self(text) else { preconditionFailure("'\(text)' is no field name") }
        return name
    }
    fileprivate static let contentName = name("x-content")
    fileprivate static let tagNumbers = name("x-tags")
    fileprivate static let freshened = name("x-freshened")
}

extension CacheManager {
    /// Opens a store for tests, with few readers and a standing clock. It logs only with `VERBOSE`
    /// in the environment.
    package static func openForFaults(
        _ folder: String,
        budget: Int64 = 256 << 20,
        isErasing: Bool = false
    ) async throws -> CacheManager {
        var configuration = Configuration(budget: budget)
        configuration.readerCount = 2
        configuration.securelyDeletes = isErasing
        return try await open(
            at: folder,
            configuration: configuration,
            clock: FixedClock(),
            logger: isVerbose
                ? Logger(label: "faults", factory: { StreamLogHandler.standardError(label: $0) })
                : Logger(label: "faults") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Performs one operation.
    ///
    /// - Returns: for a read, the version it found.
    /// - Throws: the store's error, or ``Wrong`` if it read bytes that were never stored like this.
    @discardableResult
    package func perform(_ operation: Operation) async throws -> Version? {
        let now = FixedClock().now()
        switch operation {
        case .setObject(let place, let content):
            try await setObject(Letters(name: content.name, text: content.text), forKey: place.objectKey)
        case .removeObject(let place): _ = try await removeObject(forKey: place.objectKey)
        case .setResponse(let place, let content, let tags):
            let fields = Self.fields(content, tags)
            let response = RawResponse(status: .ok, fields: fields, body: content.bytes)
            try await setResponse(response, for: place.cacheKey, expiry: .never, tags: Self.names(tags, place.lane))
        case .fill(let place, let content, let tags, let piece):
            try await write(content, tags, to: place, piece: piece, share: 1)
        case .abandon(let place, let content): try await write(content, [], to: place, piece: 16_384, share: 2)
        case .freshen(let place, let number): try await freshen(place, number)
        case .invalidateKey(let place, let isKept):
            _ = try await responses.invalidate(.key(place.cacheKey), keepingForOffline: isKept, at: now)
        case .invalidateTarget(let place, let isKept):
            _ = try await responses.invalidate(.target(place.target), keepingForOffline: isKept, at: now)
        case .invalidateTag(let lane, let tag, let isKept):
            let name = Self.name(tag, lane)
            _ = try await responses.invalidate(.tag(name), keepingForOffline: isKept, at: now)
        case .invalidateAll(let isKept): _ = try await responses.invalidate(.all, keepingForOffline: isKept, at: now)
        case .removeAll: try await removeAll()
        case .read(let place): return try await version(at: place)
        case .settle: try await settle()
        }
        return nil
    }

    /// Returns the version at a place, with every byte compared.
    package func version(at place: Place) async throws -> Version? {
        switch place.kind {
        case .object:
            guard let stored = try await storedObject(Letters.self, forKey: place.objectKey) else { return nil }
            guard let content = Content(name: stored.value.name), content.text == stored.value.text else {
                throw Wrong("\(place) holds other letters than were stored under '\(stored.value.name)'")
            }
            return Version(content: content, isMarked: stored.isExpired)
        case .response:
            guard let stored = try await storedResponse(for: place.cacheKey) else { return nil }
            let fields = stored.response.fields
            guard let content = Content(name: fields[.contentName] ?? ""), content.bytes == stored.response.body else {
                throw Wrong("\(place) holds other bytes than were stored under '\(fields[.contentName] ?? "")'")
            }
            return Version(
                content: content,
                isMarked: stored.isInvalidated,
                freshened: Int(fields[.freshened] ?? "0") ?? -1
            )
        }
    }

    private static let isVerbose = getenv("VERBOSE") != nil

    private func write(_ content: Content, _ tags: Set<Int>, to place: Place, piece: Int, share: Int) async throws {
        let draft = Self.draft(try place.cacheKey, Self.fields(content, tags), Self.names(tags, place.lane))
        guard let writer = try await responses.beginWrite(draft, fencingNumber: responses.invalidationSequence) else {
            throw StoreError(code: .busy, message: "Nothing is stored just now.")
        }
        var bytes = content.bytes
        var rest = content.length / share
        while rest > 0, let slice = bytes.readSlice(length: min(piece, rest)) {
            rest -= slice.readableBytes
            try await writer.append(slice)
        }
        if share > 1 { return await writer.abandon() }
        guard try await writer.finish() != nil else {
            throw StoreError(code: .busy, message: "An invalidation came between.")
        }
    }

    private func freshen(_ place: Place, _ number: Int) async throws {
        guard let response = try await responses.lookup(place.cacheKey).first else { return }
        var fields = response.head.fields
        fields[.freshened] = "\(number)"
        let tags = Set((fields[.tagNumbers] ?? "").split(separator: " ").compactMap { Int($0) })
        let draft = Self.draft(response.key, fields, Self.names(tags, place.lane))
        guard try await responses.freshen(response, with: draft, fencingNumber: responses.invalidationSequence) != nil
        else {
            throw StoreError(code: .busy, message: "The response to freshen is gone.")
        }
    }

    private static func draft(_ key: StoreKey, _ fields: HTTPFields, _ tags: [String]) -> ResponseDraft {
        let now = FixedClock().now()
        return ResponseDraft(
            key: key,
            head: StoredResponseHead(status: .ok, fields: fields, requestTime: now, responseTime: now),
            freshUntil: .distantFuture,
            isUsableStale: true,
            storedAt: now,
            tags: tags
        )
    }

    private static func fields(_ content: Content, _ tags: Set<Int>) -> HTTPFields {
        [.contentName: content.name, .tagNumbers: tags.sorted().map { "\($0)" }.joined(separator: " ")]
    }

    private static func name(_ tag: Int, _ lane: Int) -> String { "\(lane)-\(tag)" }
    private static func names(_ tags: Set<Int>, _ lane: Int) -> [String] { tags.sorted().map { name($0, lane) } }
}
