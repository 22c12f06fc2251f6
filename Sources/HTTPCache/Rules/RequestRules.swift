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
    /// The restrictions that apply to some of the requests.
    public let restrictions: [RequestRestriction]
    /// The rules that result from restrictions, by their indices.
    private let restrictedRules = Mutex<[[Int]: RequestRules]>([:])
    /// The maximum number of cached combinations of restrictions. Beyond it, requests share no
    /// fetch.
    private static let combinationLimit = 64
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
    ///   - restrictions: what applies to some of the requests.
    public init(
        settings: ExchangeSettings = ExchangeSettings(),
        restrictions: [RequestRestriction] = [],
        resolve: (@Sendable (_ mediaType: String?) -> ExchangeSettings)? = nil
    ) {
        self.settings = settings.completed
        self.restrictions = restrictions
        self.resolve = resolve
        dropped = ParameterNames(settings.target.droppedParameters)
        ignored = ParameterNames(settings.target.ignoredParameters)
        hasOverrides = resolve != nil || !self.settings.overrides.isEmpty
    }

    /// The approximate number of requests that used these rules. Hits are counted by sampling.
    package var uses: Int64 {
        useCount.load(ordering: .relaxed) + restrictedRules.withLock { $0.values.reduce(0) { $0 + $1.uses } }
    }

    /// Adds to the number of requests.
    package func countUses(_ count: Int64) { useCount.wrappingAdd(count, ordering: .relaxed) }

    /// Whether the settings of a response depend on its content type.
    public var dependsOnContentType: Bool { resolve != nil }

    /// No rules.
    public static let none = RequestRules()

    /// Returns a copy overridden by a request's own settings.
    func overridden(by override: any SettingsOverriding) -> RequestRules {
        let settings = settings.overridden(by: override)
        guard let resolve else { return RequestRules(settings: settings, restrictions: restrictions) }
        return RequestRules(settings: settings, restrictions: restrictions) { resolve($0).overridden(by: override) }
    }

    /// Returns the rules for one request: with the restrictions whose conditions it meets. Requests
    /// that meet the same conditions get the same instance.
    package func restricted(for request: HTTPRequest) -> RequestRules {
        if restrictions.isEmpty { return self }
        let holding = restrictions.indices.filter { restrictions[$0].conditions.hold(for: request) }
        if holding.isEmpty { return self }
        return restrictedRules.withLock { known in
            if let same = known[holding] { return same }
            let applied = holding.map { restrictions[$0] }
            let made = restricted(by: applied)
            if known.count < Self.combinationLimit { known[holding] = made }
            return made
        }
    }

    private func restricted(by applied: [RequestRestriction]) -> RequestRules {
        let restrict: @Sendable (ExchangeSettings) -> ExchangeSettings = { settings in
            var settings = settings
            for restriction in applied { restriction.apply(to: &settings) }
            return settings
        }
        guard let resolve else { return RequestRules(settings: restrict(settings)) }
        return RequestRules(settings: restrict(settings)) { restrict(resolve($0)) }
    }

    /// Returns the approximate number of requests that met each restriction.
    package var restrictionUses: [Int64] {
        var uses = [Int64](repeating: 0, count: restrictions.count)
        for (holding, rules) in restrictedRules.withLock({ $0 }) {
            for index in holding { uses[index] += max(1, rules.uses) }
        }
        return uses
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
