import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

@testable import HTTPWire
@testable import HoldfastGateway
@testable import OriginConnections

/// HTTP/1 requests from a client. They give the same result however they are cut, within the
/// limits, and after they are written again.
func requests(_ input: UnsafeBufferPointer<UInt8>) {
    let bytes = Array(input)
    var limits = MessageLimits()
    let events = RequestDecoder(limits: limits).events(bytes, limits: limits)
    checkLimits(events, limits) { $0.request.method.rawValue.utf8.count + $0.request.target.utf8.count }
    limits = .narrow
    let narrow = RequestDecoder(limits: limits).events(bytes, limits: limits)
    checkLimits(narrow, limits) { $0.request.method.rawValue.utf8.count + $0.request.target.utf8.count }
    checkRefusal(narrow, events)

    let complete = checkOrder(events)
    var written = ByteBuffer()
    var expected: RequestDecoder.Events = []
    var framing = Framing.none
    for event in complete {
        switch event {
        case .head(let read):
            checkFraming(read.head.framing, read.head.request.fields)
            var head = read.head
            head.request.fields = head.request.fieldsWithHost
            head.request.authority = head.request.authority ?? RequestedHost("example.org")
            // The writer uses the origin-form, which names no scheme.
            head.request.scheme = nil
            written.writeImmutableBuffer(
                .head { [head] bytes in
                    bytes.writeRequestLine(head.request.method, head.request.target)
                    bytes.writeFields(head.request.fields)
                    bytes.writeEndOfHead()
                }
            )
            framing = head.framing
            expected.append(.head(ExactHead(head, head.request.fields)))
        default:
            written.write(event, framing)
            expected.append(event)
        }
    }
    var again = RequestDecoder(limits: .wide).events([Array(written.readableBytesView)[...]], limits: .wide)
    for (index, event) in again.enumerated() where expected.indices.contains(index) {
        guard case .head(var new) = event, case .head(let old) = expected[index],
            old.head.request.receivedProtocol == .http10
        else { continue }
        // The writer always writes HTTP/1.1, in which these mean something else.
        new.head.request.receivedProtocol = .http10
        new.head.isKeptAlive = old.head.isKeptAlive
        new.head.expectsContinue = old.head.expectsContinue
        again[index] = .head(new)
    }
    require(again == expected, "\(expected) becomes \(again)")
}

/// HTTP/1 responses from an origin, to GET and to HEAD. The claims are those of ``requests(_:)``,
/// and that a relayed response is written like a decoded one.
func responses(_ input: UnsafeBufferPointer<UInt8>) {
    let bytes = Array(input)
    checkRelayed(bytes)
    for method in [HTTPRequest.Method.get, .head] {
        var limits = MessageLimits()
        let events = ResponseDecoder(method: method, limits: limits).events(bytes, limits: limits)
        checkLimits(events, limits) { $0.response.status.reasonPhrase.unicodeScalars.count }
        limits = .narrow
        let narrow = ResponseDecoder(method: method, limits: limits).events(bytes, limits: limits)
        checkLimits(narrow, limits) { $0.response.status.reasonPhrase.unicodeScalars.count }
        checkRefusal(narrow, events)

        let complete = checkOrder(events)
        require(complete.count { $0 == .end } <= 1, "one response ends twice")
        var written = ByteBuffer()
        var framing = Framing.none
        for event in complete {
            switch event {
            case .interim(let read), .head(let read):
                if case .head = event {
                    let hasNone = method == .head || [204, 304].contains(read.head.response.status.code)
                    if hasNone {
                        require(read.head.framing == .none, "there is content where none is allowed")
                    } else {
                        checkFraming(read.head.framing, read.head.response.headerFields)
                    }
                }
                written.writeImmutableBuffer(
                    .head { bytes in
                        bytes.writeStatusLine(read.head.response.status)
                        bytes.writeFields(read.head.response.headerFields)
                        bytes.writeEndOfHead()
                    }
                )
                framing = read.head.framing
            default:
                written.write(event, framing)
            }
        }
        guard complete.last == .end else { continue }
        var again = ResponseDecoder(method: method, limits: .wide)
            .events([Array(written.readableBytesView)[...]], limits: .wide)
        for (index, event) in again.enumerated() where complete.indices.contains(index) {
            switch (event, complete[index]) {
            case (.interim(let new), .interim(let old)): again[index] = .interim(new.asWritten(for: old))
            case (.head(let new), .head(let old)): again[index] = .head(new.asWritten(for: old))
            default: break
            }
        }
        require(again == complete, "\(complete) becomes \(again)")
    }
}

