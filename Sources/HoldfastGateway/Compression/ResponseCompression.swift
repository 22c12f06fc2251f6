import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire

/// Compresses the content of one route's responses with gzip, for clients that prefer it. RFC 9110
/// §8.4.1.3
///
/// The compressed form has other bytes than the origin's, and zlib may compress differently
/// tomorrow. So its tag is weak, and a range is never a part of it. Requests with credentials get
/// content without a coding, because the length of compressed content reveals its secrets to
/// clients that can add text to it (BREACH).
final class ResponseCompression: ContentTransform {
    /// The minimum length of compressed content: 1 KiB. Shorter content fits in one packet anyway.
    static let leastLength: Int64 = 1 << 10

    /// The maximum number of responses compressed at the same time: 256. zlib needs 268 KiB for
    /// each.
    static let maximumAtOnce = 256

    private let configuration: GatewayConfiguration
    private let permits: SharedPermits

    /// - Returns: `nil` if the route compresses nothing.
    init?(_ configuration: GatewayConfiguration, _ permits: SharedPermits, route: Int) {
        guard configuration.routes.routes[route].compresses else { return nil }
        self.configuration = configuration
        self.permits = permits
    }

    func handle(_ head: inout GatewayResponseHead, of response: TransformedResponse) -> ContentUse {
        guard response.request.method == .get || response.request.method == .head else { return .unchanged }
        switch head.response.status.code {
        case 200, 203, 404: return compress(&head, response)
        case 206: return part(&head, response)
        case 304: notModified(&head, response)
        default: break
        }
        return .unchanged
    }

    private func compress(_ head: inout GatewayResponseHead, _ response: TransformedResponse) -> ContentUse {
        guard Self.isCompressible(head.response.headerFields, length: response.length) else { return .unchanged }
        head.response.headerFields.varyByCoding()
        guard AcceptEncoding.prefersGzip(response.request.fields), !response.hasCredentials else { return .unchanged }
        var stage: GzipStage?
        if response.hasContent(head.response.status) {
            let client = response.admission.principal(response.request.fields, configuration)
            // Without a permit, the response is sent without a coding.
            stage = permits.take(for: client, of: Self.maximumAtOnce).flatMap { GzipStage($0) }
            guard stage != nil else { return .unchanged }
        }
        head.response.headerFields.describeOtherBytes()
        head.response.headerFields[.contentEncoding] = "gzip"
        return stage.map { .transformed($0) } ?? .unchanged
    }

    /// Handles a part, which is never compressed.
    private func part(_ head: inout GatewayResponseHead, _ response: TransformedResponse) -> ContentUse {
        let fields = response.stored?.head.fields ?? head.response.headerFields
        // The parts of a multipart response state the type, its head does not.
        let isUnknown = fields[.contentType]?.mediaType == "multipart/byteranges"
        guard isUnknown || Self.isCompressible(fields, length: response.completeLength(head.response)) else {
            return .unchanged
        }
        if !isUnknown { head.response.headerFields.varyByCoding() }
        // Both forms have the same date, so a date does not show that the client has the form
        // without a coding.
        return response.request.fields.hasDateInIfRange ? .partial : .unchanged
    }

    private func notModified(_ head: inout GatewayResponseHead, _ response: TransformedResponse) {
        let fields = response.stored?.head.fields ?? head.response.headerFields
        // The origin's own 304 may say nothing about the content.
        guard
            fields[.contentType] == nil
                || Self.isCompressible(fields, length: response.completeLength(head.response))
        else { return }
        head.response.headerFields.varyByCoding()
        // A client has a strong tag only for the form without a coding. Otherwise it may have the
        // compressed form, whatever it prefers now.
        guard !EntityTag.isNamed(strong: head.response.headerFields, inIfNoneMatch: response.request.fields)
        else { return }
        head.response.headerFields.describeOtherBytes()
    }

    func concerns(contentType: String) -> Bool { Self.isCompressible(mediaType: contentType.mediaType) }

    // MARK: Content

    /// Whether the content of a complete response with these fields is compressed for some clients.
    ///
    /// - Parameter length: the length of the content; `nil` if it is unknown.
    static func isCompressible(_ fields: HTTPFields, length: StatedLength?) -> Bool {
        guard let type = fields[.contentType], isCompressible(mediaType: type.mediaType),
            fields.contentCodings.isEmpty, !fields.forbidsTransforming
        else { return false }
        return length.map { !$0.isWithin(leastLength - 1) } ?? true
    }

    /// Whether content of a media type becomes shorter, and does not have to arrive event by event.
    static func isCompressible(mediaType: String) -> Bool {
        if mediaType.hasPrefix("text/") { return mediaType != "text/event-stream" }
        return types.contains(mediaType) || suffixes.contains { mediaType.hasSuffix($0) }
    }

    /// RFC 6839
    private static let suffixes = ["+json", "+xml", "+yaml"]

    private static let types: Set<String> = [
        "application/ecmascript", "application/javascript", "application/json", "application/jsonl",
        "application/vnd.ms-fontobject", "application/wasm", "application/x-javascript", "application/x-ndjson",
        "application/xml", "application/yaml", "font/otf", "font/ttf", "image/bmp", "image/vnd.microsoft.icon",
        "image/x-icon",
    ]
}

extension HTTPFields {
    /// States that a response depends on `Accept-Encoding`. RFC 9110 §12.5.5
    fileprivate mutating func varyByCoding() {
        let names = listMembers(.vary)
        guard !names.contains("*"), !names.contains("accept-encoding") else { return }
        append(HTTPField(name: .vary, value: "Accept-Encoding"))
    }

    /// Whether `If-Range` has a date rather than a tag. RFC 9110 §13.1.5
    fileprivate var hasDateInIfRange: Bool { self[values: .ifRange].contains { !$0.contains("\"") } }
}

extension TransformedResponse {
    /// The length of the complete content that a 206 or 304 is about; `nil` if it is unknown.
    fileprivate func completeLength(_ head: HTTPResponse) -> StatedLength? {
        if let stored, stored.head.status.code != 206 { return StatedLength(clamping: stored.bodyLength) }
        return ContentRange(head.headerFields)?.completeLength
    }

    /// Whether the response belongs to one principal.
    fileprivate var hasCredentials: Bool {
        CredentialPartition.hasCredentials(request.fields)
            || stored.map { $0.key.components.partition != .common } ?? false
    }
}
