import Foundation
import KerberosTesting

/// A PIV card (NIST SP 800-73-4) with one certificate, that for PIV authentication, and its RSA key of 2048 bits.
///
/// It answers the commands with which a program finds the card, reads the certificate, enters the PIN and signs. The computation with the
/// key is openssl(1)'s.
actor VirtualCard {
    static let pin = "123456"
    static let allowedTries = 3
    /// The protocol T=1 and nothing more (ISO/IEC 7816-3 section 8.2), so that no driver knows the card by its answer to reset.
    static let answerToReset: [UInt8] = [0x3B, 0x80, 0x01, 0x81]

    /// Computes with the private key: the input and the result have the length of the modulus.
    typealias KeyOperation = @Sendable ([UInt8]) async throws -> [UInt8]

    /// How many wrong PINs the card still takes; it is locked at zero.
    private(set) var triesLeft = allowedTries
    /// How many PINs were entered, right or wrong.
    private(set) var enteredPINs = 0

    private let objects: [[UInt8]: [UInt8]]
    private let compute: KeyOperation
    private var isVerified = false
    /// The data of a command that arrives in several parts.
    private var chain: [UInt8] = []
    /// What remains of a response for GET RESPONSE.
    private var rest: ArraySlice<UInt8> = []

    /// Creates a card.
    ///
    /// - Parameter certificate: The certificate, in DER.
    init(certificate: [UInt8], compute: @escaping KeyOperation) {
        self.compute = compute
        // The agency 9999 has no numbers of its own, so that the GUID is the serial number.
        let agency = [0xD4, 0xE7, 0x39, 0xDA] + [UInt8](repeating: 0, count: 21)
        let number = (0..<16).map { _ in UInt8.random(in: 1...255) }
        let holder =
            PIVObject([0x30], agency).bytes + PIVObject([0x34], number).bytes
            + PIVObject([0x35], Array("20991231".utf8)).bytes + [0x3E, 0x00, 0xFE, 0x00]
        let authentication = PIVObject([0x70], certificate).bytes + [0x71, 0x01, 0x00, 0xFE, 0x00]
        objects = [Self.cardHolder: holder, Self.authenticationCertificate: authentication]
    }

    /// Powers the card on or off, or resets it: the PIN must be entered again.
    func reset() {
        isVerified = false
        chain = []
        rest = []
    }

    /// Answers a command APDU (ISO/IEC 7816-4) with a response APDU.
    func respond(to bytes: [UInt8]) async -> [UInt8] {
        guard var command = CardCommand(bytes) else { return CardStatus.wrongLength.bytes }
        if command.instruction != 0xC0 { rest = [] }
        switch command.class {
        case 0x00: break
        case 0x10:
            chain += command.data
            return CardStatus.done.bytes
        default: return CardStatus.unknownClass.bytes
        }
        command.data = chain + command.data
        chain = []
        switch command.instruction {
        case 0xA4: return part(of: select(command), command)
        case 0xCB: return part(of: object(command), command)
        case 0x20: return verify(command).bytes
        case 0x87: return part(of: await authenticate(command), command)
        case 0xC0: return rest.isEmpty ? CardStatus.unsatisfied.bytes : part(of: .success([UInt8](rest)), command)
        default: return CardStatus.unknownInstruction.bytes
        }
    }

    /// Returns as much of a response as the command asks for, and keeps the rest.
    private func part(of response: Result<[UInt8], CardStatus>, _ command: CardCommand) -> [UInt8] {
        switch response {
        case .failure(let status): return status.bytes
        case .success(let bytes):
            rest = bytes.dropFirst(command.expected)
            let status = rest.isEmpty ? CardStatus.done : CardStatus(0x6100 | UInt16(rest.count > 255 ? 0 : rest.count))
            return bytes.prefix(command.expected) + status.bytes
        }
    }
}

// MARK: - The commands (NIST SP 800-73-4 part 2)

