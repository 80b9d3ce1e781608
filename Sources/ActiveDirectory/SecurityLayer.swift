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
    private var leaving = LeavingMessages()

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
        leaving.write(count: buffer.count) {
            guard let token = try? context.sealed(Array(buffer)) else {
                errno = EIO
                return nil
            }
            let length = UInt32(token.count).bigEndian
            return withUnsafeBytes(of: length) { Array($0) } + token
        } to: { bytes in
            guard let next, let write = next.pointee.layer?.pointee.write else { return -1 }
            var piece = Array(bytes)
            return piece.withUnsafeMutableBytes { write(next, $0.baseAddress, UInt($0.count)) }
        }
    }
}

/// Encrypted messages on their way to a socket, which may take a part of them only.
struct LeavingMessages {
    /// Bytes that the socket has not taken yet.
    private var bytes: ArraySlice<UInt8> = []
    /// The length of the message that they encrypt, of which libldap has not been told yet.
    private var unreported: Int?

    /// Sends a message of libldap, which repeats the call with the same message if the socket does not take all of it.
    ///
    /// - Parameters:
    ///   - count: The length of the message.
    ///   - encrypted: Encrypts the message; nil if that fails.
    ///   - send: Returns how many of the bytes the socket took; 0 or -1 if it took none, with the reason in `errno`.
    /// - Returns: The length of the message, or -1 if it is not sent completely.
    mutating func write(count: Int, encrypted: () -> [UInt8]?, to send: (ArraySlice<UInt8>) -> Int) -> Int {
        if unreported == nil {
            guard let message = encrypted() else { return -1 }
            (bytes, unreported) = (message[...], count)
        }
        while !bytes.isEmpty {
            let sent = send(bytes)
            guard sent > 0 else { return -1 }
            bytes = bytes.dropFirst(sent)
        }
        defer { unreported = nil }
        return min(unreported ?? 0, count)
    }
}
