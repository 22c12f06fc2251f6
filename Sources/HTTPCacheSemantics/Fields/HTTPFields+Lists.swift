package import HTTPTypes

extension HTTPField {
    /// The members of a list of tokens, in lowercase and without empty ones. RFC 9110 §5.6.1
    package var listMembers: [String] {
        withUnsafeBytesOfValue { bytes in
            bytes.split(separator: UInt8(ascii: ","))
                .map { String(decoding: $0.trimmingWhitespace(), as: UTF8.self).lowercased() }
                .filter { !$0.isEmpty }
        }
    }
}

extension HTTPFields {
    /// Returns the members of all lines of a list field; see ``HTTPField/listMembers``.
    package func listMembers(_ name: HTTPField.Name) -> [String] {
        contains(name) ? self[fields: name].flatMap(\.listMembers) : []
    }
}
