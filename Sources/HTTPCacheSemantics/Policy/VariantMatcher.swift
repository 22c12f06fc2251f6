package import HTTPTypes

/// Matches the variants that are stored under a key with one request. RFC 9111 §4.1
///
/// It normalises each field of the request at most once, when it is first needed, however many
/// variants there are. So a request costs time in proportion to its own bytes and to the bytes
/// that are stored.
package struct VariantMatcher {
    private let policy: CachePolicy
    private let request: HTTPRequest
    private var presented: HTTPFields { request.headerFields }
    /// The request's fields as they are compared, by their names in lower case; `nil` for those
    /// that it lacks.
    private var values: [String: [UInt8]?] = [:]

    /// The number of names in `Vary` up to which lines are compared in place: beyond it, the
    /// request's fields are not searched for each name.
    private static let fewNames = 8
    /// The longest value that is normalised in case a store kept it as it came, in bytes. A longer
    /// one has the form in which ``CachePolicy/selectingFields(of:for:)`` returned it.
    private static let longestRaw = 1 << 10

    /// - Parameter request: with credentials replaced, as its response is stored.
    package init(_ policy: CachePolicy, _ request: HTTPRequest) {
        self.policy = policy
        self.request = request
    }

    /// See ``CachePolicy/matchesVariant(_:_:)``.
    package mutating func matches(_ stored: StoredResponseHead) -> Bool {
        guard policy.matchesScheme(stored, request) else { return false }
        let fields = stored.fields
        // Most responses have none; looking for it by name copies no field.
        guard fields.contains(.vary) else { return true }
        var count = 0
        let ignored = policy.overriding == nil ? nil : policy.overrides(of: fields)?.ignoredFields
        for field in fields where field.name.canonicalName.utf8.count == 4 && field.name == .vary {
            let matches = field.withUnsafeBytesOfValue { bytes in
                matchesNominated(bytes, &count, stored.selectingFields, ignoring: ignored)
            }
            if !matches { return false }
        }
        return true
    }

    /// Compares the fields that one line of `Vary` names.
    ///
    /// No real field has more names than ``FieldNameList/maximumNames``, repeated ones included.
    /// Such a field never matches, which costs one validation at most.
    private mutating func matchesNominated(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ count: inout Int,
        _ stored: HTTPFields,
        ignoring ignored: Set<String>?
    ) -> Bool {
        var scanner = ByteScanner(bytes)
        while true {
            scanner.skipSeparators()
            if scanner.isAtEnd { return true }
            let range = scanner.token()
            scanner.skipWhitespace()
            count += 1
            // The meaning of a malformed member is unknown.
            guard !range.isEmpty, (scanner.current ?? UInt8(ascii: ",")) == UInt8(ascii: ","),
                count <= FieldNameList.maximumNames,
                range.count != 1 || bytes[range.lowerBound] != UInt8(ascii: "*")
            else { return false }
            if let ignored, !ignored.isEmpty, ignored.contains(bytes.lowercased(range)) { continue }
            let name = UnsafeBufferPointer(rebasing: bytes[range])
            let areSame = count <= Self.fewNames ? SelectingField.areSameLines(name, stored, presented) : nil
            if !(areSame ?? isSame(bytes.lowercased(range), stored)) { return false }
        }
    }

    /// Whether both have the field, with values that mean the same, or neither has it.
    private mutating func isSame(_ canonicalName: String, _ stored: HTTPFields) -> Bool {
        let value = value(canonicalName)
        var length = 0
        var isSame = false
        var lines = 0
        for index in stored.indices where stored[index].name.canonicalName == canonicalName {
            lines += 1
            stored[index].withUnsafeBytesOfValue { line in
                length += line.count
                isSame = value?.withUnsafeBufferPointer { $0.equals(line) } ?? false
            }
        }
        guard lines > 0 else { return value == nil }
        guard value != nil else { return false }
        if isSame, lines == 1 { return true }
        return length <= Self.longestRaw && SelectingField.normalized(canonicalName, in: stored) == value
    }

    private mutating func value(_ canonicalName: String) -> [UInt8]? {
        if let known = values[canonicalName] { return known }
        let value = SelectingField.normalized(canonicalName, in: presented)
        values[canonicalName] = .some(value)
        return value
    }
}
