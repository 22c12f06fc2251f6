package import HTTPTypes

extension CanonicalWriter {
    mutating func write(partition: StoreKey.Partition) {
        switch partition {
        case .common:
            write(byte: 0)
        case .principal(let name):
            write(byte: 1)
            write(name)
        case .credentials(let digest):
            write(byte: 2)
            write(digest)
        case .job(let name):
            write(byte: 3)
            write(name)
        }
    }

    mutating func write(content: StoreKey.Content?) {
        guard let content else { return write(byte: 0) }
        write(byte: 1)
        write(content.type)
        write(content.coding)
        write(content.sha256)
    }
}

extension CanonicalReader {
    mutating func partition() -> StoreKey.Partition? {
        switch byte() {
        case 0: return .common
        case 1: return requiredText().map { .principal($0) }
        case 2: return required().map { .credentials(Array($0)) }
        case 3: return requiredText().map { .job($0) }
        default: return nil
        }
    }

    /// Reads the content. Returns `.some(nil)` for a key without content, `nil` for a malformed
    /// key.
    mutating func content() -> StoreKey.Content?? {
        switch byte() {
        case 0: return .some(nil)
        case 1:
            guard let type = text(), let coding = text(), let digest = required() else { return nil }
            return StoreKey.Content(type: type, coding: coding, sha256: Array(digest))
        default: return nil
        }
    }
}

extension StoreKey {
    static func decode(_ bytes: [UInt8]) -> Components? {
        var reader = CanonicalReader(bytes)
        guard reader.byte() == version, let partition = reader.partition(),
            let name = reader.requiredText(), let method = HTTPRequest.Method(name), method != .head,
            let target = reader.target(), let content = reader.content(), reader.isAtEnd
        else { return nil }
        return Components(partition: partition, method: method, target: target, content: content)
    }

    /// The parts of a key that a store needs. They are read from the bytes directly, because
    /// building the target's strings takes longer than hashing them.
    package struct Outline: Sendable, Hashable {
        /// See ``Components/method``.
        package var method: HTTPRequest.Method
        /// The target's ``TargetURI/canonicalBytes``.
        package var canonicalTarget: [UInt8]
    }

    /// The key's method and target, without validating them again.
    package var outline: Outline {
        var reader = CanonicalReader(bytes)
        guard reader.byte() != nil, reader.skipPartition(), let method = reader.required() else {
            return Outline(components)
        }
        let start = reader.position
        guard reader.skipTarget() else { return Outline(components) }
        var target: [UInt8] = []
        target.reserveCapacity(1 + reader.position - start)
        target.append(Self.version)
        target.append(contentsOf: bytes[start..<reader.position])
        // Nearly every key is for GET. Other methods are so rare that it is fine to parse them on
        // every call.
        let isGet = method.elementsEqual("GET".utf8)
        return Outline(method: isGet ? .get : components.method, canonicalTarget: target)
    }
}

extension StoreKey.Outline {
    fileprivate init(_ components: StoreKey.Components) {
        method = components.method
        canonicalTarget = components.target.canonicalBytes
    }
}

extension CanonicalReader {
    fileprivate mutating func skipPartition() -> Bool {
        guard let kind = byte() else { return false }
        return kind == 0 || required() != nil
    }

    /// Skips scheme, host, port, path and query.
    fileprivate mutating func skipTarget() -> Bool {
        required() != nil && required() != nil && byte() != nil && byte() != nil && required() != nil
            && component() != nil
    }
}
