package import HTTPCacheSemantics
package import HTTPTypes

extension CacheEngine {
    /// Applies the rules to a request. Returns `nil` if the request has no `http` or `https`
    /// target.
    ///
    /// Rules change a request only here: exchanges, keys, invalidations and explanations all use
    /// this method.
    package func prepare(_ request: consuming CacheRequest) -> PreparedRequest? {
        job?.adapt(&request)
        let version = settingsVersion
        let rules = rules(for: request)
        let snapshot = PreparedRequest.Snapshot(
            policy: policy,
            partitions: partitions,
            modes: modes,
            staleness: staleness,
            selectsByScheme: selectsByScheme,
            contact: contactLease?.contact ?? .lasting,
            job: job,
            settingsVersion: version
        )
        return PreparedRequest(request, rules: rules, snapshot)
    }

    /// Returns whether rules may add a POST's content to its key, in which case the content must be
    /// in memory. Code that reads the content from a connection checks this first.
    package func mayKeyContent(of request: HTTPRequest) -> Bool {
        guard request.method == .post else { return false }
        return job?.use.keysPosts == true || rules?.rules(for: request).settings.mayKeyContent ?? false
    }

    /// Returns the rules for a request, overridden by the job's settings or its own; `nil` if there
    /// are none of these.
    func rules(for request: CacheRequest) -> RequestRules? {
        let rules = rules
        let ofJob = job?.settings(for: request.head.method, hasRules: rules != nil)
        guard request.hasRareParts || ofJob != nil else {
            return rules?.rules(for: request.head).restricted(for: request.head)
        }
        let head = request.ruledHead
        let found = rules?.rules(for: head)
        let own: (any SettingsOverriding)? = ofJob ?? request.overrides
        guard let override = own else { return found?.restricted(for: head) }
        // A request's own settings lift no restriction.
        return overrides.rules(found ?? .none, override).restricted(for: head)
    }

    /// Returns the targets under which responses to requests for this target are stored. These are
    /// the target itself, and the targets that rules change it to for each method with stored
    /// responses.
    ///
    /// Invalidation and purging cover all of them. Without rules, there is only the target itself.
    ///
    /// - Parameters:
    ///   - request: a request whose method is always included.
    ///   - override: a request's own settings, which apply in addition to the rules.
    package func keyedTargets(
        of target: TargetURI,
        like request: HTTPRequest? = nil,
        overriding override: (any SettingsOverriding)? = nil
    ) -> [TargetURI] {
        guard rules != nil || override != nil else { return [target] }
        return target.keyed(like: request?.method) { head in
            let base = rules?.rules(for: head) ?? .none
            return [base] + (override.map { [overrides.rules(base, $0)] } ?? [])
        }
    }
}

extension TargetURI {
    /// Returns the targets under which responses to requests for this target are stored: the target
    /// itself, and those that rules change it to for each method with stored responses.
    ///
    /// - Parameters:
    ///   - method: a method that is always included.
    ///   - rules: returns the rules for a request.
    package func keyed(
        like method: HTTPRequest.Method? = nil,
        by rules: (HTTPRequest) -> [RequestRules]
    ) -> [TargetURI] {
        var result = [self]
        var methods: [HTTPRequest.Method] = [.get, .head, .post]
        if let query = HTTPRequest.Method(rawValue: "QUERY") { methods.append(query) }
        if let method, !methods.contains(method) { methods.append(method) }
        for method in methods {
            let head = HTTPRequest(method: method, scheme: scheme, authority: authority, path: requestTarget)
            for found in rules(head) {
                let keyed = rewritten(dropping: found.dropped, sorting: found.settings.target.sortsParameters)
                    .ignoring(found.ignored)
                if !result.contains(keyed) { result.append(keyed) }
            }
        }
        return result
    }
}
