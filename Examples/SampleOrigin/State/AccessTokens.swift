import Synchronization

/// The tokens that `POST /auth/token` has issued, one valid access token per user at a time.
///
/// They are numbered, not random: `access-harbour-3` is the third for `harbour`. A client that
/// refreshes twice without need invalidates its own first token, and the number shows it.
final class AccessTokens: Sendable {
    /// How long an access token is good for, whichever ends first.
    struct Lifetime {
        var seconds: Int
        /// How many requests it serves; `nil` for any number.
        var requests: Int?
    }

    struct Grant {
        let accessToken: String
        /// The refresh token that is valid from now on.
        let refreshToken: String
    }

    /// Whom a valid access token stands for, and its number.
    struct Principal {
        let userID: String
        let number: Int
    }

    private struct Account {
        var issued = 0
        var rotations = 0
        /// The latest access token's end; `nil` before the first and after it was expired.
        var expiry: Int64?
        var requestsLeft: Int?
    }

    private let accounts = Mutex<[String: Account]>([:])

    /// Gives a new access token for a refresh token; `nil` when that is not the valid one of any
    /// user.
    func refresh(_ refreshToken: String, lifetime: Lifetime, isRotating: Bool, now: Int64) -> Grant? {
        accounts.withLock { accounts in
            let owner = MomentsFeed.users.map(\.id).first { Self.refreshToken($0, accounts[$0]) == refreshToken }
            guard let owner else { return nil }
            var account = accounts[owner] ?? Account()
            account.issued += 1
            account.expiry = now + Int64(lifetime.seconds)
            account.requestsLeft = lifetime.requests
            if isRotating { account.rotations += 1 }
            accounts[owner] = account
            return Grant(
                accessToken: Self.accessToken(owner, account),
                refreshToken: Self.refreshToken(owner, account)
            )
        }
    }

    /// Whom an access token stands for, using up one of its requests; `nil` when it is not, or no
    /// longer, valid.
    func use(_ accessToken: String, now: Int64) -> Principal? {
        accounts.withLock { accounts in
            for (userID, account) in accounts where Self.accessToken(userID, account) == accessToken {
                guard let expiry = account.expiry, now < expiry, account.requestsLeft != 0 else { return nil }
                accounts[userID]?.requestsLeft = account.requestsLeft.map { $0 - 1 }
                return Principal(userID: userID, number: account.issued)
            }
            return nil
        }
    }

    /// Ends the access tokens that are valid now; refresh tokens stay.
    func expire() {
        accounts.withLock { accounts in
            for userID in accounts.keys { accounts[userID]?.expiry = nil }
        }
    }

    func reset() {
        accounts.withLock { $0.removeAll() }
    }

    private static func accessToken(_ userID: String, _ account: Account) -> String {
        "access-\(userID)-\(account.issued)"
    }

    private static func refreshToken(_ userID: String, _ account: Account?) -> String {
        let rotations = account?.rotations ?? 0
        return rotations == 0 ? "refresh-\(userID)" : "refresh-\(userID)-\(rotations)"
    }
}
