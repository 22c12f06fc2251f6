package import HTTPTypes
internal import RawStructuredFieldValues

/// `No-Vary-Search`: the query parameters that do not affect a response.
/// draft-ietf-httpbis-no-vary-search
///
/// Two targets that differ only in such parameters, or in their order, share a stored response.
///
/// ```
/// No-Vary-Search: params=("utm_source")     all except this one matter
/// No-Vary-Search: except=("id"), key-order  only this one matters, in any order
/// ```
///
/// The boolean `params` from earlier drafts, which browsers support, also works: `params` means
/// `except=()`, and `params, except=("id")` means `except=("id")`. A field that is malformed or
/// contradicts itself has no effect, so the whole query matters.
package struct NoVarySearch: Sendable, Hashable {
    /// The parameters that matter.
    ///
    /// Names are decoded bytes: `%C3%A9+x` is `é x`.
    package enum Significance: Sendable, Hashable {
        /// All parameters except these.
        case allExcept(Set<[UInt8]>)
        /// Only these parameters.
        case only(Set<[UInt8]>)
    }
    /// The parameters that matter.
    package var significance: Significance
    /// Whether the order of parameters matters. The order of several values of one parameter always
    /// matters.
    package var keyOrderMatters: Bool

    /// The default without the field: the whole query matters, byte by byte.
    package static let `default` = NoVarySearch(significance: .allExcept([]), keyOrderMatters: true)

    /// Creates a rule.
    package init(significance: Significance, keyOrderMatters: Bool) {
        self.significance = significance
        self.keyOrderMatters = keyOrderMatters
    }

    /// Reads a response's rule. The result is ``default`` if the response has no valid rule.
    package init(_ fields: HTTPFields) {
        self = Self.parse(fields) ?? .default
    }

    /// Whether this is the default rule.
    package var isDefault: Bool { self == .default }

    private static func parse(_ fields: HTTPFields) -> NoVarySearch? {
        guard let members = StructuredLines.dictionary(.noVarySearch, in: fields) else { return nil }
        var result = NoVarySearch.default
        if let keyOrder = members["key-order"] {
            guard let value = boolean(keyOrder) else { return nil }
            result.keyOrderMatters = !value
        }
        let except = members["except"]
        if let params = members["params"] {
            if let ignoresAll = boolean(params) {
                if ignoresAll { result.significance = .only([]) }
                guard ignoresAll || except == nil else { return nil }
            } else {
                guard except == nil, let names = names(params) else { return nil }
                result.significance = .allExcept(names)
            }
        }
        if let except {
            guard let names = names(except) else { return nil }
            result.significance = .only(names)
        }
        return result
    }

    private static func boolean(_ member: ItemOrInnerList) -> Bool? {
        guard case .item(let item) = member, case .bool(let value) = item.rfc9651BareItem else { return nil }
        return value
    }

    private static func names(_ member: ItemOrInnerList) -> Set<[UInt8]>? {
        guard case .innerList(let list) = member else { return nil }
        var result: Set<[UInt8]> = []
        for item in list.bareInnerList {
            guard case .string(let text) = item.rfc9651BareItem else { return nil }
            result.insert(FormParameter.decoded(Array(text.utf8)[...]))
        }
        return result
    }
}

extension NoVarySearch {
    /// Returns the query in canonical form. Two queries are equivalent exactly if their canonical
    /// forms are equal.
    ///
    /// Parameters that do not matter are removed. The others are sorted by name if their order does
    /// not matter, and written in one spelling (`a=x+y&b=%C3%A9`). The result is `nil` if no
    /// parameters are left. The default rule returns the query unchanged.
    package func normalizedQuery(_ query: String?) -> String? {
        guard !isDefault else { return query }
        let parameters = significantParameters(query)
        guard !parameters.isEmpty else { return nil }
        var result: [UInt8] = []
        for parameter in parameters {
            if !result.isEmpty { result.append(UInt8(ascii: "&")) }
            FormParameter.encode(parameter.name, into: &result)
            result.append(UInt8(ascii: "="))
            FormParameter.encode(parameter.value, into: &result)
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns whether two queries of one path select the same response.
    package func equivalent(_ a: String?, _ b: String?) -> Bool {
        if isDefault {
            guard let a, let b else { return a == nil && b == nil }
            // Compare bytes, because Swift's string comparison treats composed and decomposed
            // letters as equal.
            return a.utf8.elementsEqual(b.utf8)
        }
        return significantParameters(a) == significantParameters(b)
    }

    /// Returns the parameters that matter, in the order of comparison.
    private func significantParameters(_ query: String?) -> [FormParameter] {
        guard let query else { return [] }
        let parameters = FormParameter.parse(query).filter { parameter in
            switch significance {
            case .allExcept(let names): !names.contains(parameter.name)
            case .only(let names): names.contains(parameter.name)
            }
        }
        guard !keyOrderMatters else { return parameters }
        // A stable sort keeps several values of one parameter in order.
        return parameters.enumerated().sorted { left, right in
            if left.element.name == right.element.name { return left.offset < right.offset }
            return left.element.name.lexicographicallyPrecedes(right.element.name)
        }.map(\.element)
    }
}

/// A decoded parameter of `application/x-www-form-urlencoded`. Its bytes are well-formed UTF-8.
struct FormParameter: Sendable, Hashable {
    var name: [UInt8]
    var value: [UInt8]

    /// Splits the query at `&` and skips empty pieces. A name without `=` has an empty value.
    static func parse(_ query: String) -> [FormParameter] {
        Array(query.utf8).split(separator: UInt8(ascii: "&")).map { piece in
            guard let equals = piece.firstIndex(of: UInt8(ascii: "=")) else {
                return FormParameter(name: decoded(piece), value: [])
            }
            return FormParameter(name: decoded(piece[..<equals]), value: decoded(piece[(equals + 1)...]))
        }
    }

    /// Decodes `+` to a space and escapes such as `%41` to their bytes. A `%` that does not begin
    /// an escape stays. Invalid UTF-8 is replaced with U+FFFD.
    static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%"), bytes.endIndex - index > 2, let high = bytes[index + 1].hexValue,
                let low = bytes[index + 2].hexValue
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                index += 1
            }
        }
        guard result.contains(where: { $0 >= 0x80 }) else { return result }
        return Array(String(decoding: result, as: UTF8.self).utf8)
    }

    /// Writes decoded bytes in their canonical spelling.
    static func encode(_ bytes: [UInt8], into result: inout [UInt8]) {
        for byte in bytes {
            if byte.isUnreserved {
                result.append(byte)
            } else if byte == 0x20 {
                result.append(UInt8(ascii: "+"))
            } else {
                result += [UInt8(ascii: "%"), (byte >> 4).hexDigit, byte.hexDigit]
            }
        }
    }
}
