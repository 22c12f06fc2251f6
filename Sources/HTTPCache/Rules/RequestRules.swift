public import HTTPCacheSemantics
import Synchronization

/// What holds for the requests of one kind, and for the responses to them by their content type.
///
/// One instance serves all requests that the same rules match, so that it can be remembered and compared by identity.
public final class RequestRules: PolicyOverriding {
    /// What holds before a response is known.
    public let settings: ExchangeSettings
    private let resolve: (@Sendable (String?) -> ExchangeSettings)?
    private let resolved = Mutex<[String: ExchangeSettings]>([:])
    /// Content types are chosen by origins: of more than these, the further ones are resolved each time.
    private static let rememberedLimit = 64

    /// - Parameters:
    ///   - settings: what holds whatever the content type is.
    ///   - resolve: what holds for responses of a media type (in lower case, without parameters; `nil` where there is none), where rules ask for it.
    public init(
        settings: ExchangeSettings = ExchangeSettings(),
        resolve: (@Sendable (_ mediaType: String?) -> ExchangeSettings)? = nil
    ) {
        self.settings = settings
        self.resolve = resolve
    }

    /// No rules.
    public static let none = RequestRules()

    /// What holds for a response.
    public func settings(forContentType contentType: String?) -> ExchangeSettings {
        guard let resolve else { return settings }
        let mediaType = contentType.map(Self.mediaType)
        let key = mediaType ?? ""
        if let known = resolved.withLock({ $0[key] }) { return known }
        let settings = resolve(mediaType)
        resolved.withLock { if $0.count < Self.rememberedLimit { $0[key] = settings } }
        return settings
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
