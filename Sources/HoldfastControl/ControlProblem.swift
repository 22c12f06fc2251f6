import HTTPCache
package import HTTPCacheOperations

/// A machine-readable error response of the control plane. RFC 9457
///
/// The detail names the field, its value, the limit and the next step, in this order, as far as
/// they apply.
package struct ControlProblem: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// `urn:holdfast:problem:` followed by a code for the kind of problem.
    package var type: String
    /// A short description of the kind of problem.
    package var title: String
    /// The status of the response.
    package var status: Int
    /// An explanation of this problem for people.
    package var detail: String
    /// The field whose value was rejected, such as `select.urls[3]`.
    package var field: String?
    /// The rejected value, truncated to 100 characters.
    package var value: String?
    /// The limit that was exceeded.
    package var limit: Int?
    /// The errors of a rejected configuration file.
    package var findings: [ReloadReport.Finding]?

    init(_ kind: Kind, _ detail: String, field: String? = nil, value: String? = nil, limit: Int? = nil) {
        type = Self.typePrefix + kind.code
        title = kind.title
        status = kind.status
        self.detail = detail
        self.field = field
        self.value = value.map(Self.shown)
        self.limit = limit
    }

    private static let typePrefix = "urn:holdfast:problem:"

    /// The last part of the type, for the log and the history.
    var code: String { String(type.dropFirst(Self.typePrefix.count)) }

    /// The problem for an operation that was canceled.
    static let ended = ControlProblem(
        .ending,
        "The operation was canceled, because its client disconnected or the gateway is shutting down. Repeat the operation."
    )

    /// Returns the problem for content that is too large.
    static func tooLarge(_ limit: Int) -> ControlProblem {
        ControlProblem(
            .tooLarge,
            "The content exceeds the limit of \(limit) bytes. Send less content per request.",
            limit: limit
        )
    }

    /// The same text as ``detail``.
    package var description: String { detail }

    /// The kinds of problems, each with a code, a title and a status.
    struct Kind: Sendable, Hashable {
        var code: String
        var title: String
        var status: Int

        static let invalidRequest = Kind(code: "invalid-request", title: "The request is invalid", status: 400)
        static let unauthorized = Kind(code: "unauthorized", title: "A valid token is required", status: 401)
        static let codeNotValid = Kind(code: "code-not-valid", title: "The code is not valid", status: 401)
        static let scopeTooSmall = Kind(
            code: "scope-too-small",
            title: "The token does not permit this operation",
            status: 403
        )
        static let foreignOrigin = Kind(
            code: "foreign-origin",
            title: "Web pages may not use the control plane",
            status: 403
        )
        static let notFound = Kind(code: "not-found", title: "Not found", status: 404)
        static let methodNotAllowed = Kind(
            code: "method-not-allowed",
            title: "The method is not allowed",
            status: 405
        )
        static let keyInUse = Kind(
            code: "idempotency-key-in-use",
            title: "A request with this key is in progress",
            status: 409
        )
        static let tooSlow = Kind(code: "too-slow", title: "The content arrived too slowly", status: 408)
        static let tooLarge = Kind(code: "content-too-large", title: "The request is too large", status: 413)
        static let noFile = Kind(
            code: "no-configuration-file",
            title: "There is no configuration file",
            status: 409
        )
        static let configurationRejected = Kind(
            code: "configuration-rejected",
            title: "The configuration file has errors",
            status: 422
        )
        static let notJSON = Kind(code: "not-json", title: "The content is not JSON", status: 415)
        static let wrongHost = Kind(
            code: "wrong-host",
            title: "The host does not belong to the control plane",
            status: 421
        )
        static let keyReused = Kind(
            code: "idempotency-key-reused",
            title: "The key was used for another request",
            status: 422
        )
        static let tooManyFailedTries = Kind(
            code: "too-many-failed-tries",
            title: "Too many wrong tokens",
            status: 429
        )
        static let tooManyPurges = Kind(code: "too-many-purges", title: "Too many purges", status: 429)
        static let tooManyStreams = Kind(
            code: "too-many-streams",
            title: "Too many event streams are open",
            status: 503
        )
        static let tooManySessions = Kind(
            code: "too-many-sessions",
            title: "Too many sessions are open",
            status: 503
        )
        static let busy = Kind(code: "busy", title: "Too many operations are waiting", status: 503)
        static let ending = Kind(code: "ending", title: "The operation was canceled", status: 503)
        static let storeReadOnly = Kind(code: "store-read-only", title: "The store is read-only", status: 503)
        static let pinsExceedBudget = Kind(
            code: "pins-exceed-budget",
            title: "The pins exceed their share of the store",
            status: 409
        )
        static let tooManyRefreshes = Kind(
            code: "too-many-refreshes",
            title: "Too many refreshes are running",
            status: 409
        )
        static let modeForbidsRefresh = Kind(
            code: "mode-forbids-refresh",
            title: "The mode forbids requests to origins",
            status: 409
        )
        static let tooManyRecordings = Kind(
            code: "too-many-recordings",
            title: "Too many recordings are running",
            status: 409
        )
        static let recordingExists = Kind(
            code: "recording-exists",
            title: "The name is in use",
            status: 409
        )
        static let modeForbidsRecording = Kind(
            code: "mode-forbids-recording",
            title: "The mode forbids requests to origins",
            status: 409
        )
        static let gatewayGone = Kind(code: "gateway-gone", title: "The gateway does not respond", status: 502)
        static let notComparable = Kind(
            code: "not-comparable",
            title: "The response cannot be compared with the origin's",
            status: 409
        )
        static let originNotAsked = Kind(code: "origin-failed", title: "The response could not be fetched", status: 502)
        static let storeFailed = Kind(code: "store-failed", title: "The store failed", status: 503)
    }

    /// Returns a value as messages show it: at most 100 scalars, with each control character,
    /// formatting character and line break replaced by a question mark.
    static func shown(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars.prefix(100) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: shown += "?"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        if shown.utf8.count < text.utf8.count { shown += "…" }
        return shown
    }
}
