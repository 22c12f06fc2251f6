import HTTPCacheSemantics
package import HTTPTypes
import HTTPWire

/// Rewrites response fields that contain URLs, paths or hosts of an origin.
///
/// A URL that is not below any route's origin stays unchanged byte for byte, and so does any field
/// that cannot be parsed.
package struct FieldRewriter {
    var client: RewriteClient
    private var hasFoundPath = false

    package init(for client: RewriteClient) { self.client = client }

    /// Whether any field contained something that belongs to an origin. If so, another client with
    /// the same request may get different fields, for example if it uses TLS.
    package var hasFound: Bool { hasFoundPath || client.hasMetServer }

    package mutating func rewrite(_ fields: inout HTTPFields) {
        var isDropping = false
        for index in fields.indices where ReferenceFields.contains(fields[index].name.canonicalName) {
            let value = fields[index].withUnsafeBytesOfValue { Array($0) }
            guard let rewritten = rewrite(value, of: fields[index].name.canonicalName), rewritten != value else {
                continue
            }
            fields[index] = HTTPField(name: fields[index].name, value: rewritten)
            isDropping = isDropping || rewritten.isEmpty
        }
        if isDropping { fields.removeAll { $0.name == .setCookie && $0.value.isEmpty } }
    }

    /// Returns the rewritten value; `nil` if the value stays unchanged.
    private mutating func rewrite(_ value: [UInt8], of name: String) -> [UInt8]? {
        switch name {
        case "link": links(value)
        case "refresh": refresh(value)
        case "set-cookie": cookie(value)
        case "www-authenticate": challenges(value)
        default: reference(value)
        }
    }

    // MARK: One reference

    /// Returns a reference for the client; `nil` if the reference stays unchanged.
    mutating func reference(_ value: [UInt8]) -> [UInt8]? {
        let isPath = value.starts(with: "/".utf8) && !value.starts(with: "//".utf8)
        return isPath ? path(value) : url(value)
    }

    private mutating func url(_ value: [UInt8]) -> [UInt8]? {
        let match = value.withUnsafeBytes { bytes in
            // This never throws, because the complete value is available.
            try? client.match(
                URLReader(bytes: bytes, index: 0, isLast: true, surroundings: .nothing),
                behind: TextBefore()
            )
        }
        guard let match, !Self.leaves(value[match.length...]) else { return nil }
        return match.replacement + value[match.length...]
    }

    /// Rewrites a path on the server of the request's origin.
    private mutating func path(_ value: [UInt8]) -> [UInt8]? {
        let route = client.route
        guard !route.keepsTargets else { return nil }
        hasFoundPath = true
        if let rest = Self.rest(of: value, behind: route.originPrefix.text) {
            guard !Self.leaves(rest), client.leads(before: Self.path(of: rest)) else { return nil }
            return Self.absolutePath(Array(route.prefix.text.utf8) + rest)
        }
        // The path may be below another route's origin.
        let origin = Array("\(route.origin.scheme)://\(route.origin.authority)".utf8)
        guard !route.preservesHost, let url = url(origin + value) else { return nil }
        let own = Array("\(client.scheme)://\(client.authority ?? "")/".utf8)
        return url.starts(with: own) ? Self.absolutePath(Array(url.dropFirst(own.count - 1))) : url
    }

    /// Returns a reference to a path that cannot be read as a reference to another host. `//a` is a
    /// host, and browsers also read `/\a`, and `/`, a tab, `/a` as hosts.
    private static func absolutePath(_ path: [UInt8]) -> [UInt8] {
        let rest = path.first == UInt8(ascii: "/") ? path.dropFirst() : path[...]
        guard let first = rest.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "\\") || first <= 0x20 else {
            return [UInt8(ascii: "/")] + rest
        }
        return Array("/./".utf8) + rest
    }

    /// Returns the part of a path after a prefix that ends at a segment boundary.
    private static func rest(of path: some Collection<UInt8>, behind prefix: String) -> [UInt8]? {
        guard path.starts(with: prefix.utf8) else { return nil }
        let rest = Array(path.dropFirst(prefix.utf8.count))
        return rest.isEmpty || "/?#".utf8.contains(rest[0]) ? rest : nil
    }

    /// Returns a reference without its query and fragment.
    private static func path(of reference: [UInt8]) -> [UInt8] { Array(reference.prefix { !"?#".utf8.contains($0) }) }

    /// Whether a dot segment may escape the path before it.
    private static func leaves(_ rest: some Collection<UInt8>) -> Bool {
        PathNormalForm.hasDotSegment(String(decoding: rest.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self))
    }

    // MARK: Fields with more than a reference

    /// Rewrites the targets of `Link`. RFC 8288 §3
    private mutating func links(_ value: [UInt8]) -> [UInt8]? {
        var result: [UInt8] = []
        var quotes = QuoteScanner()
        var index = 0
        // A '<' after the last '>' is ignored. Otherwise each '<' could search to the end of the
        // field.
        let last = value.lastIndex(of: UInt8(ascii: ">")) ?? 0
        while index < value.count {
            let byte = value[index]
            result.append(byte)
            index += 1
            guard !quotes.isInside(byte), byte == UInt8(ascii: "<"), index <= last,
                let end = value[index...].firstIndex(of: UInt8(ascii: ">"))
            else { continue }
            let target = Array(value[index..<end])
            result += reference(target) ?? target
            index = end
        }
        return result
    }

    /// Rewrites `Refresh: 5; url=…`, as browsers read it: the HTML Standard, "shared declarative
    /// refresh steps".
    private mutating func refresh(_ value: [UInt8]) -> [UInt8]? {
        var start = 0
        func skip(_ isSkipped: (UInt8) -> Bool) { while start < value.count, isSkipped(value[start]) { start += 1 } }
        skip(\.isWhitespace)
        let digits = start
        skip { $0.isDigit || $0 == UInt8(ascii: ".") }
        guard start > digits, start < value.count, value[start].isWhitespace || ";,".utf8.contains(value[start])
        else { return nil }
        skip(\.isWhitespace)
        if start < value.count, ";,".utf8.contains(value[start]) { start += 1 }
        skip(\.isWhitespace)
        // 'url=' may be missing; then the URL begins here.
        let place = start
        if value[start...].prefix(3).map({ $0 | 0x20 }).elementsEqual("url".utf8) {
            start += 3
            skip(\.isWhitespace)
            if start < value.count, value[start] == UInt8(ascii: "=") {
                start += 1
                skip(\.isWhitespace)
            } else {
                start = place
            }
        }
        var end = value.count
        if start < value.count, "'\"".utf8.contains(value[start]) {
            end = value[(start + 1)...].firstIndex(of: value[start]) ?? end
            start += 1
        }
        guard let url = reference(Array(value[start..<end])) else { return nil }
        return value[..<start] + url + value[end...]
    }

    /// Rewrites the `realm` of a `Bearer` challenge, if it is the URL of a token server. RFC 9110
    /// §11.6.1, RFC 6750 §3
    private mutating func challenges(_ value: [UInt8]) -> [UInt8]? {
        var result: [UInt8] = []
        var quotes = QuoteScanner()
        var isBearer = false
        for member in value.split(
            omittingEmptySubsequences: false,
            whereSeparator: {
                !quotes.isInside($0) && $0 == UInt8(ascii: ",")
            }
        ) {
            if member.startIndex > value.startIndex { result.append(UInt8(ascii: ",")) }
            result += parameter(member, &isBearer) ?? Array(member)
        }
        return result
    }

    /// Rewrites one parameter of a challenge.
    ///
    /// - Parameters:
    ///   - member: the parameter, possibly preceded by its challenge's scheme.
    ///   - isBearer: whether the challenge's scheme is `Bearer`.
    private mutating func parameter(_ member: ArraySlice<UInt8>, _ isBearer: inout Bool) -> [UInt8]? {
        let equals = member.firstIndex(of: UInt8(ascii: "=")) ?? member.endIndex
        let words = member[..<equals].split(whereSeparator: \.isWhitespace).map { String(decoding: $0, as: UTF8.self) }
        if words.count > 1 || equals == member.endIndex { isBearer = words.first?.lowercased() == "bearer" }
        guard isBearer, words.last?.lowercased() == "realm", equals < member.endIndex else { return nil }
        guard let start = member[equals...].firstIndex(of: UInt8(ascii: "\"")),
            member[(equals + 1)..<start].allSatisfy(\.isWhitespace),
            let end = member[(start + 1)...].firstIndex(of: UInt8(ascii: "\"")),
            !member[start..<end].contains(UInt8(ascii: "\\")),
            let url = reference(Array(member[(start + 1)..<end]))
        else { return nil }
        return member[...start] + url + member[end...]
    }
}

