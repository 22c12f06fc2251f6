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
}
