public import HTTPCacheSemantics
package import HTTPTypes
import Synchronization

/// The rules for one kind of request, and for its responses by their content type.
///
/// One instance serves all requests that match the same rules, so that it can be remembered and
/// compared by identity.
public final class RequestRules: PolicyOverriding {
    /// The settings that apply before a response is known.
    public let settings: ExchangeSettings
    /// Parameters that are removed, and those that are not keyed, compiled from ``settings``.
    let dropped: ParameterNames
    let ignored: ParameterNames
    /// Whether the rules override any fields of responses.
    let hasOverrides: Bool
    private let resolve: (@Sendable (String?) -> ExchangeSettings)?
    private let resolved = Mutex<[String: ExchangeSettings]>([:])
    /// The most content types that are remembered. Origins choose them, so further ones are
    /// resolved each time.
    private static let rememberedLimit = 64
    /// The requests for which they were used, about.
    private let useCount = Atomic<Int64>(0)

    /// - Parameters:
    ///   - settings: the settings for every content type.
    ///   - resolve: returns the settings for responses of a media type (in lower case, without
    ///     parameters; `nil` if there is none), if rules depend on it.
    public init(
        settings: ExchangeSettings = ExchangeSettings(),
        resolve: (@Sendable (_ mediaType: String?) -> ExchangeSettings)? = nil
    ) {
        self.settings = settings.completed
        self.resolve = resolve
        dropped = ParameterNames(settings.target.droppedParameters)
        ignored = ParameterNames(settings.target.ignoredParameters)
        hasOverrides = resolve != nil || !self.settings.overrides.isEmpty
    }

    /// The requests for which they were used, about: hits are counted by samples.
    package var uses: Int64 { useCount.load(ordering: .relaxed) }

    /// Counts requests.
    package func countUses(_ count: Int64) { useCount.wrappingAdd(count, ordering: .relaxed) }

    /// Whether the settings of a response depend on its content type.
    public var dependsOnContentType: Bool { resolve != nil }

    /// No rules.
    public static let none = RequestRules()

    /// A copy with a request's own settings over it.
    func overridden(by override: any SettingsOverriding) -> RequestRules {
        let settings = settings.overridden(by: override)
        guard let resolve else { return RequestRules(settings: settings) }
        return RequestRules(settings: settings) { resolve($0).overridden(by: override) }
    }

    /// The settings for a response of a content type.
    public func settings(forContentType contentType: String?) -> ExchangeSettings {
        guard let resolve else { return settings }
        let mediaType = contentType?.mediaType
        let key = mediaType ?? ""
        if let known = resolved.withLock({ $0[key] }) { return known }
        let settings = resolve(mediaType).completed
        resolved.withLock { if $0.count < Self.rememberedLimit { $0[key] = settings } }
        return settings
    }

    /// The settings for a response with these fields.
    package func settings(for fields: HTTPFields) -> ExchangeSettings {
        settings(forContentType: dependsOnContentType ? fields[.contentType] : nil)
    }

    /// The part of ``settings(forContentType:)`` that the policy uses.
    public func overrides(forContentType contentType: String?) -> PolicyOverrides {
        settings(forContentType: contentType).overrides
    }
}

extension String {
    /// The type and subtype of a content type, in lower case, without parameters. RFC 9110 §8.3.1
    var mediaType: String {
        let type = prefix { $0 != ";" }.lowercased()
        return type.split(whereSeparator: { $0 == " " || $0 == "\t" }).first.map(String.init) ?? ""
    }
}

extension ExchangeSettings {
    /// A copy in which the ignored fields are also where the policy looks for them.
    fileprivate var completed: ExchangeSettings {
        guard !ignoredFields.isEmpty else { return self }
        var settings = self
        settings.overrides.ignoredFields.formUnion(ignoredFields.map(\.canonicalName))
        return settings
    }

    /// A copy with a request's own settings over it.
    fileprivate func overridden(by override: any SettingsOverriding) -> ExchangeSettings {
        var settings = self
        // Those that still apply are added again later.
        settings.overrides.ignoredFields.subtract(ignoredFields.map(\.canonicalName))
        override.apply(to: &settings)
        // A mode narrows, and is never widened.
        if let mode { settings.mode = OfflineMode.leastNetwork(mode, settings.mode) }
        return settings
    }
}

extension RequestRules {
    /// Edits the fields of a response for the client. The stored response stays as it came.
    ///
    /// Fields that name tags are removed first, so that a rule can set a field of such a name.
    ///
    /// The type of the whole representation decides which rules apply, because a part may have
    /// another type. Fields that frame the message stay.
    func edit(_ response: inout CacheResponse) {
        let settings = settings(for: response.stored?.head.fields ?? response.head.headerFields)
        let tags = settings.tagFields
        tags.withhold(from: &response.head.headerFields)
        // Closures are made for few responses alone.
        if !tags.isEmpty, response.body.trailedContent != nil {
            response.body = response.body.droppingTrailers { name in tags.contains { $0.name == name } }
        }
        let edits = settings.responseFields
        guard !edits.isEmpty else { return }
        edits.apply(to: &response.head.headerFields, keeping: Self.framingFields)
        response.body = edits.apply(toTrailersOf: response.body)
    }

    /// Fields that frame the message. If they were removed or changed, the bytes that follow would
    /// be misread.
    private static let framingFields: Set<HTTPField.Name> = [
        .contentLength, .contentRange, .transferEncoding, .connection, .trailer, .upgrade,
    ]
}
