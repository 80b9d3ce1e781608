/// A record that says which records before it are gone, so that a removal is an append too.
///
/// It has the form of a setting, which klist does not show. Records are counted from zero, without the tombstones.
struct Tombstone {
    private static let server: [UInt8] = {
        var writer = ByteWriter()
        writer.write(UInt32(0))
        writer.write(UInt32(2))
        writer.writeCounted(Array("X-CACHECONF:".utf8))
        writer.writeCounted(Array("krb5_ccache_conf_data".utf8))
        writer.writeCounted(Array("removed".utf8))
        return writer.bytes
    }()

    /// The record, with the mark of its file.
    static func encoded(_ numbers: [UInt64], mark: UInt64, principal: MarshalledPrincipal) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(principal.bytes)
        writer.write(server)
        // Neither key nor times nor flags, neither addresses nor authorization data.
        writer.write([UInt8](repeating: 0, count: 2 + 4 + 4 * 4 + 1 + 4 + 4 + 4))
        var value = ByteWriter(capacity: 8 + 8 * numbers.count)
        value.write(mark)
        for number in numbers { value.write(number) }
        writer.writeCounted(value.bytes)
        writer.write(UInt32(0))
        return writer.bytes
    }

    /// The numbers in a record; nil where it is none, or of another file.
    static func numbers(_ record: MarshalledCredential, mark: UInt64) -> [UInt64]? {
        guard record.server.bytes.elementsEqual(server) else { return nil }
        var reader = ByteReader(record.ticket)
        guard let found = try? reader.number("mark", as: UInt64.self), found == mark else { return nil }
        var numbers: [UInt64] = []
        while let number = try? reader.number("number", as: UInt64.self) { numbers.append(number) }
        return numbers
    }
}
