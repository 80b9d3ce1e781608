internal import COpenLDAP
internal import Kerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Encrypts and signs a connection of libldap with a security context: each buffer is four bytes of length and a token of `gss_wrap`
/// (RFC 4422 section 3.7, [MS-ADTS] section 5.1.1.1.2).
///
/// libldap calls it on the thread that uses the connection, one call at a time.
final class SecurityLayer {
    private var context: EstablishedContext
    /// What has arrived of the next token.
    private var arriving = ArrivingToken()
    /// Decrypted bytes that libldap has not read yet.
    private var plain: ArraySlice<UInt8> = []
    /// Encrypted bytes that the next layer has not taken yet.
    private var leaving: ArraySlice<UInt8> = []

    /// How many bytes are read at once.
    private static let longestPiece = 1 << 14

    init(_ context: consuming EstablishedContext) {
        self.context = context
    }

    /// Puts the layer above the connection's socket. The connection must be closed before the layer is released.
    func install(on sockbuf: OpaquePointer?, _ library: LDAPLibrary) -> Bool {
        library.addLayer(sockbuf, Self.functions, LDAPConstant.layerLevelApplication, Unmanaged.passUnretained(self).toOpaque()) == 0
    }

    /// The table that libldap keeps a pointer to.
    ///
    /// `nonisolated(unsafe)`: it is written once, here, and libldap only reads it.
    private nonisolated(unsafe) static let functions: UnsafeMutablePointer<openldap_layer> = {
        let table = UnsafeMutablePointer<openldap_layer>.allocate(capacity: 1)
        table.initialize(
            to: openldap_layer(
                setup: { position, owner in
                    position?.pointee.owner = owner
                    return 0
                },
                remove: { _ in 0 },
                control: { position, option, argument in
                    guard let position, let layer = SecurityLayer.of(position) else { return -1 }
                    if option == LDAPConstant.controlDataReady, !layer.plain.isEmpty { return 1 }
                    guard let next = position.pointee.next else { return 0 }
                    return next.pointee.layer?.pointee.control?(next, option, argument) ?? 0
                },
                read: { position, buffer, size in
                    guard let position, let buffer, let layer = SecurityLayer.of(position) else { return -1 }
                    return layer.read(UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)), from: position.pointee.next)
                },
                write: { position, buffer, size in
                    guard let position, let buffer, let layer = SecurityLayer.of(position) else { return -1 }
                    return layer.write(UnsafeRawBufferPointer(start: buffer, count: Int(size)), to: position.pointee.next)
                },
                close: { _ in 0 }
            )
        )
        return table
    }()

    private static func of(_ position: UnsafeMutablePointer<openldap_layer_position>) -> SecurityLayer? {
        position.pointee.owner.map { Unmanaged<SecurityLayer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func read(_ buffer: UnsafeMutableRawBufferPointer, from next: UnsafeMutablePointer<openldap_layer_position>?) -> Int {
        while plain.isEmpty {
            let count = receive(from: next)
            if count <= 0 { return count }
            switch arriving.take() {
            case .incomplete:
                guard arriving.hasBegun else { continue }
                // libldap checks its time limit before it reads on.
                errno = EAGAIN
                return -1
            case .complete(let token):
                guard let message = try? context.opened(token) else { fallthrough }
                plain = message[...]
            case .tooLong:
                errno = EIO
                return -1
            }
        }
        let count = min(buffer.count, plain.count)
        buffer.copyBytes(from: plain.prefix(count))
        plain = plain.dropFirst(count)
        return count
    }

    /// Reads bytes of the current token, and none of the next one.
    private func receive(from next: UnsafeMutablePointer<openldap_layer_position>?) -> Int {
        guard let next, let read = next.pointee.layer?.pointee.read else { return -1 }
        let missing = min(arriving.missing, Self.longestPiece)
        guard missing > 0 else { return 1 }
        var piece = [UInt8](repeating: 0, count: missing)
        let count = piece.withUnsafeMutableBytes { read(next, $0.baseAddress, UInt($0.count)) }
        if count > 0 { arriving.append(piece.prefix(count)) }
        return count
    }

    private func write(_ buffer: UnsafeRawBufferPointer, to next: UnsafeMutablePointer<openldap_layer_position>?) -> Int {
        guard flush(to: next) else { return -1 }
        guard let token = try? context.sealed(Array(buffer)) else {
            errno = EIO
            return -1
        }
        let length = UInt32(token.count).bigEndian
        leaving = (withUnsafeBytes(of: length) { Array($0) } + token)[...]
        // The message counts as written: what the socket does not take now is sent before the next one.
        _ = flush(to: next)
        return buffer.count
    }

    private func flush(to next: UnsafeMutablePointer<openldap_layer_position>?) -> Bool {
        guard let next, let write = next.pointee.layer?.pointee.write else { return false }
        while !leaving.isEmpty {
            var piece = Array(leaving)
            let count = piece.withUnsafeMutableBytes { write(next, $0.baseAddress, UInt($0.count)) }
            guard count > 0 else { return false }
            leaving = leaving.dropFirst(count)
        }
        return true
    }
}
