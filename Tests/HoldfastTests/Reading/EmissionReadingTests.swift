import Foundation
import Holdfast
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct EmissionReadingTests {
    struct Detail: Decodable, Sendable, Equatable { var id: Int }

    private func emission(_ json: String, envelope: Envelope? = nil) -> Emission<RawContent> {
        Emission(
            value: RawContent(Data(json.utf8), envelope: envelope),
            source: .store,
            age: .seconds(5),
            isStale: true,
            isUnchanged: false,
            status: .accepted,
            outcome: CacheOutcome(isHit: true)
        )
    }

    @Test func rootModelIsMappedAndValidatedInOneLine() throws {
        let detail = try emission(#"{"code":0,"data":{"id":1}}"#).map(RootModel<Detail>.self).validate()
        #expect(detail.value == Detail(id: 1) && detail.source == .store && detail.isStale && detail.age == .seconds(5))
        let error = #expect(throws: HoldfastError.self) {
            try emission(#"{"code":9,"msg":"no"}"#).map(RootModel<Detail>.self).validate()
        }
        #expect(error?.envelope?.code == 9 && error?.envelope?.message == "no" && error?.status == .accepted)
    }

    @Test func valuePathStartsAtTheEnvelopesModel() throws {
        let emission = emission(#"{"code":0,"data":{"moments":[{"id":7}]}}"#, envelope: Envelope())
        #expect(try emission.map(Int64.self, at: "moments[0].id").value == 7)
        #expect(try emission.map([Detail].self, at: "moments").value == [Detail(id: 7)])
        #expect(try emission.map(Enveloped<Detail>.self, at: "moments[0]").validate().value == Detail(id: 7))
    }

    @Test func stepReturningNilIsADataFormatFailure() throws {
        let content = emission(#"{"id":7}"#)
        let data = content.map { $0.data }
        #expect(try data.step(.model(Detail.self)).step { $0.id }.value == 7)
        let error = #expect(throws: HoldfastError.self) { try data.step(.dictionary).step { $0["name"]?.text } }
        #expect(error?.code == .dataFormat && error?.rejected as? [String: AnyJSON] == ["id": 7])
        #expect(error?.status == .accepted)
    }
}
