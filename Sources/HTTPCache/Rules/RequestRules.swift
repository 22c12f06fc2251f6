public import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// What holds for the requests of one kind, and for the responses to them by their content type.
///
/// One instance serves all requests that the same rules match, so that it can be remembered and
/// compared by identity.
public final class RequestRules: PolicyOverriding {
    /// What holds before a response is known.
    public let settings: ExchangeSettings
    /// Compiled from ``settings``: parameters that are taken out, and those that are not keyed.
    let dropped: ParameterNames
    let ignored: ParameterNames
    /// Whether they say anything in place of responses' own fields.
    let hasOverrides: Bool
    private let resolve: (@Sendable (String?) -> ExchangeSettings)?
    private let resolved = Mutex<[String: ExchangeSettings]>([:])
    /// Content types are chosen by origins: of more than these, the further ones are resolved each
    /// time.
    private static let rememberedLimit = 64

    /// - Parameters:
    ///   - settings: what holds whatever the content type is.
    ///   - resolve: what holds for responses of a media type (in lower case, without parameters;
    ///     `nil` where there is none), where rules ask for it.
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

    /// Whether what holds for a response depends on its content type.
    public var dependsOnContentType: Bool { resolve != nil }

    /// No rules.
    public static let none = RequestRules()

    /// These with a request's own settings over them.
    func overridden(by override: any SettingsOverriding) -> RequestRules {
        guard let resolve else { return RequestRules(settings: settings.overridden(by: override)) }
        return RequestRules(settings: settings.overridden(by: override)) { mediaType in
            resolve(mediaType).overridden(by: override)
        }
    }

    /// What holds for a response.
    public func settings(forContentType contentType: String?) -> ExchangeSettings {
        guard let resolve else { return settings }
        let mediaType = contentType.map(Self.mediaType)
        let key = mediaType ?? ""
        if let known = resolved.withLock({ $0[key] }) { return known }
        let settings = resolve(mediaType).completed
        resolved.withLock { if $0.count < Self.rememberedLimit { $0[key] = settings } }
        return settings
    }

    /// What holds for a response with these fields.
    func settings(for fields: HTTPFields) -> ExchangeSettings {
        settings(forContentType: dependsOnContentType ? fields[.contentType] : nil)
    }

    /// The policy's part of ``settings(forContentType:)``.
    public func overrides(forContentType contentType: String?) -> PolicyOverrides {
        settings(forContentType: contentType).overrides
    }

    /// Type and subtype in lower case, without parameters. RFC 9110 §8.3.1
    private static func mediaType(_ contentType: String) -> String {
        let type = contentType.prefix { $0 != ";" }.lowercased()
        return type.split(whereSeparator: { $0 == " " || $0 == "\t" }).first.map(String.init) ?? ""
    }
}

extension ExchangeSettings {
    /// With the fields that select no variant where the policy looks for them.
    fileprivate var completed: ExchangeSettings {
        guard !ignoredFields.isEmpty else { return self }
        var settings = self
        settings.overrides.ignoredFields.formUnion(ignoredFields.map(\.canonicalName))
        return settings
    }
}

extension ExchangeSettings {
    /// These with a request's own over them.
    fileprivate func overridden(by override: any SettingsOverriding) -> ExchangeSettings {
        var settings = self
        // They are put there again, in so far as they are still said.
        settings.overrides.ignoredFields.subtract(ignoredFields.map(\.canonicalName))
        override.apply(to: &settings)
        // A mode bounds, and is never widened.
        if let mode { settings.mode = OfflineMode.leastNetwork(mode, settings.mode) }
        return settings
    }
}

extension RequestRules {
    /// Gives an answer the fields that clients are to see; what is stored stays as it came.
    ///
    /// Which hold is told by the representation's type: a part of it may have another. Fields that
    /// frame the message stay.
    func edit(_ response: inout CacheResponse) {
        let edits = settings(for: response.stored?.head.fields ?? response.head.headerFields).responseFields
        guard !edits.isEmpty else { return }
        edits.apply(to: &response.head.headerFields, keeping: Self.framingFields)
    }

    /// Without them, or with others, the bytes that follow would be read as something else.
    private static let framingFields: Set<HTTPField.Name> = [
        .contentLength, .contentRange, .transferEncoding, .connection, .trailer, .upgrade,
    ]
}
