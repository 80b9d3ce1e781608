internal import Foundation
internal import KCM
internal import Kerberos
internal import KerberosEngine
internal import SystemSupport

extension Agent {
    /// How long expired caches are kept. The primary cache is always kept, because an agent runs only while its user is present.
    var retention: CacheRetention {
        CacheRetention(
            period: options.expiredCachePeriod,
            isExempt: \.isReacquirable,
            removed: { [journal] in journal.note($0.sentence) }
        )
    }
}

extension CredentialCache {
    /// Whether the tickets can be reacquired with a keytab or a stored password, even if that has failed for a long time.
    var isReacquirable: Bool {
        setting(Session.acquisitionSetting).map { Session.isReacquirable(setting: String(decoding: $0, as: UTF8.self)) } ?? false
    }
}

extension AbandonedCache {
    /// The log message for the removal.
    var sentence: String {
        if madeRoom {
            let name = "\(cache.name) of \(cache.principal.text)".escapedForDisplay()
            return "the credential cache \(name), whose tickets have expired, was removed: the limit of caches was reached (--max-caches)."
        }
        let date = Date(timeIntervalSince1970: Double(endOfLife)).localText
        let name = "\(cache.name) of \(cache.principal.text)".escapedForDisplay()
        return "the credential cache \(name) was removed: since \(date) none of its tickets could be used or renewed."
    }
}
