import HTTPCache
package import HTTPCacheSemantics
package import NIOCore

/// The decrypted content of a value.
package enum FleetContent: Sendable {
    case response(ResponseEnvelope)
    /// A list of the response's variants, because the response has `Vary`: see
    /// ``ValueNames/variant(_:_:)``.
    case varyList(VaryList)
}

/// Seals and opens responses for a shared server that is not trusted. The server cannot read a URL,
/// tag, field or body. It cannot forge or change a response, or move one to another name.
///
/// ```
/// 32 ValueHeader   12 nonce   content   16 tag
/// ```
/// The header and the value's name are authenticated with the content.
package struct EnvelopeSealer: Sendable {
    /// The maximum length of an encoded head, in bytes.
    package static let longestHead = 256 << 10
    /// The maximum length of a cache key, in bytes.
    package static let longestKey = ScopeSelector.longest
    /// The maximum length of a sealed value, in bytes.
    package static let longest =
        ValueHeader.length + SealingKeys.overhead + 128 + longestKey + longestHead + ValueLimits.chunkLength
        + ResponseDraft.maximumTagCount * (4 + ResponseDraft.maximumTagLength)

    private let keys: SealingKeys
    private let largestBody: Int

    /// - Parameter largestBody: the maximum length of a body, in bytes. Longer bodies are neither
    ///   sealed nor opened.
    package init(keys: FleetKeys, largestBody: Int = 8 << 20) {
        self.keys = keys.sealing(\.responses)
        self.largestBody = largestBody
    }

    // MARK: Sealing

    /// Seals a response.
    ///
    /// - Parameter generator: must be cryptographically secure. Reusing a nonce reveals content.
    /// - Throws: ``FleetLogError/limit(_:)`` if a part is longer than allowed.
    package func seal(
        _ envelope: ResponseEnvelope,
        as name: ValueName,
        using generator: inout some RandomNumberGenerator
    ) throws(FleetLogError) -> ByteBuffer {
        guard envelope.body.length <= largestBody else { throw .limit("body") }
        let kind: ValueHeader.Kind
        if case .inline = envelope.body { kind = .response } else { kind = .chunkedResponse }
        let header = ValueHeader(
            kind: kind,
            keyID: keys.present.id,
            respondedAt: envelope.respondedAt,
            fencingPosition: envelope.fencingPosition
        )
        return try seal(try envelope.encoded(), header, name, using: &generator)
    }

    /// Seals a list of variants.
    ///
    /// - Parameter generator: must be cryptographically secure. Reusing a nonce reveals content.
    package func seal(
        _ list: VaryList,
        as name: ValueName,
        using generator: inout some RandomNumberGenerator
    ) throws(FleetLogError) -> ByteBuffer {
        guard list.key.bytes.count <= Self.longestKey else { throw .limit("key") }
        let header = ValueHeader(
            kind: .varyList,
            keyID: keys.present.id,
            respondedAt: list.respondedAt,
            fencingPosition: .zero
        )
        return try seal(list.encoded, header, name, using: &generator)
    }

    private func seal(
        _ content: [UInt8],
        _ header: ValueHeader,
        _ name: ValueName,
        using generator: inout some RandomNumberGenerator
    ) throws(FleetLogError) -> ByteBuffer {
        let header = header.bytes
        let authenticated = Self.authenticated(header, name)
        let box = try content.withUnsafeBytes {
            keys.seal($0, authenticating: authenticated, using: &generator)
        }
        .get()
        return ByteBuffer(header, box)
    }

    // MARK: Opening

    /// Opens a value.
    ///
    /// - Parameters:
    ///   - name: the name under which the value was found.
    ///   - key: the cache key that the name belongs to.
    package func open(
        _ value: ByteBuffer,
        as name: ValueName,
        for key: StoreKey
    ) throws(SealFault) -> FleetContent {
        guard value.readableBytes <= Self.longest, let header = ValueHeader(value) else { throw .malformed }
        let authenticated = Self.authenticated(header.bytes, name)
        let content = try value.withUnsafeReadableBytes {
            keys.open(
                UnsafeRawBufferPointer(rebasing: $0[ValueHeader.length...]),
                keyID: header.keyID,
                authenticating: authenticated
            )
        }
        .get()
        // The content was sealed with the right key. If it does not decode, it comes from a newer
        // version of this program.
        switch header.kind {
        case .response, .chunkedResponse:
            guard let envelope = ResponseEnvelope(content, header), envelope.body.length <= largestBody else {
                throw .malformed
            }
            // The name is a digest of the key, but the key is compared anyway.
            guard envelope.key == key else { throw .forged }
            return .response(envelope)
        case .varyList:
            guard let list = VaryList(content, header) else { throw .malformed }
            guard list.key == key else { throw .forged }
            return .varyList(list)
        }
    }

    private static func authenticated(_ header: [UInt8], _ name: ValueName) -> [UInt8] {
        Array("holdfast value\0\(name)\0".utf8) + header
    }
}

extension ByteBuffer {
    init(_ header: [UInt8], _ box: SealingKeys.Box) {
        self.init()
        reserveCapacity(header.count + SealingKeys.overhead + box.content.count)
        writeBytes(header)
        writeBytes(box.nonce)
        writeBytes(box.content)
        writeBytes(box.tag)
    }
}
