/// Judges whether a response is consistent, and belongs to its request.
extension Oracle {
    /// Whether it is about the resource, and for the principal, of the request.
    func judgeIdentity(_ response: ReceivedResponse, _ request: ClientRequest) -> Finding? {
        guard response["x-soak-target"] == request.resource.target else {
            return Finding(
                rule: .otherResource,
                expected: request.resource.target,
                got: response["x-soak-target"] ?? "none"
            )
        }
        // A response that passes belongs to this request alone.
        if request.resource.isUnique || request.isUnsafe, response["x-soak-number"] != request.number {
            return Finding(
                rule: .otherResource,
                expected: "the response to request \(request.number)",
                got: "that to \(response["x-soak-number"] ?? "none")"
            )
        }
        guard response["x-soak-selector"] == request.selector else {
            return Finding(
                rule: .otherPrincipal,
                expected: "the response for '\(request.selector)'",
                got: "that for '\(response["x-soak-selector"] ?? "none")'"
            )
        }
        return nil
    }

    /// Each interim response reaches the client that the origin wrote it for, and no other.
    func judgeInterim(_ response: ReceivedResponse, _ exchange: ObservedExchange) -> Finding? {
        let request = exchange.request
        let numbers = response.interim.compactMap { interim in
            interim.fields.last { $0.name == "x-soak-number" }?.value
        }
        if request.resource.isUnique, let other = numbers.first(where: { $0 != request.number }) {
            return Finding(rule: .interim, expected: "interim responses to \(request.number)", got: "that to \(other)")
        }
        guard request.resource.kind == .early, !request.isHTTP10 else { return nil }
        // The gateway may repeat a request to an origin that died.
        guard numbers.isEmpty || numbers.count > 1 && !isTroubled(.origin, from: exchange.sentAt, to: exchange.endedAt)
        else { return nil }
        return Finding(rule: .interim, expected: "one 103 before the response", got: "\(numbers.count)")
    }

    /// Status and entity tag belong to the version.
    func judgeMessage(
        _ response: ReceivedResponse,
        _ request: ClientRequest,
        _ current: Representation
    ) -> Finding? {
        if !request.isUnsafe {
            switch response.status {
            case current.status: break
            case 206 where request["range"] != nil && current.status == 200: break
            case 416 where request["range"] != nil: break
            case 304 where request["if-none-match"] != nil || request["if-modified-since"] != nil: break
            default:
                return Finding(
                    rule: .status,
                    expected: "\(current.status), as version \(current.version) has",
                    got: "\(response.status)"
                )
            }
        } else if !(200..<300).contains(response.status) {
            return Finding(rule: .status, expected: "2xx", got: "\(response.status)")
        }
        if let tag = response["etag"], !request.isUnsafe, tag != current.entityTag {
            return Finding(rule: .tag, expected: current.entityTag, got: tag)
        }
        if response.status == 304, let asked = request["if-none-match"], asked != current.entityTag {
            return Finding(rule: .tag, expected: "a 304 for \(asked) alone", got: "one for \(current.entityTag)")
        }
        return nil
    }

    /// Every byte is the version's.
    func judgeContent(
        _ response: ReceivedResponse,
        _ request: ClientRequest,
        _ current: Representation
    ) -> Finding? {
        guard request.method != "HEAD", response.status != 304 else {
            return response.content.isEmpty
                ? nil : Finding(rule: .content, expected: "no content", got: "\(response.content.count) bytes")
        }
        guard !request.isUnsafe, response.status != 416 else { return nil }
        var range = 0..<current.count
        if response.status == 206 {
            guard let stated = ContentRange(response["content-range"] ?? ""), stated.length == current.count,
                stated.last < current.count
            else {
                return Finding(
                    rule: .content,
                    expected: "a range of \(current.count) bytes",
                    got: response["content-range"] ?? "none"
                )
            }
            range = stated.first..<(stated.last + 1)
        } else if request.resource.kind == .lie && request.resource.name == "short" {
            // Its length is wrong, but the bytes are the beginning of the content.
            range = 0..<min(current.count, response.content.count)
        }
        let expected = current.bytes(range)
        guard !expected.isSame(as: response.content) else { return nil }
        return Finding(
            rule: .content,
            expected: "\(expected.count) bytes of version \(current.version): \(Self.start(expected))",
            got: "\(response.content.count) bytes, other from \(expected.firstDifference(from: response.content)) on: "
                + Self.start(response.content)
        )
    }

    /// The origin took the content that was sent, to the byte.
    ///
    /// The content of a GET has no meaning, and need not be forwarded. RFC 9110 §9.3.1
    func judgeUpload(_ response: ReceivedResponse, _ request: ClientRequest) -> Finding? {
        guard let got = response["x-soak-took"], request.isUnsafe else { return nil }
        let content = request.content ?? []
        let expected = "\(content.count) \(content.digest)"
        return got == expected ? nil : Finding(rule: .uploaded, expected: expected, got: got)
    }

    private static func start(_ bytes: [UInt8]) -> String {
        let line = bytes.prefix(120).split(separator: 10, maxSplits: 1).first ?? []
        return "'\(String(decoding: line, as: UTF8.self))'"
    }
}

/// `bytes 0-99/1234`. RFC 9110 §14.4
struct ContentRange: Hashable, Sendable {
    var first: Int
    var last: Int
    var length: Int

    init?(_ value: String) {
        let words = value.split(separator: " ")
        guard words.count == 2, words[0] == "bytes" else { return nil }
        let numbers = words[1].split { $0 == "-" || $0 == "/" }.map { Int($0) }
        guard numbers.count == 3, let first = numbers[0], let last = numbers[1], let length = numbers[2], first <= last
        else { return nil }
        self.first = first
        self.last = last
        self.length = length
    }
}
