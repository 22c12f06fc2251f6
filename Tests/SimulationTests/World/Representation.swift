import HTTPTypes
import HoldfastTesting
import NIOCore

/// The identity of a body. It determines the bytes, so every served byte can be traced to its
/// response.
struct Representation: Hashable, Sendable {
    var resource: Int
    /// The version of the resource that the origin had then.
    var version: Int
    /// The variant by `Vary` and principal.
    var variant: String
    /// Distinguishes representations that the origin generates for each request; 0 for those that
    /// it keeps.
    var serial = 0
    var status = 200
    var length: Int

    /// Random bytes, so that no stretch of one is by chance a stretch of another.
    var bytes: ByteBuffer {
        var seed = UInt64(resource &* 1_000_003 &+ version) &* 31 &+ UInt64(status) &+ (UInt64(serial) << 32)
        for byte in variant.utf8 { seed = (seed ^ UInt64(byte)) &* 0x100_0000_01B3 }
        var generator = SeededRandom(seed: seed, part: 7)
        var buffer = ByteBuffer()
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: length + 8) { bytes in
            for offset in stride(from: 0, to: length, by: 8) {
                bytes.storeBytes(of: generator.next(), toByteOffset: offset, as: UInt64.self)
            }
            return length
        }
        return buffer
    }

    /// A tag that no other representation has.
    var opaqueTag: String {
        "r\(resource)-v\(version)-\(variant.replacing(" ", with: "_"))-\(serial)-\(status)"
    }
}

/// One target of the simulated origins, and how its origin treats it.
struct Resource: Sendable {
    enum Tag: Sendable { case none, strong, weak }

    var number: Int
    var host: String
    var path: String
    var tag: Tag
    var hasLastModified: Bool
    /// Its responses differ by `Accept-Language`, with `Vary`.
    var varies: Bool
    /// Its responses differ by caller.
    var isPersonal: Bool
    var groups: [String]
    var hasDate: Bool
    var announcesLength: Bool
    var takesRanges: Bool
    var maximumLength: Int
    /// The target of `Location` in the response to an unsafe request.
    var location: Int?
    var setsCookie: Bool

    // The mutable state.
    var version = 1
    var lastModified: Int64?
    /// The last of all modification dates, whether or not the present version has one.
    var latestDate: Int64 = 0
    var length = 0
    var cacheControl: String?
    var targeted: String?
    /// Seconds that `Expires` lies after `Date`.
    var expires: Int64?
    var age: Int64?
    var status = 200

    var uri: String { "https://\(host)\(path)" }
}

extension Resource {
    static let policies: [String?] = [
        nil, nil, "no-store", "no-cache", "no-cache=\"x-qualified\"", "max-age=60", "max-age=60", "max-age=5",
        "max-age=600", "max-age=600, immutable", "max-age=20, must-revalidate", "max-age=0, must-revalidate",
        "s-maxage=30", "s-maxage=30, max-age=5", "s-maxage=10, stale-while-revalidate=60", "public, max-age=30",
        "public", "private, max-age=60", "private", "max-age=10, stale-while-revalidate=30",
        "max-age=10, stale-if-error=120", "max-age=5, stale-while-revalidate=20, stale-if-error=60",
        "max-age=15, proxy-revalidate", "max-age=abc", "max-age=30, max-age=5", "private=\"x-qualified\", max-age=60",
        "must-understand, no-store, max-age=30", "max-age=0", "public, s-maxage=60, must-revalidate",
        "no-cache=\"content-type\", max-age=60", "MAX-AGE=40 , Public",
    ]
    static let personalPolicies: [String?] = [
        "private, max-age=60", "private", "no-store", "private, no-cache", "max-age=30", nil,
        "private=\"x-qualified\", max-age=20",
        "private, max-age=10, stale-while-revalidate=30, stale-if-error=60",
    ]
    static let targetedPolicies: [String?] = [
        nil, nil, nil, nil, "max-age=30", "no-store", "max-age=20, must-revalidate", "no-cache",
    ]

    /// Another state of the resource: another version, described anew.
    mutating func change(at now: Int64, _ generator: inout SeededRandom) {
        if length > 0 || lastModified != nil { version += 1 }
        length =
            generator.chance(0.1)
            ? 0 : generator.chance(0.8) ? generator.int(1...3000) : generator.int(1...maximumLength)
        // A date cannot distinguish versions of one second: then the origin sends none.
        let second = now / 1000
        lastModified =
            hasLastModified && second > latestDate
            ? second - Int64(version == 1 ? generator.int(0...5000) : 0) : nil
        latestDate = lastModified ?? latestDate
        cacheControl = generator.pick(isPersonal ? Self.personalPolicies : Self.policies)
        targeted = isPersonal ? nil : generator.pick(Self.targetedPolicies)
        expires = generator.chance(0.15) ? Int64(generator.int(-5...90)) : nil
        age = generator.chance(0.1) ? Int64(generator.int(0...30)) : nil
        status = generator.chance(0.9) ? 200 : generator.pick([404, 410, 400, 203])
    }

    static func random(_ number: Int, _ generator: inout SeededRandom) -> Resource {
        let isPersonal = generator.chance(0.25)
        let path =
            switch generator.int(0...4) {
            case 0: "/list?page=\(number)"
            case 1: "/list?page=\(number)&sort=a"
            case 2: "/list/\(number)?"
            default: "/item/\(number)"
            }
        return Resource(
            number: number,
            host: generator.chance(0.7) ? "a.example" : "b.example",
            path: path,
            tag: generator.pick([.none, .strong, .strong, .weak]),
            hasLastModified: generator.chance(0.5),
            varies: !isPersonal && generator.chance(0.3),
            isPersonal: isPersonal,
            groups: generator.chance(0.3) ? [generator.pick(["news", "prices"])] : [],
            hasDate: generator.chance(0.85),
            announcesLength: generator.chance(0.8),
            takesRanges: generator.chance(0.8),
            maximumLength: generator.chance(0.02) ? 2_500_000 : 200_000,
            location: nil,
            setsCookie: generator.chance(0.05)
        )
    }
}
