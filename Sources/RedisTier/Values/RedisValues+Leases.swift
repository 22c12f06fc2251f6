package import FleetTier
import NIOCore

extension RedisValues {
    package func lead(
        _ lease: FetchLease,
        for duration: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> LeaseAnswer {
        let token = lease.token.description
        // `NX` together with `GET` requires Redis 7.0. The reply is the existing token.
        let reply = try await perform(
            RedisCommand(
                "SET",
                .text(lease.name.text),
                .text(token),
                "NX",
                "GET",
                "PX",
                .integer(try duration.lifetime())
            ),
            about: lease.name,
            within: limit
        )
        switch try ValueReplies.value(reply).map({ String(buffer: $0) }) {
        case nil, token: return .led
        case LeaseToken.pass: return .pass
        default: return .held
        }
    }

    package func readValue(
        at value: ValueName,
        lease: ValueName,
        within limit: Duration
    ) async throws(FleetLogError) -> LeaseReading {
        let found = try await values([value, lease], within: limit)
        let state: LeaseReading.State =
            switch found[1].map({ String(buffer: $0) }) {
            case nil: .free
            case LeaseToken.pass: .pass
            default: .held
            }
        return LeaseReading(value: found[0], lease: state)
    }

    package func renew(
        _ lease: FetchLease,
        for duration: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Bool {
        try ValueReplies.flag(
            try await run(
                .renew,
                about: lease.name,
                keys: [.text(lease.name.text)],
                [.text(lease.token.description), .integer(try duration.lifetime())],
                within: limit
            )
        )
    }

    package func release(_ lease: FetchLease, within limit: Duration) async throws(FleetLogError) -> Bool {
        try ValueReplies.flag(
            try await run(
                .release,
                about: lease.name,
                keys: [.text(lease.name.text)],
                [.text(lease.token.description)],
                within: limit
            )
        )
    }

    package func pass(_ lease: ValueName, for duration: Duration, within limit: Duration) async throws(FleetLogError) {
        let command = RedisCommand(
            "SET",
            .text(lease.text),
            .text(LeaseToken.pass),
            "PX",
            .integer(try duration.lifetime())
        )
        try ValueReplies.done(try await perform(command, about: lease, within: limit))
    }
}
