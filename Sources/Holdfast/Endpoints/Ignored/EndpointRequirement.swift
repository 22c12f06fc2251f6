import HoldfastContent

/// A requirement of ``Endpoint`` that has a default, and the spellings that developers use by
/// mistake.
///
/// A property with a wrong type or name compiles: the default satisfies the protocol, and the
/// property is ignored. This table finds such properties at run time and in source text.
package struct EndpointRequirement: Sendable {
    /// The name of the requirement.
    package let name: String
    /// The types that satisfy the requirement, in Swift's short form, such as `[String: String]` or
    /// `Duration?`.
    package let types: [String]
    /// Names for the same property in other libraries or in everyday use.
    package let otherNames: [String]
    /// The types that a property with one of these names may have if it was meant to satisfy the
    /// requirement. `[String: …]` matches any dictionary with string keys.
    package let otherTypes: [String]

    private init(_ name: String, _ types: [String], alsoNamed otherNames: [String] = [], of otherTypes: [String] = []) {
        self.name = name
        self.types = types
        self.otherNames = otherNames
        self.otherTypes = otherTypes
    }

    /// Creates a requirement that accepts both a type and its optional.
    private init(
        optional name: String,
        _ type: String,
        alsoNamed otherNames: [String] = [],
        of otherTypes: [String] = []
    ) {
        self.init(name, [type, type + "?"], alsoNamed: otherNames, of: otherTypes)
    }

    /// All requirements except `path`, because an endpoint without `path` does not compile.
    package static let all: [EndpointRequirement] = request + store + response

    private static let request = [
        EndpointRequirement("baseURL", ["String"], alsoNamed: ["baseURLString", "serverURL", "rootURL"], of: ["URL"]),
        EndpointRequirement(
            "method",
            ["HTTPRequest.Method"],
            alsoNamed: ["httpMethod", "requestMethod", "verb"],
            of: ["String", "HTTPMethod"]
        ),
        EndpointRequirement(
            "task",
            ["HTTPTask"],
            alsoNamed: ["parameters", "params", "query", "queryItems", "body", "httpBody", "requestBody"],
            of: ["RequestParameters", "[String: …]", "[URLQueryItem]", "Data"]
        ),
        EndpointRequirement(
            "headers",
            ["HTTPFields", "[String: String]"],
            alsoNamed: ["httpHeaders", "headerFields", "httpHeaderFields", "requestHeaders"],
            of: ["[String: …]"]
        ),
        EndpointRequirement(
            optional: "principal",
            "String",
            alsoNamed: ["principle", "principalID", "principalName"],
            of: ["UUID", "Int"]
        ),
        EndpointRequirement(
            "secrets",
            ["Secrets"],
            alsoNamed: ["secretParameters", "secretFields"],
            of: ["[String]", "Set<String>"]
        ),
        EndpointRequirement("isMutation", ["Bool"], alsoNamed: ["isMutating", "mutates", "mutation"]),
        EndpointRequirement("isIdempotent", ["Bool"], alsoNamed: ["idempotent"]),
    ]

    private static let store = [
        EndpointRequirement(
            "storage",
            ["CacheRequest.Storage"],
            alsoNamed: ["cacheStorage", "cachePolicy"],
            of: ["URLRequest.CachePolicy", "NSURLRequest.CachePolicy"]
        ),
        EndpointRequirement(
            optional: "rule",
            "RuleSettings",
            alsoNamed: ["ruleSettings", "cacheRule"],
            of: ["Rule", "RuleSet", "[RuleSettings]"]
        ),
        EndpointRequirement(optional: "offlineReads", "OfflineReads", alsoNamed: ["offline", "offlinePolicy"]),
        EndpointRequirement("tags", ["[String]"], alsoNamed: ["cacheTags", "storeTags"], of: ["Set<String>"]),
        EndpointRequirement(
            "strategy",
            ["SingleValueStrategy"],
            alsoNamed: ["cacheStrategy", "fetchStrategy"],
            of: ["String", "CacheRequest.Preference"]
        ),
        EndpointRequirement(
            "invalidates",
            ["[StoreInvalidation]"],
            alsoNamed: ["invalidating", "invalidations"],
            of: ["StoreInvalidation", "[String]"]
        ),
        EndpointRequirement("invalidatesTarget", ["Bool"], alsoNamed: ["invalidatesURL", "invalidatesItself"]),
    ]

    private static let response = [
        EndpointRequirement(
            "acceptedStatuses",
            ["AcceptedStatuses"],
            alsoNamed: [
                "acceptedStatus", "acceptedStatusCodes", "acceptableStatuses", "acceptableStatusCodes",
                "validStatusCodes",
            ],
            of: ["[Int]", "Set<Int>", "Range<Int>", "ClosedRange<Int>"]
        ),
        EndpointRequirement("valuePath", ["ValuePath"], alsoNamed: ["dataPath", "modelPath", "resultPath", "keyPath"]),
        EndpointRequirement("envelope", ["EnvelopeChoice"], alsoNamed: ["wrapper"], of: ["Envelope"]),
        EndpointRequirement("emptyContent", ["EmptyContent"], alsoNamed: ["emptyBody", "emptyResponse"]),
        EndpointRequirement(
            optional: "maximumBodyBytes",
            "Int",
            alsoNamed: ["maxBodyBytes", "maximumBodySize", "maximumBytes", "maxBytes", "bodyLimit"],
            of: ["Int64", "UInt"]
        ),
        EndpointRequirement(
            optional: "timeout",
            "Duration",
            alsoNamed: ["timeoutInterval", "timeoutSeconds", "requestTimeout"],
            of: ["Int", "Double", "TimeInterval"]
        ),
        EndpointRequirement(
            optional: "retry",
            "RetryPlan",
            alsoNamed: ["retryPolicy", "retries", "retryCount", "retryLimit", "maxRetries", "maximumRetries"],
            of: ["Int"]
        ),
        EndpointRequirement(
            "redirects",
            ["RedirectPolicy"],
            alsoNamed: ["redirectPolicy", "redirection", "followRedirects", "followsRedirects"],
            of: ["Bool"]
        ),
        EndpointRequirement(optional: "sampleResponse", "SampleResponse", alsoNamed: ["sampleData"], of: ["Data"]),
    ]
}
