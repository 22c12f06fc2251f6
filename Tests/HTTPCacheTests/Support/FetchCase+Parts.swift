import HTTPCacheSemantics
import HTTPTypes

@testable import HTTPCache

/// Parts of a representation.
extension FetchCase {
    static let part: @Sendable (inout FetchContext) -> Void = { $0.fetch.completing = $0.storedPart() }

    /// A part of ten bytes.
    static func part(_ range: String, tag: String = "1", cacheControl: String? = nil) -> HTTPFields {
        var fields: HTTPFields = [.contentRange: "bytes \(range)/10", .eTag: "\"\(tag)\""]
        fields[.cacheControl] = cacheControl
        return fields
    }

    static let completing = [
        FetchCase("the rest", .completes, .partialContent, part("5-9"), beside: part),
        FetchCase("an overlapping rest", .completes, .partialContent, part("2-9"), beside: part),
        FetchCase(
            "the rest of another representation",
            .asksAgain,
            .partialContent,
            part("5-9", tag: "2"),
            beside: part
        ),
        FetchCase("a rest with a gap before it", .asksAgain, .partialContent, part("6-9"), beside: part),
        FetchCase("not all of the rest", .asksAgain, .partialContent, part("5-8"), beside: part),
        FetchCase("a part without Content-Range", .asksAgain, .partialContent, [.eTag: "\"1\""], beside: part),
        FetchCase(
            "a rest that may not be stored",
            .asksAgain,
            .partialContent,
            part("5-9", cacheControl: "no-store"),
            beside: {
                part(&$0)
            }
        ),
        FetchCase(
            "a principal's rest of a response for all",
            .asksAgain,
            .partialContent,
            part("5-9", cacheControl: "private"),
            to: bearer,
            beside: part
        ),
        FetchCase(
            "a principal's rest of its own part",
            .completes,
            .partialContent,
            part("5-9"),
            to: bearer,
            beside: {
                $0.fetch.completing = $0.storedPart(isCommon: false)
            }
        ),
        FetchCase("the whole, because it has changed", .stores, .ok, lasting, beside: part),
        FetchCase("304", .asksAgain, .notModified, [.eTag: "\"1\""], beside: part),
        FetchCase("416", .asksAgain, .rangeNotSatisfiable, beside: part),
        FetchCase("404", .asksAgain, .notFound, lasting, beside: part),
        FetchCase("500", .asksAgain, .internalServerError, lasting, beside: part),
    ]

    static let some: HTTPFields = [.range: "bytes=5-7"]
    static let besidePart: @Sendable (inout FetchContext) -> Void = { $0.known.success = $0.storedPart() }

    static let combining = [
        FetchCase("a part with nothing stored", .stores, .partialContent, part("5-7"), to: some),
        FetchCase("a part that was not asked for", .passes(.partialContent), .partialContent, part("5-7")),
        FetchCase("a part without Content-Range", .passes(.partialContent), .partialContent, lasting, to: some),
        FetchCase("a part beside its neighbor", .combines, .partialContent, part("5-7"), to: some, beside: besidePart),
        FetchCase(
            "the rest beside the beginning",
            .combines,
            .partialContent,
            part("5-9"),
            to: some,
            beside: besidePart
        ),
        FetchCase("a part with a gap before it", .stores, .partialContent, part("6-7"), to: some, beside: besidePart),
        FetchCase(
            "a part of another representation",
            .stores,
            .partialContent,
            part("5-7", tag: "2"),
            to: some,
            beside: {
                besidePart(&$0)
            }
        ),
        FetchCase("a part within the stored whole", .combines, .partialContent, part("5-7"), to: some, beside: success),
        FetchCase(
            "a newer part beside the stored whole",
            .passes(.partialContent),
            .partialContent,
            part("5-7", tag: "2"),
            to: some,
            beside: {
                success(&$0)
            }
        ),
        FetchCase(
            "a part that may not be stored",
            .passes(.responseNoStore),
            .partialContent,
            part("5-7", cacheControl: "no-store"),
            to: some,
            beside: {
                besidePart(&$0)
            }
        ),
        FetchCase(
            "a principal's part beside a part for all",
            .storesForPrincipal,
            .partialContent,
            part("5-7"),
            to: [.range: "bytes=5-7", .authorization: "Bearer x"],
            beside: besidePart
        ),
    ]
}
