import Crypto
import HTTPCacheSemantics

/// The members of JSON content without their values: for each value, its place and a short digest.
/// Two outlines tell which member differs first.
///
/// It is for messages. No value can be read from it: a digest has 32 bits, and depends on the job.
/// A member whose name may be that of a secret has no digest and is not compared, and neither are
/// the members in it.
package struct JSONOutline: Sendable, Hashable {
    /// A value that is no list or object, or an empty one.
    package struct Leaf: Sendable, Hashable {
        /// The place, as a JSON Pointer. RFC 6901
        package var pointer: String
        /// Eight hexadecimal digits.
        package var digest: String

        package init(pointer: String, digest: String) {
            self.pointer = pointer
            self.digest = digest
        }
    }

    /// The maximum number of values. Further values are not compared.
    package static let maximumLeaves = 512
    /// The maximum length of the outline in a job's file, in bytes.
    package static let maximumLength = 24 << 10
    /// The length of a digest.
    static let digestLength = 8
    /// The end of a leaf in ``packed``. It does not occur in UTF-8.
    private static let end: UInt8 = 0xFF

    /// The digest and the pointer of each leaf. A recording holds many outlines.
    private var packed: [UInt8] = []
    private var count = 0
    /// The length in a job's file, in bytes.
    package private(set) var length = 0
    /// Whether a limit was exceeded.
    package private(set) var isCut = false

    /// An outline without leaves.
    package init() {}

    /// - Parameters:
    ///   - content: a JSON text. RFC 8259
    ///   - ignored: the members to leave out.
    ///   - salt: the name of the job's partition.
    /// - Throws: ``JSONScanner/ScanError`` if the content is not JSON, or has a member twice.
    init(
        _ content: [UInt8],
        ignoring ignored: MemberPaths,
        salt: String
    ) throws(JSONScanner.ScanError) {
        var walk = OutlineWalk(salt: salt)
        let root = ignored.root
        try JSONScanner.read(
            content,
            maximumDepth: CanonicalJSON.maximumDepth,
            maximumCount: CanonicalJSON.maximumCount
        ) { scanner throws(JSONScanner.ScanError) in
            let part = try scanner.next()
            try walk.take(part, &scanner, at: "", root)
        }
        self = walk.outline
    }

    /// Adds a leaf, unless a limit is exceeded.
    ///
    /// - Returns: `false` if the leaf is no valid one: a pointer begins with a slash or is empty.
    @discardableResult
    package mutating func append(_ leaf: Leaf) -> Bool {
        let isPointer = leaf.pointer.isEmpty || leaf.pointer.utf8.first == UInt8(ascii: "/")
        guard isPointer, leaf.digest.utf8.count == Self.digestLength,
            leaf.digest.utf8.allSatisfy({ $0.hexValue != nil })
        else { return false }
        // As it is written: with quotes, a colon, a comma and escapes.
        let written = leaf.pointer.utf8.reduce(Self.digestLength + 6) { $0 + Self.writtenLength($1) }
        guard !isCut, count < Self.maximumLeaves, length + written <= Self.maximumLength else {
            isCut = true
            return true
        }
        count += 1
        length += written
        packed += leaf.digest.utf8
        packed += leaf.pointer.utf8
        packed.append(Self.end)
        return true
    }

    /// Says that the content has values that are not in the outline.
    package mutating func cut() { isCut = true }

    private static func writtenLength(_ byte: UInt8) -> Int {
        switch byte {
        case 0..<0x20: 6
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): 2
        default: 1
        }
    }

    /// The leaves, in the order of the content.
    package var leaves: [Leaf] {
        packed.split(separator: Self.end).map { leaf in
            Leaf(
                pointer: String(decoding: leaf.dropFirst(Self.digestLength), as: UTF8.self),
                digest: String(decoding: leaf.prefix(Self.digestLength), as: UTF8.self)
            )
        }
    }
}

/// Walks through JSON content, and adds its values to an outline.
private struct OutlineWalk {
    private(set) var outline = JSONOutline()
    private let salt: String
    /// The maximum length of a pointer, in bytes.
    private static let longestPointer = 1024

    init(salt: String) { self.salt = salt }

    /// - Parameter ignored: what to leave out of the value; `nil` for nothing.
    mutating func take(
        _ part: JSONScanner.Part,
        _ scanner: inout JSONScanner,
        at pointer: String?,
        _ ignored: MemberPaths.Node?
    ) throws(JSONScanner.ScanError) {
        let pointer = ignored?.isEnd == true ? nil : pointer
        switch part {
        case .object: try takeObject(&scanner, at: pointer, ignored)
        case .list: try takeList(&scanner, at: pointer, ignored?.item)
        case .string(let text): add("\"\(text)", at: pointer)
        case .number: add(String(decoding: scanner.numberText, as: UTF8.self), at: pointer)
        case .bool(let value): add(value ? "true" : "false", at: pointer)
        case .null: add("null", at: pointer)
        }
    }

    private mutating func takeObject(
        _ scanner: inout JSONScanner,
        at pointer: String?,
        _ ignored: MemberPaths.Node?
    ) throws(JSONScanner.ScanError) {
        var names: Set<String> = []
        try scanner.object { scanner, name throws(JSONScanner.ScanError) in
            guard names.insert(name).inserted else { throw .repeated(name) }
            let part = try scanner.next()
            try take(part, &scanner, at: Self.pointer(pointer, name), ignored?.member(name))
        }
        if names.isEmpty { add("{}", at: pointer) }
    }

    private mutating func takeList(
        _ scanner: inout JSONScanner,
        at pointer: String?,
        _ ignored: MemberPaths.Node?
    ) throws(JSONScanner.ScanError) {
        var index = 0
        try scanner.list { scanner throws(JSONScanner.ScanError) in
            let part = try scanner.next()
            try take(part, &scanner, at: pointer.map { "\($0)/\(index)" }, ignored)
            index += 1
        }
        if index == 0 { add("[]", at: pointer) }
    }

    /// Returns the place of a member; `nil` if it must not be compared.
    private static func pointer(_ parent: String?, _ name: String) -> String? {
        guard let parent, !Redaction.isSecretMember(name), parent.utf8.count + name.utf8.count <= longestPointer else {
            return nil
        }
        return parent + "/" + escaped(name)
    }

    /// RFC 6901 §3
    private static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "~"): bytes += "~0".utf8
            case UInt8(ascii: "/"): bytes += "~1".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func add(_ value: String, at pointer: String?) {
        guard let pointer, !outline.isCut else { return }
        var hash = SHA256()
        hash.update(data: Array("\(salt)\n".utf8))
        hash.update(data: Array(value.utf8))
        let digest = Array(hash.finalize().prefix(JSONOutline.digestLength / 2)).hexadecimal
        outline.append(JSONOutline.Leaf(pointer: pointer, digest: digest))
    }
}
