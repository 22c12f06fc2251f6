import HTTPCacheSemantics
import HTTPTypes

extension Explanation.Request {
    /// Request fields that count for caching whatever is stored. RFC 9111 §5, RFC 9110 §13, §14
    private static let countingNames: Set<String> = [
        "cache-control", "pragma", "range", "if-range", "if-match", "if-none-match", "if-modified-since",
        "if-unmodified-since",
    ]

    /// - Parameter names: further fields that count, in lower case: what `Vary` names.
    init(_ head: HTTPRequest, counting names: Set<String>) {
        let counting = HTTPFields(
            head.headerFields.filter {
                let name = $0.name.canonicalName
                return Self.countingNames.contains(name) || names.contains(name)
                    || CredentialPartition.isCredential($0)
            }
        )
        self.init(
            method: head.method.rawValue,
            target: head.redactedTarget,
            sentTarget: head.redactedTarget,
            fields: redactedFields(counting).map { Explanation.Field(name: $0.name.rawName, value: $0.value) },
            changes: []
        )
    }
}

extension Explanation.Arithmetic {
    init(_ stored: StoredResponseHead, _ policy: CachePolicy, at now: Timestamp) {
        let freshness = policy.freshness(of: stored, at: now)
        let grounds = policy.freshnessGrounds(of: stored)
        let end = policy.freshUntil(stored)
        self.init(
            dateValue: grounds.date,
            ageValue: grounds.age,
            requestTime: stored.requestTime,
            responseTime: stored.responseTime,
            apparentAge: freshness.age.apparentAge,
            responseDelay: freshness.age.responseDelay,
            correctedAgeValue: freshness.age.correctedAgeValue,
            correctedInitialAge: freshness.age.correctedInitialAge,
            residentTime: freshness.age.residentTime,
            currentAge: freshness.age.milliseconds,
            freshnessLifetime: freshness.lifetime.milliseconds,
            lifetimeSource: freshness.lifetime.source.rawValue,
            lifetimeFields: grounds.lifetimeFields.map { Explanation.Field(name: $0.name.rawName, value: $0.value) },
            isFresh: freshness.isFresh,
            freshUntil: end < .distantFuture ? end : nil
        )
    }
}

extension Explanation.Change {
    init(at instant: Timestamp, ending: String) {
        self.init(at: instant, ending: ending, now: nil, unreachable: nil, failing: nil, offline: nil)
    }

    var isAny: Bool { now != nil || unreachable != nil || failing != nil || offline != nil }
}

extension CacheEngine {
    /// Of a request that goes past the store: a method, content or rule that allows no stored answer, or a caller that wants none.
    func explainForwarding(of request: CacheRequest, to target: TargetURI, at now: Timestamp) -> Explanation {
        func verdict(_ situation: Foresight.Situation) -> Explanation.Verdict {
            let mode = situation == .offline ? .offline : mode
            let machine = ExchangeMachine(
                request: request,
                selecting: request.head,
                mode: mode,
                policy: policy,
                now: now
            )
            var course = Foresight.Course.fetch(
                ExchangeMachine.Fetch(request: request.head, validating: nil, reason: request.forwardReason)
            )
            if let refusal = refusalToForward(request, to: target, mode: mode) {
                course = .refuse(refusal)
            } else if situation == .unreachable,
                case .refuse(var refusal) = machine.originFailed(Foresight.unreachable)
            {
                refusal.outcome.forward = request.forwardReason
                course = .refuse(refusal)
            } else if situation == .failing, case .fetch(let fetch) = course {
                course = .pass(fetch, status: .serviceUnavailable)
            }
            return Explanation.Verdict(
                Foresight.Outcome(
                    course: course,
                    question: .asked,
                    considered: nil,
                    preference: machine.preference,
                    mode: mode
                ),
                nil,
                situation,
                status: nil
            )
        }
        return Explanation(
            at: now,
            cache: policy.kind == .shared ? "shared" : "private",
            mode: mode,
            request: Explanation.Request(request.head, counting: []),
            rules: [],
            key: nil,
            variants: [],
            isStoreReadable: true,
            selection: nil,
            freshness: nil,
            origin: nil,
            now: verdict(.reachable),
            unreachable: verdict(.unreachable),
            failing: verdict(.failing),
            offline: verdict(.offline),
            changes: []
        )
    }
}
