public import HTTPCacheSemantics
public import HTTPTypes

/// The request of a stored response, made from its key and its selecting fields.
public struct RefreshTarget: Sendable, Hashable {
    /// A GET with the fields that `Vary` selects by, and no others.
    public var request: HTTPRequest

    /// Makes the request again, if it can be made.
    ///
    /// - Returns: `nil` if it was not a GET, belongs to one principal, had content, or if `Vary`
    ///   names a field whose value the store does not keep.
    public init?(key: CacheKey, selectingFields: HTTPFields) {
        let parts = key.components
        guard case .common = parts.partition, parts.method == .get, parts.content == nil,
            !selectingFields.contains(where: Self.isWithheld)
        else { return nil }
        request = HTTPRequest(
            method: .get,
            scheme: parts.target.scheme,
            authority: parts.target.authority,
            path: parts.target.requestTarget,
            headerFields: selectingFields
        )
    }

    /// Credentials and the field that names a principal are kept as an HMAC: 64 hexadecimal digits.
    private static func isWithheld(_ field: HTTPField) -> Bool {
        if CredentialPartition.isCredential(field) { return true }
        // The statements of a chain of proxies are kept for comparison only.
        if field.name == .clientScheme, field.value.contains(ClientScheme.separator) { return true }
        return field.value.utf8.count == 64
            && field.value.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// A place in the responses of some scopes.
public struct RefreshCursor: Sendable, Hashable {
    /// The number of the index that is read.
    public var part: Int
    /// The last entry that was looked at.
    public var entry: Int64

    /// A place; the beginning by default.
    public init(part: Int = 0, entry: Int64 = .min) {
        self.part = part
        self.entry = entry
    }
}

/// Some of the invalidated responses of some scopes.
public struct RefreshPage: Sendable, Hashable {
    /// Their requests.
    public var targets: [RefreshTarget]
    /// Those whose request cannot be made again.
    public var skipped: Int
    /// Where to continue; `nil` at the end.
    public var next: RefreshCursor?

    /// A page.
    public init(_ targets: [RefreshTarget], skipped: Int = 0, next: RefreshCursor?) {
        self.targets = targets
        self.skipped = skipped
        self.next = next
    }
}
