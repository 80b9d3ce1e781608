internal import Kerberos
internal import SSOAgentClient

extension Agent {
    /// Takes over the tickets that the user had before the agent came. What stands in the way of that is told, and is no reason not to
    /// serve.
    func importTickets() async {
        guard options.mode == .agent else { return }
        let source = RealmConfiguration(realm: "", base: .files(options.systemConfiguration))
        let system = KerberosClient(source)
        // Those of a cache server of the machine's are everybody's already, and a copy would be neither renewed nor ended with them.
        guard (try? await system.defaultCacheName().type) != "KCM" else { return }
        let target = RealmConfiguration(
            realm: "",
            libdefaults: ["kcm_socket": cacheSocket ?? options.runtime.kcmSocket],
            base: .files(options.systemConfiguration),
            defaultCacheName: "KCM:"
        )
        do throws(KerberosError) {
            let principals = try await CacheImport(from: system, to: KerberosClient(target)).run()
            for principal in principals { journal.note("the tickets of \(principal) were taken over from the default cache.") }
        } catch {
            journal.failure("the tickets of the default cache were not taken over: \(error)")
        }
    }
}
