package import HTTPTypes

/// Matches the variants stored under a key against one request. RFC 9111 §4.1
///
/// It normalizes each field of the request at most once, on first use, however many variants there
/// are. The time for a request is therefore proportional to its own bytes plus the stored bytes.
package struct VariantMatcher {
    private let policy: CachePolicy
    private let request: HTTPRequest
    /// The name of a field that is not compared, in lower case.
    private let ignoredName: String?
    private var presented: HTTPFields { request.headerFields }
    /// The request's normalized fields by lower-case name; `nil` for fields that the request lacks.
    private var values: [String: [UInt8]?] = [:]

    /// The maximum number of names in `Vary` for which lines are compared in place. For additional
    /// names, the request's fields are not searched again each time.
    private static let fewNames = 8
    /// The maximum length, in bytes, of a stored value that is normalized in case a store kept it
    /// as received. A longer value is already in the form that
    /// ``CachePolicy/selectingFields(of:for:)`` returned.
    private static let longestRaw = 1 << 10

    /// - Parameters:
    ///   - request: the request with its credentials replaced, as for storing its response.
    ///   - ignoredName: the name of a field that is not compared, in lower case.
    package init(_ policy: CachePolicy, _ request: HTTPRequest, ignoring ignoredName: String? = nil) {
        self.policy = policy
        self.request = request
        self.ignoredName = ignoredName
    }

    /// See ``CachePolicy/matchesVariant(_:_:)``.
    package mutating func matches(_ stored: StoredResponseHead) -> Bool {
        guard policy.matchesScheme(stored, request), policy.matchesListedValues(stored, request) else { return false }
        let fields = stored.fields
        // Most responses have no `Vary`, and this lookup by name copies no field.
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

    /// Compares the fields that one line of `Vary` lists.
    ///
    /// Real fields have at most ``FieldNameList/maximumNames`` names, including repeated ones. A
    /// longer field never matches, which costs at most one validation.
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
            if let ignoredName, bytes.lowercased(range) == ignoredName { continue }
            let name = UnsafeBufferPointer(rebasing: bytes[range])
            let areSame = count <= Self.fewNames ? SelectingField.areSameLines(name, stored, presented) : nil
            if !(areSame ?? isSame(bytes.lowercased(range), stored)) { return false }
        }
    }

    /// Returns whether the stored response and the request have the field with equivalent values,
    /// or both lack it.
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
