import CKerberos
import Foundation
import FuzzerSupport

@testable import KCM
@testable import Kerberos

/// Fuzzes marshalled credentials, principals and patterns, and FILE caches. The first byte selects the kind of the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    switch input.kind(of: 5) {
    case 0: checkCredential(input.rest())
    case 1: checkPrincipal(input.rest())
    case 2: checkPattern(input.rest())
    case 3: checkReplacement(Int(input.byte()) << 16 | Int(input.byte()) << 8 | Int(input.byte()), input.rest())
    default: checkFile(input.rest())
    }
    return 0
}

/// libkrb5's context, which the fuzzer's only thread uses.
private nonisolated(unsafe) let context: krb5_context? = {
    setenv("KRB5_CONFIG", "/dev/null", 1)
    var context: krb5_context?
    return krb5_init_context(&context) == 0 ? context : nil
}()

/// A credential keeps its bytes, and libkrb5 reads the same from them.
private func checkCredential(_ bytes: [UInt8]) {
    let credential = try? MarshalledCredential(bytes)
    if let credential {
        check(bytes.starts(with: credential.bytes), "a credential has other bytes")
        check((try? MarshalledCredential(credential.bytes)) == credential, "a credential is not read again")
        check((try? MarshalledCredential(credential.bytes.dropLast().map { $0 })) == nil, "a truncated credential is read")
        for part in [credential.client, credential.server] {
            check((try? MarshalledPrincipal(Array(part.bytes))) == part, "a principal of a credential is not one")
        }
        for erasure in credential.erasures {
            check(erasure.offset >= 0 && erasure.offset + erasure.bytes.count <= credential.bytes.count, "more is erased than there is")
        }
        checkErased(credential)
    }
    guard let context else { return }
    // libkrb5 refuses bytes after the credential or ignores them, depending on its version.
    let exact = credential?.bytes ?? bytes
    var reference: UnsafeMutablePointer<krb5_creds>?
    let status = exact.withUnsafeBufferPointer { buffer in
        var data = krb5_data()
        data.length = UInt32(buffer.count)
        data.data = UnsafeMutableRawPointer(mutating: buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
        return krb5_unmarshal_credentials(context, &data, &reference)
    }
    defer { krb5_free_creds(context, reference) }
    check((status == 0) == (credential != nil), "libkrb5 returns \(status)")
    guard status == 0, let credential, let held = reference?.pointee else { return }
    check(Int16(truncatingIfNeeded: held.keyblock.enctype) == credential.encryptionType, "the encryption type differs")
    let times = [held.times.authtime, held.times.starttime, held.times.endtime, held.times.renew_till].map { UInt32(bitPattern: $0) }
    let own = credential.times
    check(times == [own.authentication, own.start, own.end, own.renewTill], "the times differ")
    check((held.is_skey != 0) == credential.isSessionKey, "is_skey differs")
    check(UInt32(bitPattern: held.ticket_flags) == credential.ticketFlags, "the flags differ")
    check(bytesOf(held.ticket) == Array(credential.ticket), "the ticket differs")
    check(bytesOf(held.second_ticket) == Array(credential.secondTicket), "the second ticket differs")
    for (principal, own) in [(held.client, credential.client), (held.server, credential.server)] {
        guard let principal else { continue }
        check(bytesOf(principal.pointee.realm) == Array(own.realm), "the realm differs")
        var components: [UInt8] = []
        for index in 0..<Int(principal.pointee.length) {
            let component = bytesOf(principal.pointee.data[index])
            components += withUnsafeBytes(of: UInt32(component.count).bigEndian) { Array($0) } + component
        }
        check(components == Array(own.components), "the components differ")
    }
}

private func bytesOf(_ data: krb5_data) -> [UInt8] { Array(UnsafeRawBufferPointer(start: data.data, count: Int(data.length))) }

/// An erased credential keeps its length and its place, and counts as removed.
private func checkErased(_ credential: MarshalledCredential) {
    var bytes = credential.bytes
    for erasure in credential.erasures { bytes.replaceSubrange(erasure.offset..<erasure.offset + erasure.bytes.count, with: erasure.bytes) }
    guard let erased = try? MarshalledCredential(bytes) else { fatalError("an erased credential cannot be read") }
    check(erased.isWiped && !erased.isStorable, "an erased credential looks valid")
    check(erased.client == credential.client && erased.server == credential.server, "the principals are erased")
    check(erased.ticket.allSatisfy { $0 == 0 }, "a ticket is not erased")
}

private func checkPrincipal(_ bytes: [UInt8]) {
    guard let principal = try? MarshalledPrincipal(bytes) else { return }
    check(bytes.starts(with: principal.bytes), "a principal has other bytes")
    check(principal.detached() == principal && principal.detached().realm == principal.realm, "a copy of a principal differs")
    check(principal.isSame(as: principal) && principal.hasSameComponents(as: principal), "a principal differs from itself")
    check(principal.text.hasSuffix("@" + String(decoding: principal.realm, as: UTF8.self)), "a name lacks its realm")
    check((try? MarshalledPrincipal(Array(principal.bytes.dropLast()))) == nil, "a truncated principal is read")
}

/// A pattern matches the same, whatever follows it, and one with the principals of a credential matches it.
private func checkPattern(_ bytes: [UInt8]) {
    guard let pattern = try? CredentialPattern(bytes) else { return }
    guard let again = try? CredentialPattern(bytes + [0, 1, 2, 3]) else { fatalError("bytes after a pattern are not ignored") }
    check(again.client == pattern.client && again.times == pattern.times && again.match == pattern.match, "bytes after a pattern change it")
    guard let client = pattern.client, let server = pattern.server else { return }
    var writer = ByteWriter()
    writer.write(client.bytes)
    writer.write(server.bytes)
    writer.write(pattern.encryptionType)
    writer.writeCounted([] as [UInt8])
    for time in [pattern.times.authentication, pattern.times.start, pattern.times.end, pattern.times.renewTill] { writer.write(time) }
    writer.write(UInt8(pattern.isSessionKey && pattern.match.contains(.isSessionKey) ? 1 : 0))
    writer.write(pattern.ticketFlags)
    writer.write(UInt32(0))
    writer.write(pattern.authorizationData)
    writer.writeCounted([] as [UInt8])
    writer.writeCounted(pattern.secondTicket)
    guard let credential = try? MarshalledCredential(writer.bytes) else { fatalError("the fields of a pattern are no credential") }
    check(pattern.matches(credential), "a pattern does not match a credential with its fields")
}

/// The estimate of a cache that is not read is not smaller than its bytes, and grows with the length.
private func checkReplacement(_ length: Int, _ bytes: [UInt8]) {
    guard let outline = try? ReplacementOutline(bytes, length: length),
        let longer = try? ReplacementOutline(bytes, length: length + 1024)
    else { return }
    check(outline.cost >= 0 && outline.cost <= longer.cost, "the cost is \(outline.cost), of a longer request \(longer.cost)")
    check(outline.name == longer.name, "the name depends on the length")
}

private let file = NSTemporaryDirectory() + "/marshalled-fuzzer-\(getpid())"

/// libkrb5 reads a cache that is whole to its end.
private func checkFile(_ bytes: [UInt8]) {
    guard FileManager.default.createFile(atPath: file, contents: Data(bytes)) else { return }
    defer { unlink(file) }
    let isWhole = FileCacheLayout.isWhole(file)
    guard isWhole, bytes.starts(with: [5, 4]), let context else { return }
    var cache: krb5_ccache?
    guard krb5_cc_resolve(context, "FILE:" + file, &cache) == 0, let cache else { return }
    defer { krb5_cc_close(context, cache) }
    var cursor: krb5_cc_cursor?
    guard krb5_cc_start_seq_get(context, cache, &cursor) == 0 else { return }
    defer { krb5_cc_end_seq_get(context, cache, &cursor) }
    var credentials = krb5_creds()
    var status: krb5_error_code = 0
    var count = 0
    while status == 0 {
        status = krb5_cc_next_cred(context, cache, &cursor, &credentials)
        if status == 0 { krb5_free_cred_contents(context, &credentials) }
        count += 1
        check(count <= bytes.count, "there are more tickets than bytes")
    }
    check(status == KRB5_CC_END, "libkrb5 ends with \(status)")
}
