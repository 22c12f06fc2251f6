import HTTPTypes
import HTTPWire

extension GatewayRequest {
    /// Whether the method is PURGE.
    var isPurge: Bool { method.isPurge }
}

extension HTTPRequest.Method {
    /// Whether the method is PURGE, ignoring case, because an origin may ignore case.
    var isPurge: Bool { rawValue.utf8.count == 5 && rawValue.uppercased() == "PURGE" }
}

extension ClientPurge {
    /// Reads the fields in which other caches' clients state what to purge. `Surrogate-Key`, `xkey`
    /// and `xkey-softpurge` name tags to purge instead of the request's target. `Fastly-Soft-Purge:
    /// 0` also removes offline copies.
    ///
    /// - Throws: `GatewayService.Rejection` if a field is invalid.
    init(_ fields: HTTPFields) throws {
        // Keys in 'Surrogate-Key' may contain a comma. 'xkey' is split at white space and commas.
        for (name, separators) in [("surrogate-key", " \t"), ("xkey", " \t,"), ("xkey-softpurge", " \t,")] {
            let values = Self.values(name, of: fields)
            let found = values.flatMap { $0.split(whereSeparator: { separators.contains($0) }) }.map(String.init)
            guard values.isEmpty || !found.isEmpty else {
                throw GatewayService.Rejection(problem: .withoutTags(name))
            }
            tags += found
        }
        let soft = Self.values("fastly-soft-purge", of: fields)
        switch (soft.first, soft.count) {
        case (nil, _), ("1", 1): removes = false
        case ("0", 1):
            guard Self.values("xkey-softpurge", of: fields).isEmpty else {
                throw GatewayService.Rejection(problem: .contradictingSoftPurge)
            }
            removes = true
        default: throw GatewayService.Rejection(problem: .softPurgeValue)
        }
    }

    private static func values(_ name: String, of fields: HTTPFields) -> [String] {
        HTTPField.Name(name).map { fields[values: $0] } ?? []
    }
}

extension Problem {
    fileprivate static func withoutTags(_ field: String) -> Problem {
        invalidPurge("'\(field)' contains no tag. Name at least one, or omit the field to purge the URL.")
    }

    fileprivate static let contradictingSoftPurge = invalidPurge(
        "'xkey-softpurge' keeps offline copies, and 'Fastly-Soft-Purge: 0' removes them. Send only one of the two."
    )

    fileprivate static let softPurgeValue = invalidPurge(
        "'Fastly-Soft-Purge' must appear once, as '1' (the default) or '0'. '0' also removes offline copies."
    )

    static func invalidPurge(_ detail: String) -> Problem {
        Problem(.invalidPurge, title: "The purge is not valid", status: 400, detail: detail)
    }
}
