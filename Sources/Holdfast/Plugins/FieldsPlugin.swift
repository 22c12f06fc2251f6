public import HTTPCache
public import HTTPTypes

/// Adds fields to requests: a user agent, languages, a request id.
///
/// ```swift
/// let plugins: [any Plugin] = [
///     FieldsPlugin([.userAgent: "harbour/3.1", .acceptLanguage: "de, en;q=0.5"]),
///     FieldsPlugin(secrets: [.tenant]) { call in [.tenant: Tenant.current.key] },
/// ]
/// ```
///
/// A field that responses vary by (`Vary`) separates stored responses. A field with a new value
/// each time, such as a request id, should not be one of them.
public struct FieldsPlugin: PreparingPlugin {
    /// How fields of the same name are treated.
    public enum Placement: Sendable, Hashable {
        /// Existing fields stay, and these are not added: endpoint and client take precedence.
        case whereMissing
        /// Existing fields are removed.
        case replacing
        /// Existing fields stay, and these follow them.
        case appending
    }

    /// See ``PreparingPlugin``.
    public let secrets: Secrets
    private let placement: Placement
    private let fields: @Sendable (CallInfo) throws -> HTTPFields

    /// Adds the same fields to each request.
    ///
    /// - Parameters:
    ///   - placement: how fields of the same name are treated. By default existing ones stay.
    ///   - secrets: the fields whose values must not occur in logs, errors and the store, and that
    ///     separate stored responses. Fields such as `Authorization` need not be named.
    public init(_ fields: HTTPFields, _ placement: Placement = .whereMissing, secrets: Set<HTTPField.Name> = []) {
        self.init(placement, secrets: secrets) { _ in fields }
    }

    /// Adds fields that are made for each request.
    ///
    /// - Parameter fields: called for each lookup and for each request to the network; it must be
    ///   quick. An error that it throws ends the call.
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

    /// `true`: it never waits.
    public var isReady: Bool { true }
}
