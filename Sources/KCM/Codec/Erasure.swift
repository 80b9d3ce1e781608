/// Bytes that take the place of others, in a credential or in a file.
struct Erasure: Hashable {
    /// Where they begin.
    let offset: Int
    let bytes: [UInt8]

    /// The same behind so many bytes more.
    func moved(by count: Int) -> Erasure { Erasure(offset: offset + count, bytes: bytes) }
}
