import Foundation
import Holdfast

// See IgnoredRequest.swift.

private struct OtherTypes: Endpoint {
    let path = "/x"
    let storage: Bool  // ignored: expects 'CacheRequest.Storage'
    let rule: Rule  // ignored: expects 'RuleSettings' or 'RuleSettings?'
    let offlineReads: Bool  // ignored: expects 'OfflineReads' or 'OfflineReads?'
    let tags: Set<String>  // ignored: expects '[String]'
    let strategy: String  // ignored: expects 'SingleValueStrategy'
    let invalidates: StoreInvalidation  // ignored: expects '[StoreInvalidation]'
    let invalidatesTarget: String  // ignored: expects 'Bool'
}

private struct OtherNames: Endpoint {
    let path = "/x"
    let storages: CacheRequest.Storage  // ignored: 'storage' of type
    let rules: RuleSettings  // ignored: 'rule' of type
    let offlineRead: OfflineReads?  // ignored: 'offlineReads' of type
    let tag: [String]  // ignored: 'tags' of type
    let stratgy: SingleValueStrategy  // ignored: 'strategy' of type
    let invalidate: [StoreInvalidation]  // ignored: 'invalidates' of type
    let invalidateTarget: Bool  // ignored: 'invalidatesTarget' of type
}

private enum Computed: Endpoint {
    case feed
    var path: String { "/x" }
    var storage: CacheRequest.Storage? { nil }  // ignored: expects 'CacheRequest.Storage'
    var rule: [RuleSettings] { [] }  // ignored: its type is '[RuleSettings]'
    var offline: OfflineReads { .despiteDirectives }  // ignored: 'offlineReads' of type
    var tags: [String]? { nil }  // ignored: its type is '[String]?'
    var cacheStrategy: SingleValueStrategy { .storedFirst }  // ignored: 'strategy' of type
    var invalidates: [String] { [] }  // ignored: its type is '[String]'
    var invalidatesTarget: Bool? { nil }  // ignored: its type is 'Bool?'
}