// MARK: - Claims

/// A relayed response is complete, no cache may store it, and it is written like a decoded one.
private func checkRelayed(_ bytes: [UInt8]) {
    guard let relayed = RelayedMessage(ByteBuffer(bytes: bytes), limits: MessageLimits()) else { return }
    var decoder = ResponseDecoder(method: .get)
    decoder.append(ByteBuffer(bytes: bytes))
    guard case .head(var head)? = try? decoder.next(), case .length(let length) = head.framing else {
        return require(false, "a relayed response is not complete")
    }
    require(head.response == relayed.parsedHead(), "another head")
    require(head.response.status.code == relayed.status && head.isKeptAlive == relayed.isKeptAlive, "another response")
    require(length == StatedLength(clamping: relayed.contentLength), "\(length) bytes become \(relayed.contentLength)")
    let policy = CachePolicy(kind: .shared)
    let request = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/")
    let storability = policy.storability(of: head.response, to: request, hasCredentials: false)
    if case .forbidden = storability {} else { require(false, "a relayed response may be stored") }
    head.response.headerFields = policy.forwardedResponseFields(of: head.response.headerFields)
    require(head.response.headerFields.contains(.date) == relayed.hasDate, "there is another 'Date'")
    let framing = ResponseFraming(relayed.status, to: .get, minorVersion: 1, length: length, isKeptAlive: true)
    var expected = framing.bytes(
        of: GatewayResponseHead(response: head.response, facts: .relayed, via: "1.1 here", cacheStatus: "here")
    )
    expected.writeImmutableBuffer(relayed.content)
    let written = framing.bytes(
        of: relayed,
        date: nil,
        via: "1.1 here",
        cacheStatus: "here",
        content: relayed.content
    )
    require(written == expected, "\(String(buffer: expected)) becomes \(String(buffer: written))")
}

/// No head is larger than its limit, and there are no more interim responses than allowed.
private func checkLimits<Head>(
    _ events: [Decoded<ExactHead<Head>>],
    _ limits: MessageLimits,
    startLine: (Head) -> Int
) {
    var interim = 0
    for event in events {
        switch event {
        case .interim(let head), .head(let head):
            require(startLine(head.head) <= limits.startLine, "a start line is longer than the limit")
            require(head.fields.count <= limits.fieldCount, "\(head.fields.count) fields are more than the limit")
            require(head.fieldBytes <= limits.fieldBlock, "fields of \(head.fieldBytes) bytes are over the limit")
            if case .interim = event { interim += 1 }
        case .content, .end, .refused: break
        }
    }
    require(interim <= limits.interimResponses, "\(interim) interim responses are more than the limit")
}

/// Narrower limits only cause rejections.
private func checkRefusal<Head>(_ narrow: [Decoded<ExactHead<Head>>], _ events: [Decoded<ExactHead<Head>>]) {
    if case .refused(let refusal) = narrow.last, refusal.isOfLimit { return }
    require(narrow == events, "with narrow limits \(narrow), without \(events)")
}