extension FieldRewriter {
    /// Rewrites `Domain` and `Path` of a cookie. RFC 6265 §4.1.2
    ///
    /// A domain that covers the origin but not the client's host is removed, so that the cookie is
    /// only for the client's host. A path becomes the route's path, or a path below it. A path
    /// wider than the route is narrowed, so that the cookie does not reach other origins on the
    /// client's host.
    ///
    /// - Returns: `nil` if the cookie stays unchanged; empty if its path belongs to another
    ///   origin's route. A browser would send such a cookie there, and never to its own origin.
    private mutating func cookie(_ value: [UInt8]) -> [UInt8]? {
        let parts = value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        // Browsers reject a '__Host-' cookie with another path or domain.
        guard let name = parts.first,
            !String(decoding: name, as: UTF8.self).trimmed.lowercased().hasPrefix("__host-")
        else { return nil }
        var result = Array(name)
        for part in parts.dropFirst() {
            guard let attribute = String(validating: part, as: UTF8.self) else {
                result += [UInt8(ascii: ";")] + part
                continue
            }
            let halves = attribute.split(separator: "=", maxSplits: 1)
            let text = halves.count > 1 ? String(halves[1]).trimmed : ""
            switch halves.first.map({ String($0).trimmed.lowercased() }) {
            case "domain" where isForeign(domain: text):
                hasFoundPath = true
                continue
            case "path":
                let path = cookiePath(text)
                if client.leadsToAnotherOrigin(cookiePath: path ?? text) {
                    hasFoundPath = true
                    return []
                }
                if let path {
                    hasFoundPath = true
                    result += Array(";\(halves[0])=\(path)".utf8)
                    continue
                }
            default: break
            }
            result += [UInt8(ascii: ";")] + part
        }
        return result
    }

