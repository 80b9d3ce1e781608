import FuzzerSupport
import SwiftASN1

@testable import ActiveDirectory
@testable import Kerberos
@testable import KerberosTesting
@testable import TLSChannelBinding

/// Fuzzes the tokens and messages in DER that servers send. The first byte selects the kind of the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    switch input.kind(of: 4) {
    case 0: checkProxyMessage(input.rest())
    case 1: checkResponse(input.rest())
    case 2: checkLayer(step: Int(input.byte()), input.rest())
    default: checkCertificate(input.rest())
    }
    return 0
}

/// The reader of libkrb5's client and that of the test kit agree.
private func checkProxyMessage(_ bytes: [UInt8]) {
    let message = KDCProxyMessage.message(in: bytes)
    if let envelope = try? KDCProxyEnvelope(derEncoded: DER.parse(bytes)) {
        let length = envelope.message.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        let framed = envelope.message.count > 4 && length == envelope.message.count - 4
        check(message == (framed ? Array(envelope.message.dropFirst(4)) : nil), "the two readers of a KDC proxy's message disagree")
    }
    guard let message else { return }
    check(message.count <= bytes.count, "a message is longer than its envelope")
    let again = KDCProxyMessage.encoded(message, realm: "EXAMPLE.TEST")
    check(KDCProxyMessage.message(in: again) == message, "a message does not survive a round trip")
    let envelope = try? KDCProxyEnvelope(derEncoded: DER.parse(again))
    check(envelope?.realm == "EXAMPLE.TEST", "the kit reads another realm")
    check(envelope?.message.dropFirst(4).elementsEqual(message) == true, "the kit reads another message")
}

/// A NegTokenResp in DER is read as SwiftASN1 reads it.
private func checkResponse(_ bytes: [UInt8]) {
    let response = NegotiationResponse(bytes)
    guard let root = try? DER.parse(bytes) else { return }
    let reference = reference(root)
    check(reference.isUnknown || response?.state == reference.state, "the state is \(String(describing: response?.state))")
    check(reference.isUnknown || response?.hasMechanismToken ?? false == reference.hasToken, "the presence of a token is read differently")
}

private struct ReferenceResponse {
    var state: NegotiationResponse.State?
    var hasToken = false
    /// Whether it has tags of several bytes, which no field of a NegTokenResp has.
    var isUnknown = false
}

private func reference(_ root: ASN1Node) -> ReferenceResponse {
    func children(_ node: ASN1Node, _ identifier: ASN1Identifier) -> [ASN1Node]? {
        guard node.identifier == identifier, case .constructed(let nodes) = node.content else { return nil }
        return Array(nodes)
    }
    func field(_ number: UInt) -> ASN1Identifier { ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific) }
    guard let inner = children(root, field(1)), inner.count == 1, let fields = children(inner[0], .sequence), let first = fields.first,
        let state = children(first, field(0)), state.count == 1, state[0].identifier == .enumerated,
        case .primitive(let value) = state[0].content, value.count == 1,
        let known = value.first.flatMap({ NegotiationResponse.State(rawValue: $0) })
    else { return ReferenceResponse() }
    var response = ReferenceResponse(state: known)
    for node in fields.dropFirst() {
        // A constructed and a primitive field have different first bytes.
        let first = node.encodedBytes.first ?? 0
        if first & 0x1F == 0x1F { return ReferenceResponse(isUnknown: true) }
        if first == 0xA2 { response.hasToken = true }
        guard first == 0xA1 else { continue }
        let mechanism = Array(node.encodedBytes.dropFirst(2))
        let kinds: [UInt8] = [0x86, 0x82]
        let known = kinds.map { [0x06, 0x09, 0x2A, 0x86, 0x48, $0, 0xF7, 0x12, 0x01, 0x02, 0x02] }
        if !known.contains(mechanism) { return ReferenceResponse() }
    }
    return response
}

/// The tokens of a security layer do not depend on how their bytes arrive.
private func checkLayer(step: Int, _ bytes: [UInt8]) {
    let whole = tokens(bytes, step: bytes.count + 1)
    check(whole == tokens(bytes, step: step + 1), "the tokens depend on how the bytes arrive")
    let sizes = whole.map { if case .complete(let token) = $0 { 4 + token.count } else { 0 } }
    check(sizes.reduce(0, +) <= bytes.count, "there is more than arrived")
}

private func tokens(_ bytes: [UInt8], step: Int) -> [ArrivingToken.Progress] {
    var arriving = ArrivingToken()
    var tokens: [ArrivingToken.Progress] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        check(arriving.missing > 0, "nothing more is read")
        let count = min(arriving.missing, step)
        arriving.append(rest.prefix(count))
        rest = rest.dropFirst(count)
        let progress = arriving.take()
        if progress != .incomplete { tokens.append(progress) }
        if case .complete(let token) = progress { check(token.count <= ArrivingToken.longest, "a token is too long") }
        if progress == .tooLong { break }
    }
    return tokens
}

/// The signature algorithm of a certificate is where a simple reader of BER finds it.
private func checkCertificate(_ bytes: [UInt8]) {
    guard let outline = try? CertificateOutline(der: bytes) else { return }
    guard var whole = BasicEncoding.content(of: bytes[...], BasicEncoding.sequence),
        BasicEncoding.next(in: &whole, BasicEncoding.sequence) != nil,
        let algorithm = BasicEncoding.next(in: &whole, BasicEncoding.sequence), let identifier = BasicEncoding.content(of: algorithm, 0x06)
    else { fatalError("the algorithm of a certificate is not found") }
    var serializer = DER.Serializer()
    check((try? serializer.serialize(outline.signatureAlgorithm.algorithm)) != nil, "an identifier cannot be written")
    check(Array(serializer.serializedBytes.dropFirst(2)) == Array(identifier) || identifier.count > 127, "another algorithm is found")
}
