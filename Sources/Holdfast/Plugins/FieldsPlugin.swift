public import HTTPCache
public import HTTPTypes

/// Adds fields to requests, such as a user agent, languages or a request ID.
///
/// ```swift
/// let plugins: [any Plugin] = [
///     FieldsPlugin([.userAgent: "harbour/3.1", .acceptLanguage: "de, en;q=0.5"]),
///     FieldsPlugin(secrets: [.tenant]) { call in [.tenant: Tenant.current.key] },
/// ]
/// ```
///
/// Fields named in `Vary` separate stored responses. A field whose value changes with every
/// request, such as a request ID, should not be named in `Vary`.
public struct FieldsPlugin: PreparingPlugin {
    /// How to treat existing fields with the same name.
    public enum Placement: Sendable, Hashable {
        /// Existing fields stay, and the plugin's fields are not added. Fields of the endpoint and
        /// the client take precedence.
        case whereMissing
        /// Existing fields are removed.
        case replacing
        /// Existing fields stay, and the plugin's fields follow them.
        case appending
    }

    /// See ``PreparingPlugin``.
    public let secrets: Secrets
    private let placement: Placement
    private let fields: @Sendable (CallInfo) throws -> HTTPFields

    /// Adds the same fields to every request.
    ///
    /// - Parameters:
    ///   - placement: how to treat existing fields with the same name. By default, they stay.
    ///   - secrets: the fields whose values must not appear in logs, errors or the store, and that
    ///     separate stored responses. You need not list fields such as `Authorization`.
    public init(_ fields: HTTPFields, _ placement: Placement = .whereMissing, secrets: Set<HTTPField.Name> = []) {
        self.init(placement, secrets: secrets) { _ in fields }
    }

    /// Adds fields that are created for each request.
    ///
    /// - Parameter fields: called as often as ``PreparingPlugin/prepare(_:for:)``, and its errors
    ///   have the same effect. It must return quickly.
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

    /// Always `true`, because the plugin never waits.
    public var isReady: Bool { true }
}
