import HTTPCacheSemantics
import HTTPTypes
import Testing

/// What fuzzing found, as small as it gets.
@Suite("Findings of the fuzzers")
struct FuzzFindingsTests {
    /// An empty line and ours together are `, holdfast; hit`, which is no list.
    @Test(arguments: ["", " ", "\t "])
    func anEmptyCacheStatusDoesNotSpoilOurs(value: String) {
        let fields = fields([("Cache-Status", value)])
        let appended = CacheOutcome(isHit: true).appended(to: fields)
        #expect(CacheStatus(appended).members.map(\.cache) == ["holdfast"])
        #expect(appended.count == 1)
    }

    /// A clock that is centuries off made a year before the first, which no date can be written of.
    @Test(arguments: [Timestamp.distantPast, .distantFuture, Timestamp(milliseconds: -62_135_596_800_000)])
    func aTwoDigitYearIsAnInstantThatCanBeWritten(reference: Timestamp) throws {
        let instant = try #require(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", reference: reference))
        #expect(HTTPDate.parse(HTTPDate.format(instant), reference: reference) == instant)
    }
}
