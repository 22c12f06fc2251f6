import HTTPTypes

/// Decodes a stored response for a client that does not accept its coding, while the origin cannot
/// be asked. The engine decides when that is necessary.
struct ResponseDecoding: ContentTransform {
    func handle(_ head: inout GatewayResponseHead, of response: TransformedResponse) -> ContentUse {
        head.response.headerFields.describeOtherBytes()
        head.response.headerFields[.contentEncoding] = nil
        return response.hasContent(head.response.status) ? .transformed(GunzipStage()) : .unchanged
    }

    func concerns(contentType: String) -> Bool { false }
}
