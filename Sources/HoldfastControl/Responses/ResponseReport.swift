import HTTPCache
package import HTTPCacheOperations
import HTTPTypes

/// A page of stored responses, as returned by the control plane.
package struct ResponsesReport: Sendable, Hashable, Encodable {
    /// The responses, in the order of the listing.
    package var responses: [ResponseReport]
    /// The value of `after` for the next page; `nil` on the last page. A page may contain fewer
    /// responses than its limit, or none, even if more pages follow.
    package var next: Cursor?
    /// The number of entries that were examined for the page.
    package var examined: Int

    /// The position after a page, which clients send back unchanged: a number if the cursor has one
    /// value, otherwise a string.
    package struct Cursor: Sendable, Hashable, Encodable {
        let cursor: ResponseCursor

        /// Encodes the number or the string.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if cursor.values.count == 1 {
                try container.encode(cursor.values[0])
            } else {
                try container.encode("\(cursor)")
            }
        }
    }

    init(_ page: ResponsePage) {
        responses = page.responses.map(ResponseReport.init)
        next = page.next.map(Cursor.init)
        examined = page.examined
    }
}

/// A stored response, as returned by the control plane, with the same keys as `cache-dump list`. A
/// placeholder replaces the URL's query if the client must not see it. Times are RFC 3339 text.
package struct ResponseReport: Sendable, Hashable, Encodable {
    /// The response.
    package var summary: ResponseSummary

    init(_ summary: ResponseSummary) { self.summary = summary }

    private enum CodingKeys: String, CodingKey {
        case id, entry, state, method, url, partition, status, contentType, bodyLength
        case storedAt, expiresAt, lastUsedAt, usableStale, pinned, vary
    }

    /// Encodes all keys, with `null` for each missing value.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(summary.id, forKey: .id)
        try container.encode(summary.entry, forKey: .entry)
        try container.encode(summary.state, forKey: .state)
        try container.encode(summary.method?.rawValue, forKey: .method)
        try container.encode(summary.url, forKey: .url)
        try container.encode(summary.partition, forKey: .partition)
        try container.encode(summary.status?.code, forKey: .status)
        try container.encode(summary.contentType, forKey: .contentType)
        try container.encode(summary.bodyLength, forKey: .bodyLength)
        try container.encode(EndTime.text(summary.storedAt), forKey: .storedAt)
        try container.encode(summary.expiresAt.map(EndTime.text), forKey: .expiresAt)
        try container.encode(EndTime.text(summary.lastUsedAt), forKey: .lastUsedAt)
        try container.encode(summary.isUsableStale, forKey: .usableStale)
        try container.encode(summary.isPinned, forKey: .pinned)
        try container.encode(summary.selectingNames, forKey: .vary)
    }
}

/// The stored variants of a key with their fields, as returned by the control plane.
package struct VariantsReport: Sendable, Hashable, Encodable {
    /// One variant.
    package struct Variant: Sendable, Hashable, Encodable {
        /// The response.
        package var details: ResponseDetails

        private enum CodingKeys: String, CodingKey {
            case tags, fields, selectingFields
        }

        /// Encodes the keys of ``ResponseReport``, and then those of the details.
        package func encode(to encoder: any Encoder) throws {
            try ResponseReport(details.summary).encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(details.tags, forKey: .tags)
            try container.encode(details.fields.map { [$0.name.rawName, $0.value] }, forKey: .fields)
            try container.encode(details.selectingFields.map { [$0.name.rawName, $0.value] }, forKey: .selectingFields)
        }
    }

    /// The variants.
    package var variants: [Variant]

    init(_ details: [ResponseDetails]) { variants = details.map(Variant.init) }
}
