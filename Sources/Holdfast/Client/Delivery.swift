import HTTPCache
import HTTPTypes
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A response read and decoded: an emission, and the bytes it was made of.
struct Delivery<Value: Sendable>: Sendable {
    var emission: Emission<Value>
    var bytes: ByteBuffer
    /// The stored body behind it.
    var bodyID: Int64?
}

extension Emission {
    init(_ value: Value, of response: CacheResponse, isUnchanged: Bool = false) {
        self.init(
            value: value,
            source: response.source,
            age: .milliseconds(response.age),
            isStale: response.isStale,
            isUnchanged: isUnchanged,
            status: response.head.status,
            outcome: response.outcome
        )
    }
}

/// Reads and decodes responses.
struct ResponseReader: Sendable {
    let decoder: any ResponseDecoder
    let maximumBodyBytes: Int
    /// Whose decoder it is: what it made of a stored response is kept for it alone.
    let identity: Identity
    private static let errorBodyLimit = 1 << 20

    /// Nothing but who it is.
    final class Identity: Sendable {}

    @concurrent
    func read<Value: Decodable & Sendable>(
        _ response: CacheResponse,
        as type: Value.Type,
        target: String
    ) async throws -> Delivery<Value> {
        let status = response.head.status
        guard status.kind == .successful else {
            // Of an answer that is refused, as much is kept as a person would read.
            let body = try? await response.body.collect(upTo: min(maximumBodyBytes, Self.errorBodyLimit))
            throw HoldfastError(
                code: .status,
                message: "'\(target)' answered \(status).",
                status: status,
                body: body.map { Array($0.readableBytesView) }
            )
        }
        // Decoded once, for as long as the stored response is in memory.
        let resident = response.head.status == response.stored?.head.status ? response.stored?.content : nil
        if let resident, let body = resident.body, body.readableBytes <= maximumBodyBytes,
            let value = resident.derived.value(type, madeBy: identity)
        {
            return Delivery(emission: Emission(value, of: response), bytes: body, bodyID: response.stored?.bodyID)
        }
        let bytes = try await response.body.collect(upTo: maximumBodyBytes)
        let value = try decode(type, from: bytes, status: status, target: target)
        if let resident, resident.body == bytes {
            resident.derived.keep(
                value,
                octets: MemoryLayout<Value>.size + 2 * bytes.readableBytes,
                madeBy: identity
            )
        }
        return Delivery(emission: Emission(value, of: response), bytes: bytes, bodyID: response.stored?.bodyID)
    }

    private func decode<Value: Decodable>(
        _ type: Value.Type,
        from bytes: ByteBuffer,
        status: HTTPResponse.Status,
        target: String
    ) throws -> Value {
        if let value = NoContent() as? Value { return value }
        let data = Data(bytes.readableBytesView)
        if let value = data as? Value { return value }
        if type == String.self, let value = String(bytes: data, encoding: .utf8) as? Value { return value }
        guard !data.isEmpty else {
            throw HoldfastError(
                code: .noData,
                message: "'\(target)' answered \(status) without content; a '\(type)' was expected.",
                status: status,
                body: Array(bytes.readableBytesView)
            )
        }
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw HoldfastError(
                code: .decodingFailed,
                message: "The content of '\(target)' is no '\(type)': \(error.withoutValues)",
                status: status,
                body: Array(bytes.readableBytesView),
                cause: error
            )
        }
    }
}

extension Error {
    /// What a decoding error says about the place, without the values that stood there.
    fileprivate var withoutValues: String {
        func path(_ context: DecodingError.Context, _ last: (any CodingKey)? = nil) -> String {
            let keys = (context.codingPath + (last.map { [$0] } ?? [])).map {
                $0.intValue.map(String.init) ?? $0.stringValue
            }
            return keys.isEmpty ? "the top level" : "'\(keys.joined(separator: "."))'"
        }
        switch self as? DecodingError {
        case .keyNotFound(let key, let context): return "\(path(context, key)) is missing."
        case .valueNotFound(let type, let context): return "\(path(context)) is null where '\(type)' is required."
        case .typeMismatch(let type, let context): return "\(path(context)) is no '\(type)'."
        case .dataCorrupted(let context): return "\(path(context)) is malformed."
        case nil: return "\(Self.self)."
        @unknown default: return "\(Self.self)."
        }
    }
}
