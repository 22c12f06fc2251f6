import HTTPCacheSemantics
import HTTPTypes

/// The decisions for every request that a stored response might serve.
func policyCases() -> [Case] {
    var cases: [Case] = []
    let policy = CachePolicy(kind: .shared)
    let request = Messages.request
    let response = Messages.response
    let stored = Messages.stored()
    let soon = Messages.soon
    let late = Messages.late

    cases.measure("Policy: fresh hit") { policy.reuse(of: stored, for: request, at: soon).decision }

    let one = [stored]
    cases.measure("Policy: fresh hit, of 1 variant") {
        policy.selectVariant(from: one, for: request, at: soon).map {
            policy.reuse(of: one[$0], for: request, at: soon).decision
        }
    }
    let four = ["fr", "es", "it"].map { Messages.stored(language: $0) } + [stored]
    cases.measure("Policy: fresh hit, of 4 variants") {
        policy.selectVariant(from: four, for: request, at: soon).map {
            policy.reuse(of: four[$0], for: request, at: soon).decision
        }
    }
    cases.measure("Policy: fresh hit, of 1 variant, with served fields") {
        policy.selectVariant(from: one, for: request, at: soon).map {
            let reuse = policy.reuse(of: one[$0], for: request, at: soon)
            return policy.servedFields(of: one[$0], age: reuse.freshness.age)
        }
    }
    cases.measure("Policy: stale, validation request") {
        let reuse = policy.reuse(of: stored, for: request, at: late)
        return (reuse.decision, policy.validationRequest(for: stored, request: request))
    }
    cases.measure("Policy: storability") { policy.storability(of: response, to: request, hasCredentials: false) }
    return cases
}
