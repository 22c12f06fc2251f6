package import HTTPTypes

/// The secrets that must not appear in output or logs, and how they are hidden.
///
/// This is for display only: keys and requests keep every byte.
package enum Redaction {
    /// The text that replaces a secret.
    package static let placeholder = "REDACTED"

    /// The lower-case names of query parameters whose values are secrets.
    ///
    /// Names are compared case-insensitively after percent-decoding. Each part of a nested name is
    /// also compared (`auth[token]`, `filter.key`).
    ///
    /// Names that begin with one of ``secretPrefixes`` or end with one of ``secretSuffixes`` are
    /// also secret.
    package static let secretParameterNames: Set<String> = [
        "access_key", "access_token", "accesskey", "accesstoken", "api-key", "api_key", "apikey", "assertion", "auth",
        "authorization", "bearer", "client_assertion", "client_secret", "clientsecret", "code", "code_verifier",
        "cookie", "credential", "credentials", "csrf", "hmac", "id_token", "idtoken", "jwt", "key", "nonce", "otp",
        "pass", "passcode", "passphrase", "passwd", "password", "pin", "private_key", "pwd", "refresh_token",
        "refreshtoken", "saml", "samlresponse", "secret", "session", "session_id", "sessionid", "sid", "sig", "sign",
        "signature", "state", "ticket", "token", "xsrf",
    ]
    /// Prefixes of parameters in the signed URLs of object stores, which contain credentials and
    /// signatures.
    package static let secretPrefixes: [String] = ["x-amz-", "x-goog-", "x-oss-", "x-ms-"]
    /// Suffixes of names such as `user_token`, `hub.secret` and `X-Api-Key`.
    package static let secretSuffixes: [String] = [
        "token", "secret", "password", "passwd", "signature", "apikey", "api_key", "api-key", "_sig", "_pwd",
        "session_id",
    ]

    /// The lower-case names of request and response fields whose values are hidden completely.
    ///
    /// `Set-Cookie` keeps the cookie's name.
    package static let secretFieldNames: Set<String> = [
        "api-key", "authentication-info", "authorization", "cookie", "dpop", "proxy-authentication-info",
        "proxy-authorization", "set-cookie", "x-access-token", "x-amz-security-token", "x-api-key", "x-auth",
        "x-auth-key",
        "x-auth-token", "x-authorization", "x-client-secret", "x-csrf-token", "x-forwarded-access-token", "x-id-token",
        "x-session", "x-session-id", "x-session-token", "x-token", "x-vault-token", "x-xsrf-token",
    ]
    /// Fields that contain URIs. The queries of these URIs are redacted.
    static let uriFieldNames: Set<String> = ["content-location", "link", "location", "referer", "refresh"]

    static func isSecret(name: some Collection<UInt8>) -> Bool {
        let decoded = percentDecodedLowercase(name)
        return decoded.split(whereSeparator: { "[].: ".utf8.contains($0) }).contains { part in
            let text = String(decoding: part, as: UTF8.self)
            return secretParameterNames.contains(text) || secretPrefixes.contains(where: text.hasPrefix)
                || secretSuffixes.contains(where: text.hasSuffix)
        }
    }

    /// Returns whether a member of JSON content may be a secret, by its name.
    package static func isSecretMember(_ name: String) -> Bool { isSecret(name: name.utf8) }

    private static func percentDecodedLowercase(_ name: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(name)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = bytes[index + 1].hexValue,
                let low = bytes[index + 2].hexValue
            {
                result.append((high << 4 | low).asciiLowercased)
                index += 3
            } else {
                result.append(bytes[index].asciiLowercased)
                index += 1
            }
        }
        return result
    }

    /// Returns a query with the values of secret parameters replaced.
    ///
    /// Parameters end at `&` and `;`, and also at `?` and `#`, because a second query or a fragment
    /// can hold secrets too.
    package static func query(_ query: String) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(query.utf8.count)
        var parameter: [UInt8] = []
        func finish() {
            if let equals = parameter.firstIndex(of: UInt8(ascii: "=")), equals + 1 < parameter.count,
                isSecret(name: parameter[..<equals])
            {
                result.append(contentsOf: parameter[...equals])
                result.append(contentsOf: placeholder.utf8)
            } else {
                result.append(contentsOf: parameter)
            }
            parameter.removeAll(keepingCapacity: true)
        }
        for byte in query.utf8 {
            if "&;?#".utf8.contains(byte) {
                finish()
                result.append(byte)
            } else {
                parameter.append(byte)
            }
        }
        finish()
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the names of a query's parameters whose values are secrets, decoded and in lower
    /// case, in their order.
    package static func secretNames(in query: String) -> [String] {
        query.utf8.split(whereSeparator: { "&;?#".utf8.contains($0) }).compactMap { parameter -> String? in
            guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")),
                parameter.index(after: equals) != parameter.endIndex, isSecret(name: parameter[..<equals])
            else { return nil }
            return String(decoding: percentDecodedLowercase(parameter[..<equals]), as: UTF8.self)
        }
    }

    /// Returns text that may be a URI, without user information, secret parameters and control
    /// characters, truncated to `limit` bytes.
    package static func uriText(_ text: String, limit: Int = 65_535) -> String {
        var bytes = text.utf8.prefix(max(0, limit) + 1024).map { $0.isControl ? UInt8(ascii: "?") : $0 }
        if let at = userInformationEnd(bytes) {
            bytes.replaceSubrange(at, with: placeholder.utf8)
        }
        if let question = bytes.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
            let tail = String(decoding: bytes[(question + 1)...], as: UTF8.self)
            bytes.replaceSubrange((question + 1)..., with: query(tail).utf8)
        }
        guard bytes.count > limit else { return String(decoding: bytes, as: UTF8.self) }
        return String(decoding: bytes.prefix(max(0, limit)), as: UTF8.self) + "…"
    }

    /// Returns the range of the user information: from the start of the authority through the last
    /// `@` before the path, query or fragment.
    private static func userInformationEnd(_ bytes: [UInt8]) -> Range<Int>? {
        var start = 0
        if bytes.count >= 2 {
            for index in 0..<(bytes.count - 1) where bytes[index] == 0x2F && bytes[index + 1] == 0x2F {
                start = index + 2
                break
            }
        }
        let end = bytes[start...].firstIndex(where: { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 }) ?? bytes.endIndex
        guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return nil }
        return start..<at
    }

    /// Returns whether a field's value is a secret.
    ///
    /// - Parameter name: the lower-case name.
    package static func isSecretField(_ name: String) -> Bool {
        secretFields.entry(of: name) != nil || name.hasSuffix("-token") || name.hasSuffix("-secret")
            || name.hasSuffix("-password")
    }

    /// ``secretFieldNames`` and the credentials of requests. A recording asks for every field of a
    /// response.
    private static let secretFields = RequestFieldLookup([.credential, .proof], and: secretFieldNames)

    /// Returns fields for people and logs: secret values are replaced, cookie names are kept, and
    /// queries in URI fields are redacted.
    ///
    /// - Parameter hidesQueries: whether queries in URI fields are replaced completely.
    package static func fields(_ fields: HTTPFields, hidesQueries: Bool = false) -> HTTPFields {
        var result = HTTPFields()
        result.reserveCapacity(fields.count)
        for field in fields {
            var copy = field
            let name = field.name.canonicalName
            if name == "set-cookie" {
                let cookie = field.value.utf8.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
                copy.value =
                    cookie.endIndex == field.value.endIndex
                    ? placeholder : "\(String(decoding: cookie, as: UTF8.self))=\(placeholder)"
            } else if isSecretField(name) {
                copy.value = placeholder
            } else if uriFieldNames.contains(name) {
                copy.value = uriText(field.value)
                if hidesQueries { copy.value = name == "link" ? withoutQueries(copy.value) : withoutQuery(copy.value) }
            }
            result.append(copy)
        }
        return result
    }

    /// Returns a URI with its query and everything after it replaced.
    package static func withoutQuery(_ uri: String) -> String {
        guard let mark = uri.utf8.firstIndex(of: UInt8(ascii: "?")) else { return uri }
        return uri[...mark] + placeholder
    }

    /// Returns a message with the query of each URL in it replaced. A URL ends at a space, and the
    /// quote that closes it stays.
    package static func withoutQueries(in message: String) -> String {
        message.split(separator: " ", omittingEmptySubsequences: false).map { word in
            guard word.contains("://"), let mark = word.utf8.firstIndex(of: UInt8(ascii: "?")) else {
                return String(word)
            }
            // A query may contain a quote.
            let quote = word.utf8[mark...].lastIndex(of: UInt8(ascii: "'"))
            return String(word[...mark]) + placeholder + (quote.map { String(word[$0...]) } ?? "")
        }.joined(separator: " ")
    }

    /// Returns a `Link` value with each query replaced. RFC 8288 §3
    private static func withoutQueries(_ links: String) -> String {
        links.split(separator: ">", omittingEmptySubsequences: false).map { withoutQuery(String($0)) }
            .joined(separator: ">")
    }
}

/// Returns fields for people and logs: credentials, cookies and secret query values are replaced
/// with `REDACTED`.
package func redactedFields(_ fields: HTTPFields) -> HTTPFields { Redaction.fields(fields) }
