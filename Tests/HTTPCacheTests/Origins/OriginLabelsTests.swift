import Testing

@testable import HTTPCache

/// The values of the label `origin`.
@Suite(.timeLimit(.minutes(20))) struct OriginLabelsTests {
    @Test func withoutConfigurationTheFirstOnesAreNamed() {
        let labels = OriginLabels()
        let names = (0..<OriginLabels.limit + 10).map { "https://\($0).example" }
        let given = names.map(labels.label)
        #expect(Array(given.prefix(OriginLabels.limit)) == Array(names.prefix(OriginLabels.limit)))
        #expect(given.dropFirst(OriginLabels.limit).allSatisfy { $0 == OriginLabels.other })
        #expect(labels.label(of: names[0]) == names[0])
    }

    @Test func namesOfClientsAreNoLabels() {
        let labels = OriginLabels(configured: ["http://a", "http://b"])
        #expect(labels.label(of: "http://a") == "http://a")
        for number in 0..<1000 { #expect(labels.label(of: "http://\(number).example") == OriginLabels.other) }
        labels.configure(["http://c"])
        #expect(labels.label(of: "http://c") == "http://c")
        // Its series keep their meaning.
        #expect(labels.label(of: "http://a") == "http://a")
    }

    @Test func configuredOriginsBeyondTheLimitShareOne() {
        let names = (0..<OriginLabels.limit + 1).map { "https://\($0).example" }
        let labels = OriginLabels(configured: names)
        #expect(labels.label(of: names[OriginLabels.limit]) == OriginLabels.other)
    }
}
