import FuzzerSupport

@testable import KCM

/// Fuzzes the KCM server. The first byte selects the kind of the rest: a client's bytes, or a cache file that the server reads at start.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
    guard let kind = input.first else { return 0 }
    let rest = Array(input.dropFirst())
    if kind.isMultiple(of: 2) { checkStream(rest, step: Int(kind) / 2 + 1) } else { checkFile(rest) }
    return 0
}

/// Checks a client's bytes, split into parts of equal length.
private func checkStream(_ bytes: [UInt8], step: Int) {
    var decoder = FrameDecoder(maximumLength: 1 << 16)
    var store = CredentialStore(user: 1000, limits: StoreLimits(caches: 4, bytes: 1 << 16))
    var connection = ConnectionState()
    for start in stride(from: 0, to: bytes.count, by: step) {
        decoder.append(bytes[start..<min(start + step, bytes.count)])
        do {
            while let frame = try decoder.next() {
                guard frame.refusedOperation == nil, let request = try? Request(frame.bytes) else { continue }
                repeat {
                    checkDecision(store.decide(request, connection: &connection, now: 1500), &store)
                } while connection.isUnfinished
            }
        } catch {
            check((try? decoder.next()) == nil, "a failed connection continues")
            return
        }
    }
    for cache in store.caches { checkCache(cache) }
}

private func checkDecision(_ decision: Decision, _ store: inout CredentialStore) {
    check(decision.reply.fits, "a reply is too long")
    check(decision.reply.code == .ok || decision.changes.isEmpty, "a refused request changes something")
    for change in decision.changes { store.apply(change) }
    check(store.caches.count <= store.limits.caches, "there are too many caches")
    check(store.cost <= store.limits.bytes, "the store exceeds its limit")
}

/// Checks that a cache is read back from its file, and from a truncated file with its complete credentials.
private func checkCache(_ cache: CredentialCache) {
    // A random mark that is in no input, like a server's.
    let mark = UInt64.random(in: .min ... .max)
    let header = CacheFileHeader(name: cache.name, generation: 1, mark: mark, clockOffset: cache.clockOffset, principal: cache.principal)
    var writer = ByteWriter()
    header.write(to: &writer)
    check(writer.bytes.count == header.length, "the header's length is wrong")
    for credential in cache.credentials { writer.write(credential.bytes) }
    guard let recovered = try? RecoveredCache(writer.bytes) else { fatalError("a cache is not read back from its file") }
    check(recovered.header == header, "a header has changed")
    // Neither the remains of a power failure nor a credential with an overwritten key is a credential.
    let isBlank = cache.credentials.contains {
        $0.isWiped || $0.client.bytes.allSatisfy { $0 == 0 } && $0.server.bytes.allSatisfy { $0 == 0 }
    }
    check(isBlank || recovered.cache.credentials == cache.credentials, "credentials have changed")
    check(
        (try? RecoveredCache(writer.bytes.dropLast()))?.cache.credentials.count ?? 0 <= cache.credentials.count,
        "a truncated file has more credentials"
    )
}

/// Checks that the accepted part of any file is its beginning, and is accepted again at the next start.
private func checkFile(_ bytes: [UInt8]) {
    guard let recovered = try? RecoveredCache(bytes) else { return }
    check(recovered.length <= bytes.count, "the accepted part is longer than the file")
    guard let again = try? RecoveredCache(Array(bytes[..<recovered.length])) else { fatalError("the accepted part is not accepted again") }
    check(again.length == recovered.length, "the next start accepts less")
    check(again.cache.credentials == recovered.cache.credentials, "the next start finds other credentials")
    checkCache(recovered.cache)
}
