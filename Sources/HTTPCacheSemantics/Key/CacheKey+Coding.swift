internal import HTTPTypes

extension CanonicalWriter {
    mutating func write(partition: CacheKey.Partition) {
        switch partition {
        case .shared:
            write(octet: 0)
        case .principal(let name):
            write(octet: 1)
            write(name)
        case .credentials(let digest):
            write(octet: 2)
            write(digest)
        }
    }

    mutating func write(content: CacheKey.Content?) {
        guard let content else { return write(octet: 0) }
        write(octet: 1)
        write(content.type)
        write(content.coding)
        write(content.sha256)
    }
}

extension CanonicalReader {
    mutating func partition() -> CacheKey.Partition? {
        switch octet() {
        case 0: return .shared
        case 1: return requiredText().map { .principal($0) }
        case 2: return required().map { .credentials(Array($0)) }
        default: return nil
        }
    }

    /// `.some(nil)` is a key without content, `nil` a malformed one.
    mutating func content() -> CacheKey.Content?? {
        switch octet() {
        case 0: return .some(nil)
        case 1:
            guard let type = text(), let coding = text(), let digest = required() else { return nil }
            return CacheKey.Content(type: type, coding: coding, sha256: Array(digest))
        default: return nil
        }
    }
}

extension CacheKey {
    static func decode(_ bytes: [UInt8]) -> Components? {
        var reader = CanonicalReader(bytes)
        guard reader.octet() == version, let partition = reader.partition(),
            let name = reader.requiredText(), let method = HTTPRequest.Method(name), method != .head,
            let target = reader.target(), let content = reader.content(), reader.isAtEnd
        else { return nil }
        return Components(partition: partition, method: method, target: target, content: content)
    }
}
