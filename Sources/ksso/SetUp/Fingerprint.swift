/// A short text that differs for different contents.
enum Fingerprint {
    /// FNV-1a with 64 bits: the same in every process. It need not resist attacks, because only the user writes to the folders of these
    /// files.
    static func of(_ content: some Sequence<UInt8>) -> String {
        let hash = content.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