    private func isForeign(domain text: String) -> Bool {
        let domain = (text.hasPrefix(".") ? String(text.dropFirst()) : text).lowercased()
        func covers(_ host: String) -> Bool { host == domain || host.hasSuffix("." + domain) }
        guard !domain.isEmpty, !client.route.preservesHost, covers(client.route.origin.host) else { return false }
        return client.requested.map { !covers($0.name) } ?? true
    }

    /// Returns the rewritten path of a cookie; `nil` if the path stays unchanged.
    private func cookiePath(_ path: String) -> String? {
        let (prefix, origin) = (client.route.prefix.text, client.route.originPrefix.text)
        guard !client.route.keepsTargets, path.hasPrefix("/") else { return nil }
        if let rest = Self.rest(of: Array(path.utf8), behind: origin), !Self.leaves(rest) {
            let text = prefix + String(decoding: rest, as: UTF8.self)
            // A cookie for '/v1/' is not sent for '/v1'.
            return rest == [UInt8(ascii: "/")] && !prefix.isEmpty && origin.isEmpty ? prefix : text.isEmpty ? "/" : text
        }
        let wide = path.hasSuffix("/") ? String(path.dropLast()) : path
        guard origin.hasPrefix(wide + "/") else { return nil }
        return prefix.isEmpty ? "/" : prefix
    }
}

/// Tracks which bytes are inside a quoted string. RFC 9110 §5.6.4
private struct QuoteScanner {
    private var isQuoted = false
    private var isEscaped = false

    /// Returns whether the next byte is inside a quoted string.
    mutating func isInside(_ byte: UInt8) -> Bool {
        if isEscaped {
            isEscaped = false
            return true
        }
        guard isQuoted || byte == UInt8(ascii: "\"") else { return false }
        if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isQuoted.toggle()
        }
        return true
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
