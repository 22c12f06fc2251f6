import Testing

@testable import soak

@Suite(.timeLimit(.minutes(20))) struct RepresentationTests {
    private let noise = Noise(seed: 1)

    private func make(_ target: String, _ version: Int, _ selector: String = "-") throws -> Representation {
        Representation(try #require(Resource(target)), version: version, selector: selector, noise: noise)
    }

    @Test func everyVersionAndPrincipalHasItsOwnBytes() throws {
        let all = try [
            make("/plain/0", 1), make("/plain/0", 2), make("/plain/1", 1), make("/mine/0", 1, "p1"),
            make("/mine/0", 1, "p2"),
        ]
        #expect(Set(all.map(\.bytes)).count == all.count)
        // The noise differs as well, so that a part without the first line distinguishes them.
        #expect(Set(all.map { $0.bytes.suffix(100) }).count == all.count)
    }

    @Test func sameVersionHasTheSameBytes() throws {
        #expect(try make("/page/3", 7).bytes == make("/page/3", 7).bytes)
    }

    @Test func rangesAreCutFromTheWhole() throws {
        let representation = try make("/page/3", 2)
        let whole = representation.bytes
        for range in [0..<1, 0..<whole.count, 10..<60, 40..<whole.count, (whole.count - 1)..<whole.count] {
            #expect(representation.bytes(range) == Array(whole[range]))
        }
    }

    @Test func versionsOfSomeResourcesHaveOneLength() throws {
        let kept = try (0..<16).filter { name in
            try make("/plain/\(name)", 1).count == make("/plain/\(name)", 2).count
        }
        #expect(kept.count > 2 && kept.count < 14)
    }

    @Test func entityTagNamesTheVersion() throws {
        let named = Representation.version(ofTag: try make("/mine/0", 12, "p1").entityTag)
        #expect(named?.version == 12 && named?.selector == "p1")
        #expect(Representation.version(ofTag: "\"other\"") == nil)
    }
}

@Suite(.timeLimit(.minutes(20))) struct OptionsTests {
    @Test func acceptsSecondsAndSeed() throws {
        let options = try Options(["600", "7"], folder: "/tools")
        #expect(options.seconds == 600 && options.seed == 7 && options.gateway == "/tools/holdfast")
    }

    @Test func onlyAddsNeededFaults() throws {
        #expect(try Options(["--only", "invalidate"], folder: "").parts == [.invalidate, .outage])
        #expect(try Options(["--without", "kill"], folder: "").parts == Set(Part.allCases).subtracting([.kill]))
    }

    @Test(arguments: [
        ["x"], ["--only", "nothing"], ["--only"], ["--only", "kill"], ["1", "2", "3"], ["--clients", "0"],
    ])
    func rejectsUnknownOptions(arguments: [String]) {
        #expect(throws: Options.Wrong.self) { try Options(arguments, folder: "") }
    }
}
