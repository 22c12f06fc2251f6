import Crypto
import HTTPCache
import HTTPCacheSemantics
import NIOCore
import Synchronization

/// The sessions of status pages in browsers. A page exchanges a one-time code for a token.
///
/// Sessions are kept only in memory, so a restart ends all of them. Only the digests of codes and
/// tokens are kept.
final class PageSessions: Sendable {
    /// A code for one session. It may appear in a URL, because it expires within a minute.
    struct Code: Sendable, Hashable {
        /// 128 random bits, as hexadecimal digits.
        let text: String
        let expiresAt: Timestamp
    }

    /// A running session.
    struct Session: Sendable, Hashable {
        /// 256 random bits, as hexadecimal digits.
        let token: String
        let client: ControlClient
        let expiresAt: Timestamp
    }

    fileprivate struct Secret {
        let digest: SHA256Digest
        let client: ControlClient
        let deadline: NIODeadline
        let expiresAt: Timestamp
    }

    private struct State {
        var codes: [Secret] = []
        var sessions: [Secret] = []
    }

    static let codeLife = TimeAmount.seconds(60)
    static let sessionLife = TimeAmount.hours(8)
    /// The maximum number of unused codes per client. A new code replaces the oldest.
    static let maximumCodes = 4
    /// The maximum number of sessions per client. A new session ends the oldest.
    static let maximumSessions = 16
    /// The maximum number of codes, and of sessions, of all clients together. New codes and
    /// sessions are then rejected, so that no client can end another client's sessions.
    static let maximumOfAll = 1024

    private let state = Mutex(State())
    private let clock: any WallClock
    private let now: @Sendable () -> NIODeadline
    private let random: @Sendable (_ bytes: Int) -> String

    /// Creates an empty set of sessions.
    ///
    /// - Parameters:
    ///   - clock: the wall clock for the end times that are shown.
    ///   - now: the monotonic clock that decides when codes and sessions expire.
    ///   - random: returns the given number of random bytes as hexadecimal digits.
    init(
        clock: any WallClock = SystemWallClock(),
        now: @escaping @Sendable () -> NIODeadline = { .now() },
        random: @escaping @Sendable (_ bytes: Int) -> String = PageSessions.randomDigits
    ) {
        self.clock = clock
        self.now = now
        self.random = random
    }

    /// Creates a code for a session with the client's name and scope.
    ///
    /// - Throws: ``ControlProblem`` if all clients together have reached the limit.
    func makeCode(for client: ControlClient) throws(ControlProblem) -> Code {
        let text = random(16)
        let secret = secret(text, of: client, for: Self.codeLife)
        let now = self.now()
        guard state.withLock({ $0.codes.append(secret, atMost: Self.maximumCodes, at: now) }) else {
            throw Self.full(
                "unused codes exist, which is the limit for all clients together. Wait a minute for some to expire"
            )
        }
        return Code(text: text, expiresAt: secret.expiresAt)
    }

    private static func full(_ what: String) -> ControlProblem {
        ControlProblem(
            .tooManySessions,
            "\(maximumOfAll) \(what), or use the Unix socket.",
            limit: maximumOfAll
        )
    }

    /// Exchanges a code for a session.
    ///
    /// A wrong code does not count as a failed attempt. A code has 128 random bits and is valid for
    /// a minute, so it cannot be guessed. A stranger's guesses must not affect operators behind the
    /// same address.
    ///
    /// - Throws: ``ControlProblem`` if the code is wrong, used or expired, or if all clients
    ///   together have reached the limit of sessions. In the last case, the code stays valid.
    func session(for code: String) throws(ControlProblem) -> Session {
        if let session = try begin(code: code) { return session }
        throw ControlProblem(
            .codeNotValid,
            "The code is wrong, already used, or older than \(Self.codeLife.nanoseconds / 1_000_000_000) s. Run 'holdfast inspect' again.",
            field: "code"
        )
    }

    /// Starts a session and uses up the code.
    ///
    /// - Returns: `nil` if the code is wrong, used or expired.
    /// - Throws: ``ControlProblem`` if all clients together have reached the limit of sessions.
    func begin(code: String) throws(ControlProblem) -> Session? {
        let (digest, now) = (Self.digest(code), now())
        let token = random(32)
        let session = try state.withLock { state throws(ControlProblem) -> Secret? in
            guard let index = state.codes.index(of: digest), now < state.codes[index].deadline else { return nil }
            let session = secret(token, of: state.codes[index].client, for: Self.sessionLife)
            guard state.sessions.append(session, atMost: Self.maximumSessions, at: now) else {
                throw Self.full(
                    "sessions are open, which is the limit for all clients together. End sessions that are not in use"
                )
            }
            state.codes.remove(at: index)
            return session
        }
        return session.map { Session(token: token, client: $0.client, expiresAt: $0.expiresAt) }
    }

    /// Returns the client whose session a token belongs to, or `nil` if there is no such session.
    func client(presenting token: String) -> ControlClient? {
        let (digest, now) = (Self.digest(token), now())
        return state.withLock { state in
            state.sessions.index(of: digest).map { state.sessions[$0] }.flatMap { now < $0.deadline ? $0.client : nil }
        }
    }

    /// Ends the session of a token.
    ///
    /// - Returns: whether there was a session.
    func end(token: String) -> Bool {
        let digest = Self.digest(token)
        return state.withLock { state in
            guard let index = state.sessions.index(of: digest) else { return false }
            state.sessions.remove(at: index)
            return true
        }
    }

    /// Returns the time when a token's session ends, or `nil` if there is no such session.
    func end(ofToken token: String) -> Timestamp? {
        let digest = Self.digest(token)
        return state.withLock { state in state.sessions.index(of: digest).map { state.sessions[$0].expiresAt } }
    }

    private func secret(_ text: String, of client: ControlClient, for life: TimeAmount) -> Secret {
        Secret(
            digest: Self.digest(text),
            client: client,
            deadline: now() + life,
            expiresAt: Timestamp(milliseconds: clock.now().milliseconds + life.nanoseconds / 1_000_000)
        )
    }

    private static func digest(_ text: String) -> SHA256Digest { SHA256.hash(data: Array(text.utf8)) }

    /// Returns random bytes from the system's generator, as hexadecimal digits.
    static func randomDigits(_ bytes: Int) -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<bytes).map { _ in
            let byte = UInt8.random(in: .min ... .max, using: &random)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

extension [PageSessions.Secret] {
    /// Returns the index of a digest. All digests are compared, each in constant time, so the
    /// timing does not reveal which digest matched.
    fileprivate func index(of digest: SHA256Digest) -> Int? {
        var found: Int?
        for (index, secret) in enumerated() {
            let isEqual = secret.digest == digest
            if isEqual { found = index }
        }
        return found
    }

    /// Adds a secret. If its client has reached the limit, the secret replaces that client's
    /// oldest, so that no client can end another client's sessions.
    ///
    /// - Returns: `false` if all clients together have reached the limit.
    fileprivate mutating func append(_ secret: PageSessions.Secret, atMost limit: Int, at now: NIODeadline) -> Bool {
        removeAll { $0.deadline <= now }
        if count(where: { $0.client == secret.client }) >= limit,
            let oldest = firstIndex(where: { $0.client == secret.client })
        {
            remove(at: oldest)
        }
        guard count < PageSessions.maximumOfAll else { return false }
        append(secret)
        return true
    }
}
