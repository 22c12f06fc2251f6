import Synchronization

/// The tokens that `POST /auth/token` has issued. Each user has at most one valid access token.
///
/// Tokens are numbered, not random: `access-harbour-3` is the third token of `harbour`. If a client
/// refreshes twice unnecessarily, it invalidates its own first token, and the number shows that.
final class AccessTokens: Sendable {
    /// The validity of an access token. It ends with the seconds or the requests, whichever are
    /// used up first.
    struct Lifetime {
        var seconds: Int
        /// The number of requests for which the token is valid; `nil` for any number.
        var requests: Int?
    }

    struct Grant {
        let accessToken: String
        /// The refresh token that is valid from now on.
        let refreshToken: String
    }

    /// The user that a valid access token identifies, and the token's number.
    struct Principal {
        let userID: String
        let number: Int
    }

    private struct Account {
        var issued = 0
        var rotations = 0
        /// The end of the latest access token's validity; `nil` before the first token and after
        /// ``expire()``.
        var expiry: Int64?
        var requestsLeft: Int?
    }

    private let accounts = Mutex<[String: Account]>([:])

    /// Issues a new access token for a refresh token; `nil` if it is not any user's current refresh
    /// token.
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

    /// Uses up one of an access token's requests, and returns the user that the token identifies;
    /// `nil` if the token is not valid.
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

    /// Expires the current access tokens. Refresh tokens stay valid.
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
