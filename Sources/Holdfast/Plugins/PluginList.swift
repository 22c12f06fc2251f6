/// Plugins grouped by protocol. Grouping happens once instead of for every request.
struct PluginList: Sendable {
    private(set) var preparing: [any PreparingPlugin]
    private(set) var observing: [any ObservingPlugin]
    private(set) var recovering: [any RecoveringPlugin]
    private(set) var processing: [any ProcessingPlugin]
    private(set) var substituting: [any SubstitutingPlugin]

    init(_ plugins: [any Plugin]) {
        preparing = plugins.compactMap { $0 as? any PreparingPlugin }
        observing = plugins.compactMap { $0 as? any ObservingPlugin }
        recovering = plugins.compactMap { $0 as? any RecoveringPlugin }
        processing = plugins.compactMap { $0 as? any ProcessingPlugin }
        substituting = plugins.compactMap { $0 as? any SubstitutingPlugin }
    }

    /// Whether no plugin is involved in a call that receives a response.
    var isEmpty: Bool { preparing.isEmpty && observing.isEmpty && recovering.isEmpty && processing.isEmpty }

    /// Returns these plugins followed by a call's own plugins.
    func and(_ plugins: [any Plugin]) -> PluginList {
        guard !plugins.isEmpty else { return self }
        let others = PluginList(plugins)
        var all = self
        all.preparing += others.preparing
        all.observing += others.observing
        all.recovering += others.recovering
        all.processing += others.processing
        all.substituting += others.substituting
        return all
    }
}