/// Checks the order: interim heads, a head, content, an end, and so on. Returns the complete
/// messages.
private func checkOrder<Head>(_ events: [Decoded<ExactHead<Head>>]) -> [Decoded<ExactHead<Head>>] {
    var isInside = false
    var end = 0
    for (index, event) in events.enumerated() {
        switch event {
        case .interim: require(!isInside, "an interim response is inside a message")
        case .head:
            require(!isInside, "a head is inside a message")
            isInside = true
        case .content: require(isInside, "content has no head")
        case .end:
            require(isInside, "an end has no head")
            isInside = false
            end = index + 1
        case .refused: require(index == events.count - 1, "something follows a refusal")
        }
    }
    return Array(events[..<end])
}

/// At most one field delimits content, and it matches the framing.
private func checkFraming(_ framing: Framing, _ fields: HTTPFields) {
    let lengths = fields[fields: .contentLength].map { $0.value }
    let codings = fields[fields: .transferEncoding]
    require(lengths.count <= 1 && (lengths.isEmpty || codings.isEmpty), "a head has more than one framing")
    switch framing {
    case .length(let length):
        require(lengths.first.flatMap { StatedLength(digits: $0) } == length, "a length of \(lengths) is \(length)")
    case .chunked: require(!codings.isEmpty, "content is chunked without a field for it")
    case .none, .untilClose: require(lengths.isEmpty && codings.isEmpty, "a head's framing is left out")
    }
}

// MARK: - Writing

extension GatewayRequest {
    /// The fields with the authority as `Host`, in place of the former one or at the end.
    fileprivate var fieldsWithHost: HTTPFields {
        let host = HTTPField.Name(token: "Host")
        var changed = HTTPFields()
        for field in fields {
            let value = field.name == host ? authority?.description : nil
            changed.append(value.map { HTTPField(name: field.name, value: $0) } ?? field)
        }
        if !changed.contains(host) {
            changed.append(HTTPField(name: host, value: authority?.description ?? "example.org"))
        }
        return changed
    }
}

extension ByteBuffer {
    /// Writes content, or its end.
    fileprivate mutating func write<Head>(_ event: Decoded<ExactHead<Head>>, _ framing: Framing) {
        switch (event, framing) {
        case (.content(let bytes), .chunked): writeImmutableBuffer(.chunk(ByteBuffer(bytes: bytes)))
        case (.content(let bytes), _): writeBytes(bytes)
        case (.end, .chunked): writeImmutableBuffer(Self.lastChunk(nil))
        default: break
        }
    }
}

extension ExactHead<ResponseHead> {
    /// The same with the changes that writing makes: the version is 1.1, and a missing phrase
    /// becomes the registered one.
    fileprivate func asWritten(for old: Self) -> Self {
        var changed = self
        // A connection ends after HTTP/1.0, and stays open after HTTP/1.1.
        if !old.head.isKeptAlive { changed.head.isKeptAlive = false }
        if old.phrase.isEmpty {
            changed.phrase = ""
            changed.head.response.status = old.head.response.status
        }
        return changed
    }
}

// MARK: - Decoders

extension RequestDecoder: MessageDecoding {
    mutating func closeInput() {}

    mutating func decoded() throws(MessageRefusal) -> Decoded<ExactHead<RequestHead>>? {
        switch try next() {
        case .head(let head): .head(ExactHead(head, head.request.fields))
        case .content(.body(let bytes)): .content(Array(bytes.readableBytesView))
        case .content(.end): .end
        case nil: nil
        }
    }
}

extension ResponseDecoder: MessageDecoding {
    mutating func decoded() throws(MessageRefusal) -> Decoded<ExactHead<ResponseHead>>? {
        switch try next() {
        case .interim(let response):
            .interim(exact(ResponseHead(response: response, framing: .none, isKeptAlive: true)))
        case .head(let head): .head(exact(head))
        case .body(let bytes): .content(Array(bytes.readableBytesView))
        case .end: .end
        case nil: nil
        }
    }

    private func exact(_ head: ResponseHead) -> ExactHead<ResponseHead> {
        ExactHead(head, head.response.headerFields, phrase: head.response.status.reasonPhrase)
    }
}
