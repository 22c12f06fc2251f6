public import HoldfastConfiguration
public import OfflineStore

extension CacheManager.Configuration {
    /// Creates the store's settings from a configuration file. Settings that the file omits keep
    /// their defaults.
    public init(_ store: HoldfastConfiguration.Configuration.Store) {
        self.init()
        if let bytes = store.budget { budget = bytes }
        if let bytes = store.memory { memoryBudget = bytes }
        if let bytes = store.maximumResidentBody { maximumResidentBody = bytes }
        if let variants = store.variantsPerKey { maximumVariantsPerKey = variants }
        if let isOn = store.securelyDeletes { securelyDeletes = isOn }
        if let isOn = store.keepsOfflineCopies {
            evictionOrder = isOn ? .keepingOfflineCopies : .leastRecentlyUsed
        }
        // Sort the quotas, so that their order is the same in every process.
        quotas = store.tagQuotas.sorted { $0.key < $1.key }.map { .tag($0.key, bytes: $0.value) }
        quotas += store.originQuotas.sorted { $0.key < $1.key }.map { .origin($0.key, bytes: $0.value) }
        if let bytes = store.eachOriginQuota { quotas.append(.everyOrigin(bytes: bytes)) }
    }
}
