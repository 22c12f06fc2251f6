public import HTTPCache
public import HTTPTypes

/// Gives requests fields: a user agent, languages, an id of their own.
///
/// ```swift
/// let plugins: [any Plugin] = [
///     FieldsPlugin([.userAgent: "harbour/3.1", .acceptLanguage: "de, en;q=0.5"]),
///     FieldsPlugin(secrets: [.tenant]) { call in [.tenant: Tenant.current.key] },
/// ]
/// ```
///
/// A field by which responses vary (`Vary`) tells stored responses apart; one that differs each
/// time, such as a request id, should not be one of them.
public struct FieldsPlugin: PreparingPlugin {
    /// What becomes of fields of the same name.
    public enum Placement: Sendable, Hashable {
        /// They stay, and these are not added: what endpoint and client say, wins.
        case whereMissing
        /// They go.
        case replacing
        /// They stay, and these come after them.
        case appending
    }

    /// See ``PreparingPlugin``.
    public let secrets: Secrets
    private let placement: Placement
    private let fields: @Sendable (CallInfo) throws -> HTTPFields

    /// The same fields for each request.
    ///
    /// - Parameters:
    ///   - placement: what becomes of fields of the same name. Those that are there stay, unless
    ///     told otherwise.
    ///   - secrets: those whose values are not for logs, errors and the store, and that tell whose
    ///     stored responses a request may see. Fields such as `Authorization` need not be named.
    public init(_ fields: HTTPFields, _ placement: Placement = .whereMissing, secrets: Set<HTTPField.Name> = []) {
        self.init(placement, secrets: secrets) { _ in fields }
    }

    /// Fields made for each request.
    ///
    /// - Parameter fields: called for each lookup and for each request to the network; quick. What
    ///   it throws ends the call.
    public init(
        _ placement: Placement = .whereMissing,
        secrets: Set<HTTPField.Name> = [],
        _ fields: @escaping @Sendable (CallInfo) throws -> HTTPFields
    ) {
        self.placement = placement
        self.secrets = Secrets(fields: secrets)
        self.fields = fields
    }

    /// See ``PreparingPlugin``.
    public func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws {
        let fields = try fields(call)
        let present = Set(request.head.headerFields.map(\.name))
        if placement == .replacing {
            for name in Set(fields.map(\.name)) { request.head.headerFields[fields: name] = [] }
        }
        for field in fields where placement != .whereMissing || !present.contains(field.name) {
            request.head.headerFields.append(field)
        }
    }

    /// It waits for nothing.
    public var isReady: Bool { true }
}