extension VirtualCard {
    /// The application's identifier with its version.
    private static let application: [UInt8] = [0xA0, 0x00, 0x00, 0x03, 0x08, 0x00, 0x00, 0x10, 0x00, 0x01, 0x00]
    private static let cardHolder: [UInt8] = [0x5F, 0xC1, 0x02]
    private static let authenticationCertificate: [UInt8] = [0x5F, 0xC1, 0x05]

    /// SELECT, by the identifier without the version too.
    private func select(_ command: CardCommand) -> Result<[UInt8], CardStatus> {
        guard command.parameters == 0x0400, command.data.count >= 9, Self.application.starts(with: command.data) else {
            return .failure(.notFound)
        }
        let authority = PIVObject([0x79], PIVObject([0x4F], Array(Self.application.prefix(5))).bytes)
        let version = PIVObject([0x4F], Array(Self.application.dropFirst(5)))
        return .success(PIVObject([0x61], version.bytes + authority.bytes).bytes)
    }

    /// GET DATA.
    private func object(_ command: CardCommand) -> Result<[UInt8], CardStatus> {
        guard command.parameters == 0x3FFF, let tag = PIVObject.read(command.data).first, tag.tag == [0x5C] else {
            return .failure(.wrongData)
        }
        guard let value = objects[tag.value] else { return .failure(.notFound) }
        return .success(PIVObject([0x53], value).bytes)
    }

    /// VERIFY; without data it asks how many tries are left.
    private func verify(_ command: CardCommand) -> CardStatus {
        guard command.parameters == 0x0080 else { return .unknownReference }
        guard !command.data.isEmpty else { return isVerified ? .done : triesLeft == 0 ? .locked : .tries(triesLeft) }
        guard command.data.count == 8 else { return .wrongData }
        guard triesLeft > 0 else { return .locked }
        enteredPINs += 1
        let pin = Array(Self.pin.utf8)
        isVerified = command.data == pin + [UInt8](repeating: 0xFF, count: 8 - pin.count)
        triesLeft = isVerified ? Self.allowedTries : triesLeft - 1
        return isVerified ? .done : .tries(triesLeft)
    }

    /// GENERAL AUTHENTICATE with the key for PIV authentication.
    private func authenticate(_ command: CardCommand) async -> Result<[UInt8], CardStatus> {
        guard command.parameters == 0x079A else { return .failure(.unknownReference) }
        guard isVerified else { return .failure(.unsatisfiedSecurity) }
        guard let template = PIVObject.read(command.data).first, template.tag == [0x7C],
            let challenge = PIVObject.read(template.value).first(where: { $0.tag == [0x81] })
        else { return .failure(.wrongData) }
        guard let result = try? await compute(challenge.value) else { return .failure(.failed) }
        return .success(PIVObject([0x7C], PIVObject([0x82], result).bytes).bytes)
    }
}

extension VirtualCard {
    /// Creates a card with a certificate of the realm.
    init(_ certificate: ClientCertificate, realm: TestRealm) async throws {
        let folder = "\(realm.directory)/piv-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let words = ["x509", "-in", certificate.certificatePath, "-outform", "DER", "-out", "\(folder)/certificate"]
        _ = try await Self.openssl(words, realm)
        let body = [UInt8](try Data(contentsOf: URL(filePath: "\(folder)/certificate")))
        self.init(certificate: body) { input in
            let (challenge, result) = ("\(folder)/challenge", "\(folder)/result")
            try Data(input).write(to: URL(filePath: challenge))
            let key = ["-inkey", certificate.keyPath, "-pkeyopt", "rsa_padding_mode:none"]
            // Without padding, a signature is the same computation; as such, openssl refuses an input of this length.
            try await Self.openssl(["pkeyutl", "-decrypt"] + key + ["-in", challenge, "-out", result], realm)
            return [UInt8](try Data(contentsOf: URL(filePath: result)))
        }
    }

    private static func openssl(_ words: [String], _ realm: TestRealm) async throws {
        let result = try await realm.run("openssl", words)
        guard result.exitStatus == 0 else { throw KerberosTestingError(.commandFailed, "openssl \(words): \(result)") }
    }
}
