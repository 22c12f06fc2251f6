import Crypto
import HTTPCache
import HTTPCacheSemantics
import NIOCore
import Synchronization

/// The sessions of pages in browsers: a code, which works once, is exchanged for a token.
///
/// All of it is in memory: a restart ends every session. Only digests are kept.
final class PageSessions: Sendable {
    /// A code for one session. It may be shown in an address: it is soon worth nothing.
    struct Code: Sendable, Hashable {
        /// 128 random bits.
        let text: String
        let expiresAt: Timestamp
    }

    /// A session that has begun.
    struct Session: Sendable, Hashable {
        /// 256 random bits.
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
    /// The most codes of a client that wait. A further one replaces its oldest.
    static let maximumCodes = 4
    /// The most sessions of a client. A further one ends its oldest.
    static let maximumSessions = 16
    /// The most codes of all clients, and the most sessions. A further one is refused, so that no
    /// client ends the sessions of others.
    static let maximumOfAll = 1024

    private let state = Mutex(State())
    private let clock: any WallClock
    private let now: @Sendable () -> NIODeadline
    private let random: @Sendable (_ bytes: Int) -> String

    /// - Parameters:
    ///   - clock: for the ends that are shown.
    ///   - now: the monotonic clock that decides.
    ///   - random: hexadecimal digits of that many random bytes.
    init(
        clock: any WallClock = SystemWallClock(),
        now: @escaping @Sendable () -> NIODeadline = { .now() },
        random: @escaping @Sendable (_ bytes: Int) -> String = PageSessions.randomDigits
    ) {
        self.clock = clock
        self.now = now
        self.random = random
    }

    /// Makes a code for a session with the client's name and scope.
    ///
    /// - Throws: ``ControlProblem`` if all clients together have as many as there may be.
    func makeCode(for client: ControlClient) throws(ControlProblem) -> Code {
        let text = random(16)
        let secret = secret(text, of: client, for: Self.codeLife)
        let now = self.now()
        guard state.withLock({ $0.codes.append(secret, atMost: Self.maximumCodes, at: now) }) else {
            throw Self.full("unused codes exist")
        }
        return Code(text: text, expiresAt: secret.expiresAt)
    }

    private static func full(_ what: String) -> ControlProblem {
        ControlProblem(
            .tooManySessions,
            "\(maximumOfAll) \(what), the limit for all clients together. Close unused pages, or use the Unix socket.",
            limit: maximumOfAll
        )
    }

    /// Exchanges a code for a session. A wrong one is no failed try: a code has 128 random bits and
    /// a minute to live, and a stranger who tries some must not shut out the operators behind the
    /// same address.
    ///
    /// - Throws: ``ControlProblem`` if the code is wrong, used or too old, or if all clients
    ///   together have as many sessions as there may be. The code can be used later then.
    func session(for code: String) throws(ControlProblem) -> Session {
        if let session = try begin(code: code) { return session }
        throw ControlProblem(
            .codeNotValid,
            "The code is wrong, already used, or older than \(Self.codeLife.nanoseconds / 1_000_000_000) s. Run 'holdfast inspect' again.",
            field: "code"
        )
    }

    /// Begins a session, and makes the code worthless.
    ///
    /// - Returns: `nil` for a code that is wrong, used or too old.
    /// - Throws: ``ControlProblem`` if there is no room for a session.
    func begin(code: String) throws(ControlProblem) -> Session? {
        let (digest, now) = (Self.digest(code), now())
        let token = random(32)
        let session = try state.withLock { state throws(ControlProblem) -> Secret? in
            guard let index = state.codes.index(of: digest), now < state.codes[index].deadline else { return nil }
            let session = secret(token, of: state.codes[index].client, for: Self.sessionLife)
            guard state.sessions.append(session, atMost: Self.maximumSessions, at: now) else {
                throw Self.full("sessions are open")
            }
            state.codes.remove(at: index)
            return session
        }
        return session.map { Session(token: token, client: $0.client, expiresAt: $0.expiresAt) }
    }

    /// The client whose session a token belongs to; `nil` if there is none.
    func client(presenting token: String) -> ControlClient? {
        let (digest, now) = (Self.digest(token), now())
        return state.withLock { state in
            state.sessions.index(of: digest).map { state.sessions[$0] }.flatMap { now < $0.deadline ? $0.client : nil }
        }
    }

    /// Ends the session of a token.
    ///
    /// - Returns: whether there was one.
    func end(token: String) -> Bool {
        let digest = Self.digest(token)
        return state.withLock { state in
            guard let index = state.sessions.index(of: digest) else { return false }
            state.sessions.remove(at: index)
            return true
        }
    }

    /// When the session of a token ends; `nil` if there is none.
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

    /// Hexadecimal digits from the system's generator.
    static func randomDigits(_ bytes: Int) -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<bytes).map { _ in
            let byte = UInt8.random(in: .min ... .max, using: &random)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

extension [PageSessions.Secret] {
    /// Each one is compared, in constant time: the time does not tell which one was right.
    fileprivate func index(of digest: SHA256Digest) -> Int? {
        var found: Int?
        for (index, secret) in enumerated() {
            let isEqual = secret.digest == digest
            if isEqual { found = index }
        }
        return found
    }

    /// Adds one. It replaces the oldest of its own client if that has no more room, so
    /// that no client ends the sessions of another.
    ///
    /// - Returns: `false` if all clients together have no more room.
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
