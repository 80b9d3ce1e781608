internal import COpenLDAP

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The functions of OpenLDAP's libldap, which is loaded when it is first used, so that programs also run where it is not installed.
struct LDAPLibrary: Sendable {
    let initialize: openldap_init_fd
    let setOption: openldap_set_option
    let getOption: openldap_get_option
    let startTLS: openldap_start_tls_s
    let bind: openldap_sasl_bind_s
    let search: openldap_search_ext
    let result: openldap_result
    let parseResult: openldap_parse_result
    let firstEntry: openldap_entry
    let distinguishedName: openldap_get_dn
    let firstAttribute: openldap_first_attribute
    let nextAttribute: openldap_next_attribute
    let values: openldap_get_values_len
    let freeValues: openldap_value_free_len
    let freeMessage: openldap_msgfree
    let freeMemory: openldap_memfree
    let unbind: openldap_unbind_ext_s
    let text: openldap_err2string
    let freeValue: openldap_bvfree
    let freeElement: openldap_ber_free
    let control: openldap_sockbuf_ctrl
    let addLayer: openldap_sockbuf_add_io

    /// The library's file names: of OpenLDAP 2.6, of 2.5 and 2.4 on Debian and Ubuntu, and of macOS.
    private static let names = ["libldap.so.2", "libldap-2.5.so.0", "libldap-2.4.so.2", "libldap.dylib"]

    /// The library; nil if it is not installed. It is loaded once and stays loaded.
    static let shared: LDAPLibrary? = names.lazy.compactMap { dlopen($0, RTLD_NOW | RTLD_LOCAL) }.compactMap(LDAPLibrary.init).first

    private init?(_ handle: UnsafeMutableRawPointer) {
        // Functions of liblber are found as well, because libldap depends on it.
        func function<Function>(_ name: String, _: Function.Type) -> Function? {
            dlsym(handle, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard let initialize = function("ldap_init_fd", openldap_init_fd.self),
            let setOption = function("ldap_set_option", openldap_set_option.self),
            let getOption = function("ldap_get_option", openldap_get_option.self),
            let startTLS = function("ldap_start_tls_s", openldap_start_tls_s.self),
            let bind = function("ldap_sasl_bind_s", openldap_sasl_bind_s.self),
            let search = function("ldap_search_ext", openldap_search_ext.self),
            let result = function("ldap_result", openldap_result.self),
            let parseResult = function("ldap_parse_result", openldap_parse_result.self),
            let firstEntry = function("ldap_first_entry", openldap_entry.self),
            let distinguishedName = function("ldap_get_dn", openldap_get_dn.self),
            let firstAttribute = function("ldap_first_attribute", openldap_first_attribute.self),
            let nextAttribute = function("ldap_next_attribute", openldap_next_attribute.self),
            let values = function("ldap_get_values_len", openldap_get_values_len.self),
            let freeValues = function("ldap_value_free_len", openldap_value_free_len.self),
            let freeMessage = function("ldap_msgfree", openldap_msgfree.self),
            let freeMemory = function("ldap_memfree", openldap_memfree.self),
            let unbind = function("ldap_unbind_ext_s", openldap_unbind_ext_s.self),
            let text = function("ldap_err2string", openldap_err2string.self),
            let freeValue = function("ber_bvfree", openldap_bvfree.self),
            let freeElement = function("ber_free", openldap_ber_free.self),
            let control = function("ber_sockbuf_ctrl", openldap_sockbuf_ctrl.self),
            let addLayer = function("ber_sockbuf_add_io", openldap_sockbuf_add_io.self)
        else { return nil }
        (self.initialize, self.setOption, self.getOption, self.startTLS) = (initialize, setOption, getOption, startTLS)
        (self.bind, self.search, self.result, self.parseResult, self.firstEntry) = (bind, search, result, parseResult, firstEntry)
        (self.distinguishedName, self.firstAttribute, self.nextAttribute) = (distinguishedName, firstAttribute, nextAttribute)
        (self.values, self.freeValues, self.freeMessage, self.freeMemory) = (values, freeValues, freeMessage, freeMemory)
        (self.unbind, self.text, self.freeValue, self.freeElement) = (unbind, text, freeValue, freeElement)
        (self.control, self.addLayer) = (control, addLayer)
    }

    /// The library's text for a result code.
    func description(of status: Int32) -> String { text(status).map { String(cString: $0) } ?? "error \(status)" }
}

/// The values of ldap.h and lber.h that are used here.
enum LDAPConstant {
    static let protocolTCP: Int32 = 1
    static let version3: Int32 = 3

    static let optionAliases: Int32 = 0x0002
    static let neverFollow: Int32 = 0
    static let optionReferrals: Int32 = 0x0008
    static let optionVersion: Int32 = 0x0011
    static let optionDiagnosticMessage: Int32 = 0x0032
    static let optionTimeout: Int32 = 0x5002
    static let optionNetworkTimeout: Int32 = 0x5005
    static let optionSockbuf: Int32 = 0x5008
    static let optionTLSAuthorities: Int32 = 0x6002
    static let optionTLSAuthorityFolder: Int32 = 0x6003
    static let optionTLSRequireCertificate: Int32 = 0x6006
    static let optionTLSOldestVersion: Int32 = 0x6007
    static let version12OfTLS: Int32 = 0x0303
    static let optionTLSRevocationCheck: Int32 = 0x600B
    /// The folder of authorities, the client's certificate and its key, the ciphers, and the revocation list.
    static let textsOfTLS: [Int32] = [optionTLSAuthorityFolder, 0x6004, 0x6005, 0x6008, 0x6010]
    static let optionTLSNewContext: Int32 = 0x600F
    static let optionTLSPeerCertificate: Int32 = 0x6015
    static let demandCertificate: Int32 = 2

    static let success: Int32 = 0
    static let sizeLimitExceeded: Int32 = 4
    static let strongerAuthenticationRequired: Int32 = 8
    static let bindInProgress: Int32 = 14
    static let confidentialityRequired: Int32 = 13
    static let noSuchObject: Int32 = 32
    static let invalidCredentials: Int32 = 49
    static let insufficientAccess: Int32 = 50
    static let serverDown: Int32 = -1
    static let timeout: Int32 = -5
    static let connectError: Int32 = -11

    static let layerLevelApplication: Int32 = 30
    static let controlDataReady: Int32 = 8
    static let controlLongestMessage: Int32 = 14

    static let oneMessage: Int32 = 0
    static let searchEntry: Int32 = 0x64
    static let searchResult: Int32 = 0x65
}
