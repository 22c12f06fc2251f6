import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// The URLs under which a service without routes stores the responses to a URL: the URL itself, and
/// those that rules change it to.
struct RuledURLs: OriginURLFinding {
    let rules: any ExchangeRules

    func originURLs(of url: TargetURI) -> [OriginURL] {
        url.keyed { [rules.rules(for: $0)] }.map { OriginURL($0) }
    }

    func originPrefixes(of prefix: TargetURI) -> [OriginURL] { [] }
}
