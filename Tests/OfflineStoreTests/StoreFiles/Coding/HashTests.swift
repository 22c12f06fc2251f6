import StoreFiles
import Testing

@Suite(.timeLimit(.minutes(20))) struct XXHash64Vectors {
    /// The specification's sanity buffer: bytes of a multiplicative generator.
    private static let buffer: [UInt8] = {
        var generator: UInt64 = 2_654_435_761
        return (0..<222).map { _ in
            defer { generator = generator &* 11_400_714_785_074_694_797 }
            return UInt8(truncatingIfNeeded: generator >> 56)
        }
    }()

    @Test(
        arguments: [
            ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
            ("Nobody inspects the spammish repetition", 0xFBCE_A83C_8A37_8BF1),
        ] as [(String, UInt64)]
    )
    func knownTexts(_ text: String, _ hash: UInt64) {
        #expect(XXHash64.hash(Array(text.utf8)) == hash)
    }

    @Test(
        arguments: [
            (0, 0, 0xef46_db37_51d8_e999), (0, 2_654_435_761, 0xac75_fda2_929b_17ef), (1, 0, 0xe934_a84a_db05_2768),
            (4, 0, 0x9136_a0dc_a574_57ee), (4, 2_654_435_761, 0xcaab_286b_d8e9_fdb5), (14, 0, 0x8282_dcc4_994e_35c8),
            (14, 2_654_435_761, 0xc3bd_6bf6_3deb_6df0), (31, 0, 0x299b_39a2_90e6_d783), (32, 0, 0x18b2_1649_2bb4_4b70),
            (33, 0, 0x55c8_dc3e_578f_5b59), (33, 2_654_435_761, 0xe92c_292f_64bc_3071), (101, 0, 0xa51e_a210_1b2d_114c),
            (222, 0, 0xb641_ae8c_b691_c174), (222, 2_654_435_761, 0x20cb_8ab7_ae10_c14a),
        ] as [(Int, UInt64, UInt64)]
    )
    func specificationVectors(_ count: Int, _ seed: UInt64, _ hash: UInt64) {
        let hashed = XXHash64.hash(Array(Self.buffer[..<count]), seed: seed)
        #expect(String(hashed, radix: 16) == String(hash, radix: 16))
    }

    @Test func everyFlippedBitChangesTheHash() {
        var bytes = [UInt8](repeating: 0x5a, count: 97)
        let whole = XXHash64.hash(bytes)
        for bit in 0..<bytes.count * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8)
            #expect(XXHash64.hash(bytes) != whole)
            bytes[bit / 8] ^= 1 << (bit % 8)
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct SipHashVectors {
    private static let vectors: [UInt64] = [
        0x726f_db47_dd0e_0e31, 0x74f8_39c5_93dc_67fd, 0x0d6c_8009_d9a9_4f5a, 0x8567_6696_d7fb_7e2d,
        0xcf27_94e0_2771_87b7, 0x1876_5564_cd99_a68d, 0xcbc9_466e_58fe_e3ce, 0xab02_00f5_8b01_d137,
        0x93f5_f579_9a93_2462, 0x9e00_82df_0ba9_e4b0, 0x7a5d_bbc5_94dd_b9f3, 0xf4b3_2f46_226b_ada7,
        0x751e_8fbc_860e_e5fb, 0x14ea_5627_c084_3d90, 0xf723_ca90_8e7a_f2ee, 0xa129_ca61_49be_45e5,
    ]

    @Test func referenceVectors() throws {
        let hash = try #require(SipHash(secret: Array(0..<16)))
        for (count, expected) in Self.vectors.enumerated() {
            #expect(hash.hash((0..<count).map { UInt8($0) }) == expected)
        }
    }

    @Test func secretsHaveSixteenBytes() {
        #expect(SipHash(secret: [1, 2, 3]) == nil)
    }

    @Test func domainsAreKeptApart() throws {
        let hash = try #require(SipHash(secret: Array(0..<16)))
        #expect(hash.hash([1], domain: 0) != hash.hash([1], domain: 1))
    }
}
