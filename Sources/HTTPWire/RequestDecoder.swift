import HTTPCacheSemantics
package import HTTPTypes
package import NIOCore

/// Decodes HTTP/1 requests: bytes in, events out, one request after another. RFC 9112
///
/// It decodes only on demand, so pipelined requests stay undecoded until the previous request has
/// its response. The way the bytes are split affects only where content is split. After it has
/// rejected a message, it rejects all further bytes.
package struct RequestDecoder {
    enum Event: Hashable {
        case head(RequestHead)
        case content(ContentDecoder.Event)
    }

    private enum State {
        case startLine(LineCutter, isAfterEmptyLine: Bool)
        case fields(RequestLine, FieldBlock)
        case content(ContentDecoder)
        case refused(MessageRefusal)
    }

    private var state = State.startLine(LineCutter(), isAfterEmptyLine: false)
    private var pending = ByteBuffer()
    /// The fields of the last request.
    private var known: KnownFields?
    /// Whether the last head has the same field bytes as the previous one, and reused their decoded
    /// form. If so, only the method and the target can differ.
    private(set) var isHeadRepeated = false
    /// Checks the current request's trailer section, if it may have one.
    private var trailerRules = TrailerRules()
    private let limits: MessageLimits

    package init(limits: MessageLimits = MessageLimits()) {
        self.limits = limits
    }

    /// Whether a request has begun and is not fully decoded.
    var isInsideMessage: Bool {
        if case .startLine = state { pending.readableBytes > 0 } else { true }
    }

    /// The received bytes that are not decoded yet.
    var undecoded: ByteBuffer { pending }

    /// The number of received bytes that are not decoded yet.
    var undecodedCount: Int { pending.readableBytes }

    /// The next request's head, including the empty line at its end; `nil` unless it is complete
    /// and completely undecoded.
    var wholeHead: ByteBuffer? {
        guard case .startLine(_, isAfterEmptyLine: false) = state,
            let length = pending.readableBytesView.withUnsafeBytes({ HeadEnd.length(of: $0) })
        else { return nil }
        return pending.getSlice(at: pending.readerIndex, length: length)
    }

    /// Skips a head that ``wholeHead`` returned, for a request without content.
    mutating func skipHead(_ head: ByteBuffer) {
        pending.moveReaderIndex(forwardBy: head.readableBytes)
        endMessage()
    }

    private mutating func endMessage() {
        state = .startLine(LineCutter(), isAfterEmptyLine: false)
        // An empty buffer is released, so that its owner can reuse the memory.
        if pending.readableBytes == 0 { pending = ByteBuffer() }
    }

    /// Adds bytes. ``next()`` decodes them.
    package mutating func append(_ bytes: ByteBuffer) {
        pending.append(bytes)
    }

    /// Returns the next event, or `nil` if more bytes are needed.
    mutating func next() throws(MessageRefusal) -> Event? {
        do throws(MessageRefusal) {
            return try decode()
        } catch {
            state = .refused(error)
            pending = ByteBuffer()
            throw error
        }
    }

    /// Returns the next request's head, or `nil` if more bytes are needed. The previous request
    /// must be fully decoded.
    package mutating func nextHead() throws(MessageRefusal) -> RequestHead? {
        guard case .head(let head) = try next() else { return nil }
        return head
    }

    /// Returns the next content of the request whose head was decoded last; `nil` if more bytes are
    /// needed.
    ///
    /// After the end, every call returns `end`. The bytes that follow belong to the next request.
    mutating func nextContent() throws(MessageRefusal) -> ContentDecoder.Event? {
        switch state {
        case .startLine, .fields: return .end(trailers: nil)
        case .content, .refused: break
        }
        guard case .content(let event) = try next() else { return nil }
        return event
    }

    private mutating func decode() throws(MessageRefusal) -> Event? {
        while true {
            switch state {
            case .startLine(var cutter, let isAfterEmptyLine):
                // A TLS client would wait for an answer and never end the line. No method begins
                // like this. RFC 8446 §5.1
                if pending.getInteger(at: pending.readerIndex, as: UInt8.self) == 22 { throw MessageRefusal(.tls) }
                let tooLong = MessageRefusal(.startLineTooLong, status: 414, .bytes(limits.startLine))
                let line = try cutter.next(in: &pending, limit: limits.startLine, tooLong: tooLong)
                state = .startLine(cutter, isAfterEmptyLine: isAfterEmptyLine)
                guard let line else { return nil }
                if line.readableBytes == 0 {
                    // RFC 9112 §2.2: some clients send an extra CRLF after a request.
                    guard !isAfterEmptyLine else { throw MessageRefusal(.startLine) }
                    state = .startLine(LineCutter(), isAfterEmptyLine: true)
                } else {
                    let line = try RequestLine(line)
                    isHeadRepeated = false
                    if let head = known?.head(line, in: &pending) {
                        isHeadRepeated = true
                        state = .content(ContentDecoder(.none, limits: limits))
                        return .head(head)
                    }
                    let tooLarge = MessageRefusal(.fieldsTooLarge, status: 431)
                    let block = FieldBlock(limit: limits.fieldBlock, count: limits.fieldCount, tooLarge: tooLarge)
                    state = .fields(line, block)
                }
            case .fields(let line, var block):
                // While the block grows, only one reference to it exists, because a second one
                // would cause a copy.
                state = .startLine(LineCutter(), isAfterEmptyLine: false)
                let (bytes, isWhole) = (pending, block.isEmpty)
                let isComplete = try block.read(&pending)
                state = .fields(line, block)
                guard isComplete else { return nil }
                let head = try RequestHead(line, block.fields)
                let length = bytes.readableBytes - pending.readableBytes
                known = isWhole ? KnownFields(bytes, length: length, line, head) : nil
                state = .content(ContentDecoder(head.framing, limits: limits))
                if head.framing == .chunked { trailerRules = TrailerRules(head.request.fields) }
                return .head(head)
            case .content(var decoder):
                guard let event = try decoder.next(&pending) else {
                    state = .content(decoder)
                    return nil
                }
                switch event {
                case .body: state = .content(decoder)
                case .end(nil): endMessage()
                case .end(let section?):
                    endMessage()
                    return .content(.end(trailers: trailerRules.passing(section)))
                }
                return .content(event)
            case .refused(let refusal):
                throw refusal
            }
        }
    }
}

