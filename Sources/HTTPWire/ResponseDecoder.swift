import HTTPCacheSemantics
package import HTTPTypes
package import NIOCore

/// A response's head received over HTTP/1, after validation.
package struct ResponseHead: Hashable {
    /// Status, reason phrase and fields, byte for byte.
    package var response: HTTPResponse
    /// How the content is delimited. It also depends on the request's method.
    package var framing: Framing
    /// Whether the connection can be reused. RFC 9112 §9.3
    package var isKeptAlive: Bool

    /// Whether another protocol follows, as requested.
    package var switchesProtocols: Bool { response.status.code == 101 }
}

/// Decodes one HTTP/1 response and the interim responses before it: bytes in, events out. RFC 9112
///
/// It is as strict as ``RequestDecoder``, and for the same reason: a message that two programs read
/// differently can poison a cache.
package struct ResponseDecoder {
    package enum Event: Hashable {
        /// An interim response: 1xx except 101. RFC 9110 §15.2
        case interim(HTTPResponse)
        case head(ResponseHead)
        case body(ByteBuffer)
        /// - Parameter trailers: the trailers that may be forwarded; `nil` if there are none.
        case end(trailers: HTTPFields?)
    }

    private enum State {
        case statusLine(LineCutter)
        case fields(StatusLine, FieldBlock)
        case content(ContentDecoder)
        case ended
        case refused(MessageRefusal)
    }

    private var state = State.statusLine(LineCutter())
    private var pending = ByteBuffer()
    private var restOfInterim: Int
    private var isInputClosed = false
    private let isHead: Bool
    /// Checks the response's trailer section, if it may have one.
    private var trailerRules = TrailerRules()
    /// The other protocol that the request asks for, in lowercase.
    private let upgrade: String?
    package let limits: MessageLimits

    /// - Parameters:
    ///   - method: the request's method. A response to HEAD has no content.
    ///   - upgrade: the other protocol that the request asks for, in lowercase; `nil` if it asks
    ///     for none.
    package init(method: HTTPRequest.Method, limits: MessageLimits = MessageLimits(), upgrade: String? = nil) {
        self.isHead = method == .head
        self.upgrade = upgrade
        self.limits = limits
        self.restOfInterim = limits.interimResponses
    }

    /// The number of bytes after the last event. After the end of the response, these bytes are
    /// unsolicited.
    package var undecodedCount: Int { pending.readableBytes }

    /// The bytes after the response. They belong to the other protocol if the origin has switched.
    package var undecoded: ByteBuffer { pending }

    /// Adds bytes. ``next()`` decodes them.
    package mutating func append(_ bytes: ByteBuffer) {
        pending.append(bytes)
    }

    /// Records that the origin has closed its side cleanly. If the response is incomplete,
    /// ``next()`` rejects it as truncated.
    package mutating func closeInput() {
        isInputClosed = true
    }

    /// Returns the next event; `nil` if more bytes are needed, or after the end.
    package mutating func next() throws(MessageRefusal) -> Event? {
        do throws(MessageRefusal) {
            if let event = try decode() { return event }
            if isInputClosed, !isEnded { throw MessageRefusal(.truncated) }
            return nil
        } catch {
            state = .refused(error)
            throw error
        }
    }

    private var isEnded: Bool {
        if case .ended = state { true } else { false }
    }

    private mutating func decode() throws(MessageRefusal) -> Event? {
        while true {
            switch state {
            case .statusLine(var cutter):
                let tooLong = MessageRefusal(.startLineTooLong)
                let line = try cutter.next(in: &pending, limit: limits.startLine, tooLong: tooLong)
                state = .statusLine(cutter)
                guard let line else { return nil }
                let tooLarge = MessageRefusal(.fieldsTooLarge)
                let block = FieldBlock(limit: limits.fieldBlock, count: limits.fieldCount, tooLarge: tooLarge)
                state = .fields(try StatusLine(line), block)
            case .fields(let line, var block):
                // While the block grows, only one reference to it exists, because a second one
                // would cause a copy.
                state = .ended
                let isComplete = try block.read(&pending)
                state = .fields(line, block)
                guard isComplete else { return nil }
                return try received(line, block.fields)
            case .content(var decoder):
                let event = try decoder.next(&pending, isInputClosed: isInputClosed)
                state = .content(decoder)
                switch event {
                case .body(let data): return .body(data)
                case .end(let section):
                    state = .ended
                    return .end(trailers: section.flatMap { trailerRules.passing($0) })
                case nil: return nil
                }
            case .ended:
                return nil
            case .refused(let refusal):
                throw refusal
            }
        }
    }

    private mutating func received(_ line: StatusLine, _ fields: HTTPFields) throws(MessageRefusal) -> Event {
        let response = HTTPResponse(status: line.status, headerFields: fields)
        let stated = try Framing(fields, minorVersion: line.minorVersion)
        if response.status.kind == .informational {
            if response.status.code == 101 {
                // A 101 names the protocol, which must be the requested protocol. RFC 9110 §15.2.2
                guard let upgrade, fields.listMembers(.upgrade) == [upgrade],
                    fields.listMembers(.connection).contains("upgrade")
                else { throw MessageRefusal(.switchedProtocols) }
                state = .ended
                return .head(ResponseHead(response: response, framing: .none, isKeptAlive: false))
            }
            guard restOfInterim > 0 else { throw MessageRefusal(.tooManyInterimResponses) }
            restOfInterim -= 1
            state = .statusLine(LineCutter())
            return .interim(response)
        }
        // RFC 9112 §6.3
        let framing: Framing =
            isHead || response.status.code == 204 || response.status.code == 304 ? .none : stated ?? .untilClose
        state = .content(ContentDecoder(framing, limits: limits))
        if framing == .chunked { trailerRules = TrailerRules(fields) }
        let connection = ConnectionOptions(fields)
        let isPersistent = line.minorVersion > 0 || connection.keepsAlive
        let isKeptAlive = isPersistent && !connection.closes && framing != .untilClose
        return .head(ResponseHead(response: response, framing: framing, isKeptAlive: isKeptAlive))
    }
}

