import HTTPCache
import HTTPTypes

/// The exchanges of a recording with the same method, target and content.
struct SubjectExchanges {
    /// The lines that an exchange adds to the job's file.
    struct Growth {
        var requests = 0
        /// Their length, in bytes.
        var length = 0

        fileprivate mutating func add(_ entry: JobFile.Entry) {
            requests += 1
            length += entry.line.count
        }
    }

    /// When each variant was first requested.
    private(set) var kept = FirstRequests()
    /// The first exchange without a stored response, as long as there is none with one.
    private(set) var missing: (ordinal: UInt64, entry: JobFile.Entry)?
    /// The outline of the content. Hits have none.
    private(set) var members: JSONOutline?

    /// Takes an exchange whose response is stored.
    mutating func keep(_ request: JobRequest, _ ordinal: UInt64) -> Growth {
        var growth = Growth()
        if let outline = request.members, members == nil {
            members = outline
            // The entries that were counted without it.
            growth.length += kept.count * outline.length
        }
        if kept.take(request.fields, ordinal) {
            var request = request
            request.members = members
            growth.add(JobFile.Entry(request))
        }
        // The response was not stored at first, but then it was.
        if missing?.entry.exclusion == nil { missing = nil }
        return growth
    }

    /// Takes an exchange whose response is not stored.
    ///
    /// - Parameter always: whether a stored response does not replace the missing one.
    mutating func miss(_ request: JobRequest, _ ordinal: UInt64, _ why: String, always: Bool) -> Growth {
        var growth = Growth()
        guard always || kept.isEmpty else { return growth }
        if let missing {
            guard always, missing.entry.exclusion == nil else { return growth }
        }
        let entry = JobFile.Entry(request, why: why)
        missing = (ordinal, entry)
        growth.add(entry)
        return growth
    }
}

/// When each variant of a subject was first requested.
struct FirstRequests {
    /// Most subjects have one variant, which needs no dictionary.
    private var first: (fields: HTTPFields, ordinal: UInt64)?
    private var others: [HTTPFields: UInt64] = [:]

    var isEmpty: Bool { first == nil }
    var count: Int { (isEmpty ? 0 : 1) + others.count }

    var all: [(fields: HTTPFields, ordinal: UInt64)] {
        var all = others.map { (fields: $0.key, ordinal: $0.value) }
        if let first { all.append(first) }
        return all
    }

    /// Returns whether the variant is new.
    mutating func take(_ fields: HTTPFields, _ ordinal: UInt64) -> Bool {
        guard let known = first else {
            first = (fields, ordinal)
            return true
        }
        guard known.fields != fields else {
            first = (fields, min(ordinal, known.ordinal))
            return false
        }
        let other = others.updateValue(ordinal, forKey: fields)
        if let other, other < ordinal { others[fields] = other }
        return other == nil
    }
}
