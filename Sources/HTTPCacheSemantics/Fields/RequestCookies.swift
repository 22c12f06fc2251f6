package import HTTPTypes

/// A request's cookies, read only from the strict form of RFC 6265 §4.2.1.
///
/// Servers disagree about every other form. In `a="x; session=1"`, some find a cookie `session` and
/// some do not; of two cookies with one name, some use the first and some the last. A cache that
/// guessed could drop a cookie that the origin would have read, or the reverse. So a field with any
/// of these cannot be read:
///
/// - quotes, commas, backslashes, spaces, control characters or bytes above 127 in a value
/// - a name with characters other than letters, digits, `-` and `_`, or an empty name
/// - two cookies with the same name, compared by case
/// - a separator other than `; `, and text that is not `NAME=VALUE`
///
/// Several `Cookie` fields are read as one, because clients split the field in HTTP/2 (RFC 9113
/// §8.2.3).
package struct RequestCookies: Sendable, Hashable {
    /// A cookie of a request.
    package struct Cookie: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The cookies, in the order received.
    package private(set) var cookies: [Cookie] = []

    package init(_ cookies: [Cookie] = []) { self.cookies = cookies }

    /// Reads the cookies of a request; none if it has no `Cookie`.
    ///
    /// - Returns: `nil` if a field does not have the strict form.
    package init?(_ fields: HTTPFields) {
        var names: Set<String> = []
        for index in fields.indices where fields[index].name == .cookie {
            let isRead = fields[index].withUnsafeBytesOfValue { read($0, &names) }
            guard isRead else { return nil }
        }
    }

    private mutating func read(_ line: UnsafeBufferPointer<UInt8>, _ names: inout Set<String>) -> Bool {
        var scanner = ByteScanner(line)
        while true {
            let name = scanner.text(while: \.isCookieNameByte)
            guard !name.isEmpty, scanner.skip(UInt8(ascii: "=")), names.insert(name).inserted else { return false }
            cookies.append(Cookie(name: name, value: scanner.text(while: \.isCookieValueByte)))
            if scanner.isAtEnd { return true }
            guard scanner.skip(UInt8(ascii: ";")), scanner.skip(UInt8(ascii: " ")) else { return false }
        }
    }

    /// Returns whether a text may be the value of a cookie in the strict form.
    package static func isValue(_ text: String) -> Bool { text.utf8.allSatisfy(\.isCookieValueByte) }

    /// Whether there are no cookies.
    package var isEmpty: Bool { cookies.isEmpty }

    /// The value of the `Cookie` field that contains exactly these cookies.
    package var written: String { cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ") }

    /// Returns the value of a cookie; `nil` if there is none.
    package func value(of name: String) -> String? { cookies.first { $0.name == name }?.value }

    /// Returns the cookies that satisfy a condition.
    package func filter(_ isIncluded: (Cookie) -> Bool) -> RequestCookies {
        RequestCookies(cookies.filter(isIncluded))
    }
}

extension HTTPField {
    /// The name of the cookie that a `Set-Cookie` field sets; `nil` if the field does not begin
    /// with a name that every client and server reads in the same way, followed by `=`.
    package var setCookieName: String? {
        withUnsafeBytesOfValue { bytes in
            var scanner = ByteScanner(bytes)
            let name = scanner.text(while: \.isCookieNameByte)
            return !name.isEmpty && scanner.skip(UInt8(ascii: "=")) ? name : nil
        }
    }

    /// The cookie that a `Set-Cookie` field sets, as clients send it back; `nil` if it does not
    /// have the strict form of RFC 6265 §4.1.1.
    package var settingCookie: RequestCookies.Cookie? {
        withUnsafeBytesOfValue { bytes in
            var scanner = ByteScanner(bytes)
            let name = scanner.text(while: \.isCookieNameByte)
            guard !name.isEmpty, scanner.skip(UInt8(ascii: "=")) else { return nil }
            let value = scanner.text(while: \.isCookieValueByte)
            guard scanner.isAtEnd || scanner.current == UInt8(ascii: ";") else { return nil }
            return RequestCookies.Cookie(name: name, value: value)
        }
    }
}

extension ByteScanner {
    /// Reads the bytes that satisfy a condition, which must be ASCII.
    fileprivate mutating func text(while isIncluded: (UInt8) -> Bool) -> String {
        var text: [UInt8] = []
        while let byte = current, isIncluded(byte) {
            text.append(byte)
            advance()
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Skips a byte. Returns `false` if another byte, or none, follows.
    fileprivate mutating func skip(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        advance()
        return true
    }
}
