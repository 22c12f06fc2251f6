import HTTPTypes
import Hummingbird

/// Responds to a conditional GET or HEAD with 304 if the client's copy is current (RFC 9110 §13).
struct ConditionalMiddleware: RouterMiddleware {
    /// The fields that a 304 must repeat from the 200 (RFC 9110 §15.4.5), and no others.
    private static let carried: [HTTPField.Name] = [
        .cacheControl, .contentLocation, .eTag, .expires, .vary,
    ]

    @concurrent func handle(
        _ request: Request,
        context: OriginContext,
        next: @concurrent (Request, OriginContext) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        guard request.method == .get || request.method == .head, response.status == .ok,
            Self.isCurrent(request.headers, response.headers)
        else { return response }
        var fields = HTTPFields()
        for name in Self.carried {
            for value in response.headers[values: name] {
                fields.append(HTTPField(name: name, value: value))
            }
        }
        if fields[.eTag] == nil { fields[.lastModified] = response.headers[.lastModified] }
        // The framework sets the length of the empty body, but in a 304 the field would mean the
        // length of the 200's content.
        return Response(status: .notModified, headers: fields).withoutLength
    }

    /// Returns whether the client's copy is the same as `response`.
    ///
    /// If `If-None-Match` is present, `If-Modified-Since` is ignored (RFC 9110 §13.2.2).
    static func isCurrent(_ request: HTTPFields, _ response: HTTPFields) -> Bool {
        if let candidates = request[.ifNoneMatch] {
            if candidates.trimmed == "*" { return true }
            guard let current = response[.eTag] else { return false }
            return entityTags(in: candidates).contains(opaque(current))
        }
        guard let since = request[.ifModifiedSince].flatMap(HTTPDate.parse),
            let modified = response[.lastModified].flatMap(HTTPDate.parse)
        else { return false }
        return modified <= since
    }

    /// Returns the opaque part of an entity tag, because 304 uses weak comparison (RFC 9110
    /// §8.8.3.2).
    private static func opaque(_ tag: String) -> String {
        tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
    }

    /// Returns the opaque parts of the tags in a list. Commas may also appear inside the quotes.
    private static func entityTags(in list: String) -> [String] {
        var tags: [String] = []
        var rest = Substring(list)
        while let start = rest.firstIndex(of: "\"") {
            let content = rest[rest.index(after: start)...]
            guard let end = content.firstIndex(of: "\"") else { break }
            tags.append(String(rest[start...end]))
            rest = content[content.index(after: end)...]
        }
        return tags
    }
}

extension String {
    /// The text without leading and trailing spaces and tabs.
    var trimmed: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let start = drop(while: isSpace)
        return String(String(start.reversed().drop(while: isSpace)).reversed())
    }
}
