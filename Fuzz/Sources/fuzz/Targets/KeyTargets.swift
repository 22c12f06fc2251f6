import HTTPTypes

@testable import HTTPCacheSemantics

/// An absolute URI.
func targetURI(_ bytes: UnsafeBufferPointer<UInt8>) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let target = try? TargetURI(text) else { return }
    requireSound(target)
    guard let again = try? TargetURI(target.uri) else { return require(false, "'\(target.uri)' cannot be parsed") }
    require(again == target && again.uri == target.uri, "a URI changes when it is parsed again")
    _ = target.redacted
}

/// A base URI, a line with a reference, and a line with a query.
func reference(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    guard let base = try? TargetURI(input.text()) else { return }
    let reference = input.line()
    let query = input.text()
    if let target = TargetURI(reference: reference, relativeTo: base) {
        requireSound(target)
        // An empty reference keeps the base's dot segments (RFC 3986 §5.2.2), so only a target that
        // was resolved twice stays as it is.
        guard let again = TargetURI(reference: target.uri.utf8, relativeTo: base) else {
            return require(false, "a resolved reference cannot be resolved")
        }
        require(again.hasSameOrigin(as: target) && again.query == target.query, "resolving again moves the target")
        require(TargetURI(reference: again.uri.utf8, relativeTo: base) == again, "resolving never ends")
    }
    let response = HTTPResponse(
        status: .seeOther,
        headerFields: HTTPFields([
            HTTPField(name: .location, value: reference), HTTPField(name: .contentLocation, value: Array(query.utf8)),
        ])
    )
    let post = HTTPRequest(method: .post, url: base)
    let targets = CachePolicy(kind: .shared).invalidatedTargets(by: response, to: post, target: base)
    require(targets.first == base && Set(targets).count == targets.count, "a target is missing or repeated")
    require(targets.allSatisfy { $0.hasSameOrigin(as: base) }, "another origin is invalidated")
    targets.forEach(requireSound)
}

extension HTTPRequest {
    fileprivate init(method: Method, url target: TargetURI) {
        self.init(
            method: method,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget
        )
    }
}

/// Claims about every target: it can be sent, it survives a round trip through a request, and its
/// key contains it.
private func requireSound(_ target: TargetURI) {
    require(target.requestTarget.utf8.allSatisfy { $0.isVisible && $0 != UInt8(ascii: "#") }, "it cannot be sent")
    require(target.path.utf8.first == UInt8(ascii: "/") && !target.path.utf8.contains(UInt8(ascii: "?")), "no path")
    require(target.uri.utf8.count <= TargetURI.maximumLength, "it is too long")
    require(TargetURI(request: HTTPRequest(method: .get, url: target)) == target, "a request names another target")
    let key = StoreKey(target: target)
    require(key.components.target == target, "the key names another target")
    require(StoreKey(bytes: key.bytes) == key, "the key cannot be read back")
    var reader = CanonicalReader(target.canonicalBytes)
    require(reader.byte() == StoreKey.version && reader.target() == target && reader.isAtEnd, "not canonical")
}

/// The bytes of a key: the decoder rejects non-canonical keys, and canonical ones encode to the
/// same bytes.
func cacheKey(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let key = StoreKey(bytes: Array(bytes)) else { return }
    let parts = key.components
    let again = StoreKey(
        partition: parts.partition,
        method: parts.method,
        target: parts.target,
        content: parts.content
    )
    require(again.bytes == key.bytes, "a second spelling of a key")
    for partition in [StoreKey.Partition.common, .principal("p"), .credentials([1, 2])] {
        let moved = key.inPartition(partition)
        var expected = parts
        expected.partition = partition
        require(moved.components == expected, "another partition changes other parts")
        require(moved.inPartition(parts.partition) == key, "the former partition gives another key")
    }
    requireSound(parts.target)
}

/// Text for people: it never shows the value of a secret.
func redaction(_ bytes: UnsafeBufferPointer<UInt8>) {
    let text = String(decoding: bytes, as: UTF8.self)
    _ = Redaction.query(text)
    for limit in [0, 1, 20, 200] { _ = Redaction.uriText(text, limit: limit) }
    var input = FuzzInput(bytes)
    let fields = input.fields()
    let redacted = Redaction.fields(fields)
    require(redacted.count == fields.count, "a field is lost")
    require(redacted.bytes(of: .authorization).allSatisfy { $0 == Array("REDACTED".utf8) }, "a secret is shown")
    let secret = "s3cr3tv4lu3"
    guard !text.contains("s3cr3t") else { return }
    let shown = Redaction.query(text.replacing("#", with: "") + "&access_token=" + secret)
    require(!shown.contains(secret), "a secret is shown")
}
