import CacheRules
import HTTPCache

extension Rule.Match {
    /// The conditions of a rule.
    static let settings: [PartSetting<Self>] = [
        PartSetting("url", .list(.text)) { (value, match) throws(Refusal) in
            match.urls = try Readers.texts(value, "a pattern").map { URLPattern($0) }
        },
        PartSetting("method", .list(.text)) { (value, match) throws(Refusal) in
            match.methods = try Readers.methods(value)
        },
        PartSetting("content-type", .list(.text)) { (value, match) throws(Refusal) in
            match.contentTypes = try Readers.texts(value, "a media type")
        },
        PartSetting("cookie", .valuesByName) { (value, match) throws(Refusal) in
            match.request.cookies = try Readers.valuesByName(value, "cookies")
        },
        PartSetting("field", .valuesByName) { (value, match) throws(Refusal) in
            match.request.fields = try Readers.valuesByField(value)
        },
        PartSetting("query", .valuesByName) { (value, match) throws(Refusal) in
            match.request.query = try Readers.valuesByName(value, "parameters")
        },
    ]
}