/// `HTTP-version SP status-code SP [ reason-phrase ]`. RFC 9112 §4
///
/// If the phrase is missing, the second space may also be missing, because many servers omit it.
package struct StatusLine: Hashable {
    var status: HTTPResponse.Status
    var minorVersion: Int

    init(_ line: ByteBuffer) throws(MessageRefusal) {
        self = try line.withUnsafeReadableBytes { bytes throws(MessageRefusal) in try StatusLine(bytes) }
    }

    private init(_ bytes: UnsafeRawBufferPointer) throws(MessageRefusal) {
        guard bytes.count >= 12, bytes[8] == .space, bytes[9...11].allSatisfy(\.isDigit),
            bytes.count == 12 || bytes[12] == .space, bytes.dropFirst(12).allSatisfy(\.isFieldValueByte)
        else { throw MessageRefusal(.startLine) }
        self.minorVersion = try RequestLine.minorVersion(bytes.part(0..<8), status: 502)
        let code = bytes[9...11].reduce(0) { $0 * 10 + Int($1 &- 0x30) }
        guard code >= 100 else { throw MessageRefusal(.startLine) }
        self.status = HTTPResponse.Status(code: code, reasonPhrase: Self.phrase(bytes.dropFirst(13)))
    }

    private static let versionBeginning: StaticString = "HTTP/1."

    /// Whether bytes can be the beginning of a response, judged by the part of the version that has
    /// arrived.
    package static func canBegin(_ bytes: ByteBuffer) -> Bool {
        bytes.withUnsafeReadableBytes { bytes in
            // As pointers: iterators over a view and a string are retained for each byte.
            versionBeginning.withUTF8Buffer { expected in zip(bytes, expected).allSatisfy { $0 == $1 } }
        }
    }

    /// Whether a message begins with 408. A server may send it before closing an idle connection.
    /// RFC 9110 §15.5.9
    package static func isRequestTimeout(_ message: ByteBuffer) -> Bool {
        let beginning = message.readableBytesView.prefix(13)
        return beginning.starts(with: "HTTP/1.".utf8) && beginning.dropFirst(8).elementsEqual(" 408 ".utf8)
    }

    /// Returns the phrase as HTTPTypes stores it: in ISO 8859-1, with one scalar for each byte.
    private static func phrase(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
