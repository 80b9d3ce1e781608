import TestSupport
import Testing

@testable import Kerberos

/// What a domain controller says about an account in the data of its error.
struct AccountRefusalTests {
    /// KERB-ERROR-DATA with a status, the reserved number and flags.
    private func data(type: UInt8 = 3, _ status: UInt32, flags: Int = 8) -> [UInt8] {
        typealias Encoding = BasicEncoding
        let value = withUnsafeBytes(of: status.littleEndian) { Array($0) } + [UInt8](repeating: 0, count: flags)
        let number = Encoding.element(Encoding.context(1), Encoding.element(Encoding.integer, [type]))
        return Encoding.element(
            Encoding.sequence,
            number + Encoding.element(Encoding.context(2), Encoding.element(Encoding.octetString, value))
        )
    }

    @Test(arguments: AccountRefusal.allCases) func `a status is read`(refusal: AccountRefusal) {
        #expect(AccountRefusal(data: data(refusal.rawValue)) == refusal)
    }

    /// What Samba 4.17 sends for an account that is disabled: a list of pre-authentication data.
    @Test func `the data of Samba's controller are read`() throws {
        let hexadecimal = "30413028a103020113a221041f301d301ba003020112a10c1b0a41442e54455354646973a2060404000010003015a103020103a20e040c"
        #expect(AccountRefusal(data: try bytes(hexadecimal: hexadecimal + "720000c00000000001000000")) == .disabled)
        // Without it, as for an account that is locked, and with a salt in its place.
        let locked = "302b3029a103020113a2220420301e301ca003020112a10d1b0b41442e544553546c6f636ba206040400001000"
        #expect(AccountRefusal(data: try bytes(hexadecimal: locked)) == nil)
        #expect(AccountRefusal(data: try bytes(hexadecimal: hexadecimal + "41442e54455354616c696365")) == nil)
    }

    @Test func `other data say nothing`() {
        #expect(AccountRefusal(data: []) == nil && AccountRefusal(data: data(0)) == nil)
        #expect(AccountRefusal(data: data(type: 2, 0xC000_0072)) == nil && AccountRefusal(data: data(0xC000_0072, flags: 4)) == nil)
        let whole = data(0xC000_0072)
        for length in whole.indices { #expect(AccountRefusal(data: Array(whole.prefix(length))) == nil, "\(length)") }
    }
}