/// `method SP request-target SP HTTP-version`. RFC 9112 §3
package struct RequestLine: Hashable {
    /// The forms of RFC 9112 §3.2. Only CONNECT uses the authority-form, which ``ConnectRequest``
    /// reads.
    package enum Target: Hashable {
        case origin(String)
        case absolute(GatewayRequest.Scheme, authority: String, pathAndQuery: String)
        case asterisk
    }

    var method: HTTPRequest.Method
    package var target: Target
    /// A later minor version of HTTP/1 is treated as HTTP/1.1.
    var receivedProtocol: GatewayRequest.ReceivedProtocol

    init(_ line: ByteBuffer) throws(MessageRefusal) {
        self = try line.withUnsafeReadableBytes { bytes throws(MessageRefusal) in try RequestLine(bytes) }
    }

    private init(_ bytes: UnsafeRawBufferPointer) throws(MessageRefusal) {
        guard let methodEnd = bytes.firstIndex(of: .space, from: 0),
            let targetEnd = bytes.firstIndex(of: .space, from: methodEnd + 1),
            bytes.firstIndex(of: .space, from: targetEnd + 1) == nil
        else { throw MessageRefusal(.startLine, bytes.starts(with: "PROXY ".utf8) ? .proxyHeader : nil) }
        guard let method = Self.method(bytes.part(0..<methodEnd)) else { throw MessageRefusal(.method) }
        let minorVersion = try Self.minorVersion(bytes.part((targetEnd + 1)..<bytes.count), status: 505)
        try self.init(
            method,
            target: bytes.part((methodEnd + 1)..<targetEnd),
            minorVersion == 0 ? .http10 : .http11
        )
    }

    /// Validates the parts of a request line in any protocol.
    ///
    /// - Parameter isExtended: whether a CONNECT names a protocol and a path. RFC 8441 §4
    package init(
        _ method: HTTPRequest.Method,
        target: UnsafeRawBufferPointer,
        _ receivedProtocol: GatewayRequest.ReceivedProtocol,
        isExtended: Bool = false
    ) throws(MessageRefusal) {
        // A gateway opens no tunnels to destinations that clients choose.
        guard method != .connect || isExtended else { throw MessageRefusal(.method, status: 501, .forwardProxy) }
        self.method = method
        self.target = try Self.target(target, method)
        self.receivedProtocol = receivedProtocol
    }

    /// Returns the method in the given bytes; `nil` if they are not a token. RFC 9110 §9.1
    package static func method(_ bytes: UnsafeRawBufferPointer) -> HTTPRequest.Method? {
        if bytes.elementsEqual("GET".utf8) { return .get }
        guard !bytes.isEmpty, bytes.allSatisfy(\.isTokenByte) else { return nil }
        return HTTPRequest.Method(String(decoding: bytes, as: UTF8.self))
    }

    /// Returns the minor version in `HTTP/1.` and a digit, as 0 or 1. Another major version is
    /// rejected with `status`, and anything else with status 400. RFC 9110 §2.5
    static func minorVersion(_ bytes: UnsafeRawBufferPointer, status: Int) throws(MessageRefusal) -> Int {
        guard bytes.count == 8, bytes.starts(with: "HTTP/".utf8), bytes[5].isDigit, bytes[6] == UInt8(ascii: "."),
            bytes[7].isDigit
        else { throw MessageRefusal(.version) }
        guard bytes[5] == UInt8(ascii: "1") else { throw MessageRefusal(.version, status: status) }
        return bytes[7] == UInt8(ascii: "0") ? 0 : 1
    }

    private static func target(
        _ bytes: UnsafeRawBufferPointer,
        _ method: HTTPRequest.Method
    ) throws(MessageRefusal) -> Target {
        // A fragment is not allowed (RFC 9112 §3.2.1), and no client sends one. Bytes outside ASCII
        // are read differently by different programs.
        guard !bytes.isEmpty, bytes.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: "#") }) else {
            let isASCII = bytes.allSatisfy { $0 < 0x80 }
            let hasFragment = bytes.contains(UInt8(ascii: "#"))
            throw MessageRefusal(.target, !isASCII ? .targetOutsideASCII : hasFragment ? .fragment : nil)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        if bytes.first == UInt8(ascii: "/") { return .origin(text) }
        if text == "*" {
            guard method == .options else { throw MessageRefusal(.target) }
            return .asterisk
        }
        let name = bytes.prefix { $0 != UInt8(ascii: ":") }
        guard let scheme = GatewayRequest.Scheme(rawValue: String(decoding: name, as: UTF8.self).lowercased()),
            bytes.dropFirst(name.count).starts(with: "://".utf8)
        else { throw MessageRefusal(.target) }
        let rest = bytes.dropFirst(name.count + 3)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let tail = String(decoding: rest.dropFirst(authority.count), as: UTF8.self)
        // RFC 9112 §3.2.4: OPTIONS with an absolute-form and no path means the server itself.
        let isForServer = tail.isEmpty && method == .options
        return .absolute(
            scheme,
            authority: String(decoding: authority, as: UTF8.self),
            pathAndQuery: isForServer ? "*" : tail.hasPrefix("/") ? tail : "/" + tail
        )
    }
}

extension ByteBuffer {
    /// Appends bytes, without a copy if the buffer is empty.
    package mutating func append(_ bytes: ByteBuffer) {
        if readableBytes == 0 {
            self = bytes
        } else {
            discardReadBytes()
            writeImmutableBuffer(bytes)
        }
    }
}
