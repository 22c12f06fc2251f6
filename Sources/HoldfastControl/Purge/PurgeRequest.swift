package import HTTPCache
package import HTTPCacheOperations
import HTTPCacheSemantics

/// A purge: a selection of responses, and the action on them.
package struct PurgeRequest: Sendable, Hashable, Encodable {
    /// The action on the selected responses.
    package enum Action: String, Sendable, Hashable, Codable, CaseIterable {
        /// Expire the responses: they are validated before their next use. While their origin is
        /// unreachable, they can still be served, except those that must not be served stale.
        case expire
        /// Remove the responses, including offline copies.
        case remove
    }

    /// The responses to select: all responses that match any of the selectors.
    package struct Selection: Sendable, Hashable, Codable {
        /// Target URIs, each with all variants in all partitions.
        package var urls: [String] = []
        /// Prefixes of target URIs.
        package var prefixes: [String] = []
        /// Tags of stored responses.
        package var tags: [String] = []
        /// Hosts of target URIs, on every port.
        package var hosts: [String] = []
        /// Whether to select every response. `true` cannot be combined with other selectors.
        package var all = false

        /// Creates an empty selection.
        package init() {}

        /// The number of selectors.
        package var count: Int { urls.count + prefixes.count + tags.count + hosts.count + (all ? 1 : 0) }
    }

    /// The responses to purge.
    package var select: Selection
    /// The action on the selected responses.
    package var action: Action
    /// Whether to only count the responses, without purging them.
    package var dryRun: Bool
    /// A note for the log and the history.
    package var reason: String?
    /// The pace at which to fetch the expired responses again; `nil` leaves this to clients'
    /// requests.
    package var refresh: RefreshPace?
    /// The level that the purge waits for before it is acknowledged; `nil` uses the gateway's
    /// configuration. A purge that does not reach the level in time still succeeds.
    package var wait: PurgeLevel?
    /// The time limit for reaching the level, such as `5s` or `500ms`; `nil` uses
    /// ``PurgeWait/limit(for:)``.
    package var within: String?
    /// The URL of a PURGE request, whose route has already led to ``select``. It is not resolved
    /// here, where the request's fields may have decided the route, but at the other nodes of a
    /// fleet. Not part of the JSON, nor of the history.
    package var clientURL: String?
    /// The origin's URLs and prefixes for those in ``select`` that clients request from a gateway.
    /// See ``resolved(by:)``. They are not part of the JSON.
    private var atOrigins = Selection()
    /// The prefixes at origins that the purge covers for those that clients request. They may have
    /// responses of other routes too. Not part of the JSON.
    private(set) var coverage: [PurgeCoverage] = []
    /// Whether ``resolved(by:)`` returned this purge. Not part of the JSON.
    private var isResolved = false
    /// The URLs and prefixes at origins for those that clients request; `nil` if the purge selects
    /// neither URLs nor prefixes, or is not resolved.
    var storedUnder: PurgeResult.StoredUnder? {
        guard isResolved, !select.urls.isEmpty || !select.prefixes.isEmpty else { return nil }
        return PurgeResult.StoredUnder(urls: atOrigins.urls, prefixes: atOrigins.prefixes)
    }

    private enum CodingKeys: String, CodingKey { case select, action, dryRun, reason, refresh, wait, within }

    /// Returns the purge, which now also selects the URLs and prefixes under which the responses to
    /// each client's URL and prefix are stored.
    package func resolved(by places: any OriginURLFinding) -> PurgeRequest {
        func targets(_ texts: [String]) -> [TargetURI] { texts.compactMap { try? TargetURI($0) } }
        var purge = self
        purge.atOrigins.urls = targets(select.urls).flatMap { places.originURLs(of: $0) }.map(\.url.uri)
        let prefixes = targets(select.prefixes).flatMap { places.originPrefixes(of: $0) }
        purge.atOrigins.prefixes = prefixes.map(\.url.uri)
        purge.coverage = prefixes.prefix(PurgeCoverage.limit).map { PurgeCoverage($0) }
        purge.isResolved = true
        return purge
    }

    /// The maximum number of selectors in a purge.
    package static let maximumSelectors = 1000
    /// The maximum length of a purge as JSON, in bytes.
    package static let maximumBytes = 1 << 20
    /// Creates a purge. The values are checked when the purge is performed.
    package init(
        _ select: Selection,
        action: Action = .expire,
        dryRun: Bool = false,
        reason: String? = nil,
        refresh: RefreshPace? = nil,
        wait: PurgeLevel? = nil,
        within: String? = nil
    ) {
        self.wait = wait
        self.within = within
        self.refresh = refresh
        self.select = select
        self.action = action
        self.dryRun = dryRun
        self.reason = reason
    }

    /// Reads a purge from JSON. Unknown members are rejected.
    ///
    /// - Throws: ``ControlProblem``
    package init(json: [UInt8]) throws {
        guard json.count <= Self.maximumBytes else {
            throw ControlProblem.tooLarge(Self.maximumBytes)
        }
        var members = try JSONMembers(json: json, example: #"{"select": {"tags": ["news"]}}"#)
        guard let selection = members.take("select") else {
            throw ControlProblem(
                .invalidRequest,
                "'select' is missing. Set 'urls', 'prefixes', 'tags', 'hosts', or 'all': true in it.",
                field: "select"
            )
        }
        select = try Selection(selection)
        let action = try members.text("action") ?? Action.expire.rawValue
        guard let known = Action(rawValue: action) else {
            throw ControlProblem(
                .invalidRequest,
                "'action' must be 'expire' (the default) or 'remove', not '\(ControlProblem.shown(action))'.",
                field: "action",
                value: action
            )
        }
        self.action = known
        dryRun = try members.flag("dryRun")
        reason = try members.reason()
        refresh = try members.take("refresh").map(RefreshPace.init)
        wait = try members.text("wait").map(PurgeWait.level)
        within = try members.text("within")
        try members.end(known: ["action", "dryRun", "reason", "refresh", "select", "wait", "within"])
    }

    /// Returns the scopes of the selectors, without duplicates.
    ///
    /// - Throws: ``ControlProblem`` if there is no selector, if there are too many, or if a value
    ///   is invalid.
    package func scopes() throws -> [InvalidationScope] {
        try checkNumber()
        if let reason { try ReasonText.check(reason) }
        if let within { _ = try PurgeWait.limit(within) }
        if refresh != nil, action == .remove {
            throw ControlProblem(
                .invalidRequest,
                "'refresh' cannot be combined with the action 'remove', which leaves no response to fetch again. Use 'expire'.",
                field: "refresh"
            )
        }
        if select.all { return [.all] }
        var scopes: [InvalidationScope] = []
        for (index, url) in select.urls.enumerated() {
            try Self.checkPattern("urls", index, url)
            scopes += try Self.checked("urls", index, url) { try TargetURI.readings(of: $0) }.map { .target($0) }
        }
        for url in atOrigins.urls { scopes += try TargetURI.readings(of: url).map { .target($0) } }
        for (index, prefix) in select.prefixes.enumerated() {
            try Self.checkPattern("prefixes", index, prefix)
            scopes += try Self.checked("prefixes", index, prefix) { try TargetURI.readings(of: $0) }
                .map { .prefix(TargetPrefix($0)) }
        }
        for prefix in atOrigins.prefixes {
            scopes += try TargetURI.readings(of: prefix).map { .prefix(TargetPrefix($0)) }
        }
        if let clientURL { scopes += ((try? TargetURI.readings(of: clientURL)) ?? []).map { .target($0) } }
        for (index, host) in select.hosts.enumerated() {
            try Self.checkHost(index, host)
            scopes.append(.host(try Self.checked("hosts", index, host) { try TargetHost($0) }))
        }
        for (index, tag) in select.tags.enumerated() {
            try Self.checkTag(tag, index)
            scopes.append(.tag(tag))
        }
        var seen: Set<InvalidationScope> = []
        return scopes.filter { seen.insert($0).inserted }
    }

    private func checkNumber() throws {
        if select.all, select.count > 1 {
            throw ControlProblem(
                .invalidRequest,
                "'select.all' already covers every response. Remove the other selectors.",
                field: "select.all",
                value: "true"
            )
        }
        guard select.count > 0 else {
            throw ControlProblem(
                .invalidRequest,
                "'select' has no selectors. Set 'urls', 'prefixes', 'tags', 'hosts', or 'all': true in it.",
                field: "select"
            )
        }
        guard select.count <= Self.maximumSelectors else {
            throw ControlProblem(
                .invalidRequest,
                "'select' has \(select.count) selectors; the limit is \(Self.maximumSelectors). Send several requests, or use a prefix or a tag.",
                field: "select",
                value: "\(select.count)",
                limit: Self.maximumSelectors
            )
        }
    }

    private static func checkPattern(_ name: String, _ index: Int, _ text: String) throws {
        guard let prefix = PurgePattern.prefix(of: text) else { return }
        throw ControlProblem(
            .invalidRequest,
            "'select.\(name)[\(index)]' is a pattern, and a purge takes URLs and prefixes. For all URLs that begin like it, "
                + "use 'select.prefixes: \(Redaction.uriText(prefix, limit: 200))'.",
            field: "select.\(name)[\(index)]",
            value: Redaction.uriText(text, limit: 200)
        )
    }

    private static func checkHost(_ index: Int, _ host: String) throws {
        guard host.contains("*") else { return }
        let field = "select.hosts[\(index)]"
        throw ControlProblem(
            .invalidRequest,
            "'\(field)' is a pattern, and a purge takes whole hosts. List each host.",
            field: field,
            value: Redaction.uriText(host, limit: 200)
        )
    }

    private static func checkTag(_ tag: String, _ index: Int) throws {
        let limit = ResponseDraft.maximumTagLength
        guard !tag.isEmpty, tag.utf8.count <= limit else {
            throw ControlProblem(
                .invalidRequest,
                "'select.tags[\(index)]' has \(tag.utf8.count) bytes; a tag must have 1 to \(limit).",
                field: "select.tags[\(index)]",
                value: tag,
                limit: limit
            )
        }
    }

    private static func checked<Value>(
        _ name: String,
        _ index: Int,
        _ text: String,
        _ make: (String) throws -> Value
    ) throws -> Value {
        do {
            return try make(text)
        } catch {
            let isHost = name == "hosts"
            let onHosts =
                " A host has no scheme, port or path. For one port, use a prefix such as 'https://a.example:8443'."
            let advice = isHost ? onHosts : ""
            throw ControlProblem(
                .invalidRequest,
                "'select.\(name)[\(index)]': \(error)\(advice)",
                field: "select.\(name)[\(index)]",
                value: Redaction.uriText(text, limit: 200)
            )
        }
    }
}

extension PurgeRequest.Selection {
    init(_ value: JSONValue) throws {
        var members = try JSONMembers(value, path: "select")
        urls = try members.texts("urls")
        prefixes = try members.texts("prefixes")
        tags = try members.texts("tags")
        hosts = try members.texts("hosts")
        all = try members.flag("all")
        try members.end(known: ["all", "hosts", "prefixes", "tags", "urls"])
    }

    /// The selection for the history, with the values of secret parameters replaced.
    var redacted: Self {
        var redacted = self
        redacted.urls = urls.map { Redaction.uriText($0, limit: 1024) }
        redacted.prefixes = prefixes.map { Redaction.uriText($0, limit: 1024) }
        return redacted
    }

    /// The selection for clients that must not see queries.
    var withoutQueries: Self {
        var hidden = self
        hidden.urls = urls.map(Redaction.withoutQuery)
        hidden.prefixes = prefixes.map(Redaction.withoutQuery)
        return hidden
    }

    /// The selection's approximate size, in bytes.
    var bytes: Int {
        (urls + prefixes + tags + hosts).reduce(0) { $0 + $1.utf8.count + 32 }
    }
}
