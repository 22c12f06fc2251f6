public import HTTPCacheSemantics
package import HTTPTypes
import Synchronization

/// The rules for one kind of request, and for its responses by content type.
///
/// One instance serves all requests that match the same rules, so that it can be cached and
/// compared by identity.
public final class RequestRules: PolicyOverriding {
    /// The settings that apply before a response is known.
    public let settings: ExchangeSettings
    /// The parameters to remove, and the parameters to exclude from the key, compiled from
    /// ``settings``.
    let dropped: ParameterNames
    let ignored: ParameterNames
    /// Whether the rules override any response fields.
    let hasOverrides: Bool
    private let resolve: (@Sendable (String?) -> ExchangeSettings)?
    private let resolved = Mutex<[String: ExchangeSettings]>([:])
    /// The maximum number of cached content types. Because origins choose them, additional content
    /// types are resolved on every use.
    private static let rememberedLimit = 64
    /// The approximate number of requests that used these rules.
    private let useCount = Atomic<Int64>(0)

    /// - Parameters:
    ///   - settings: the settings for every content type.
    ///   - resolve: returns the settings for responses of a media type (in lower case, without
    ///     parameters; `nil` if there is none). Pass `nil` if no rule depends on it.
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

    /// The approximate number of requests that used these rules. Hits are counted by sampling.
    package var uses: Int64 { useCount.load(ordering: .relaxed) }

    /// Adds to the number of requests.
    package func countUses(_ count: Int64) { useCount.wrappingAdd(count, ordering: .relaxed) }

    /// Whether the settings of a response depend on its content type.
    public var dependsOnContentType: Bool { resolve != nil }

    /// No rules.
    public static let none = RequestRules()

    /// Returns a copy overridden by a request's own settings.
    func overridden(by override: any SettingsOverriding) -> RequestRules {
        let settings = settings.overridden(by: override)
        guard let resolve else { return RequestRules(settings: settings) }
        return RequestRules(settings: settings) { resolve($0).overridden(by: override) }
    }

    /// Returns the settings for a response of a content type.
    public func settings(forContentType contentType: String?) -> ExchangeSettings {
        guard let resolve else { return settings }
        let mediaType = contentType?.mediaType
        let key = mediaType ?? ""
        if let known = resolved.withLock({ $0[key] }) { return known }
        let settings = resolve(mediaType).completed
        resolved.withLock { if $0.count < Self.rememberedLimit { $0[key] = settings } }
        return settings
    }

    /// Returns the settings for a response with these fields.
    package func settings(for fields: HTTPFields) -> ExchangeSettings {
        settings(forContentType: dependsOnContentType ? fields[.contentType] : nil)
    }

    /// Returns the part of ``settings(forContentType:)`` that the policy uses.
    public func overrides(forContentType contentType: String?) -> PolicyOverrides {
        settings(forContentType: contentType).overrides
    }
}

extension ExchangeSettings {
    /// A copy that also lists the ignored fields and the kept cookies where the policy looks for
    /// them. A cookie that a rule keeps is not ignored.
    fileprivate var completed: ExchangeSettings {
        guard !ignoredFields.isEmpty || cookies != nil else { return self }
        var settings = self
        if let cookies {
            settings.overrides.keptCookies = cookies.kept
            settings.overrides.ignoredFields.remove(HTTPField.Name.cookie.canonicalName)
            settings.ignoredFields.remove(.cookie)
        }
        settings.overrides.ignoredFields.formUnion(settings.ignoredFields.map(\.canonicalName))
        return settings
    }

    /// Returns a copy overridden by a request's own settings.
    fileprivate func overridden(by override: any SettingsOverriding) -> ExchangeSettings {
        var settings = self
        // The fields that are still ignored are added again later.
        settings.overrides.ignoredFields.subtract(ignoredFields.map(\.canonicalName))
        override.apply(to: &settings)
        // A request's own mode can restrict the mode but never relax it.
        if let mode { settings.mode = OfflineMode.leastNetwork(mode, settings.mode) }
        return settings
    }
}
