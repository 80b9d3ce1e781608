internal import ArgumentParser
internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import KerberosSSO
internal import SignOnPolicy
internal import SystemSupport

struct ProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Check or remove a profile, or print the active configuration.",
        discussion: """
            EXAMPLES:
              ksso profile check corp.mobileconfig
              ksso profile show
            """,
        subcommands: [Check.self, Show.self, ProfileRemove.self]
    )

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Check each key of a profile.",
            discussion: """
                Each line is a key and how ksso uses it; ! marks an error to fix. The last line counts the results. Exits with status 1 if \
                the profile has an error.

                EXAMPLES:
                  ksso profile check corp.mobileconfig
                  ksso profile check --json corp.yaml
                """
        )

        @Argument(help: "The profile: a .mobileconfig or YAML file.", completion: .profile)
        var file: String
        @Flag(help: "Print one JSON document.")
        var json = false

        func run() async throws {
            // Verifying a signature may take a while.
            let checked = await BlockingCall.run { [file] in
                Result { () throws(ProfileError) in try ProfileReport.check(contentsOf: file, policy: ProfileSearch().policy()) }
            }
            let report: ProfileReport
            do throws(ProfileError) {
                report = try checked.get()
            } catch {
                throw CommandFailure(.failed, error.message)
            }
            if json { try Console.printJSON(ProfileCheckDocument(report)) } else { show(report) }
            guard report.hasErrors else { return }
            throw CommandFailure(
                .failed,
                json ? "\(file): the profile has errors." : "\(file): the profile has errors. Fix the lines marked with !."
            )
        }

        private func show(_ report: ProfileReport) {
            let width = report.rows.map { $0.path.description.count }.max() ?? 0
            for row in report.rows {
                let path = row.path.description.padding(toLength: width, withPad: " ", startingAt: 0)
                Console.print("\(row.verdict.isError ? "!" : " ") \(path)  \(row.verdict)")
            }
            if let signature = report.signature { Console.print("  \(signature.textWithTimeLeft)") }
            if let refusal = report.refusal { Console.print("! \(refusal.reason)") }
            for ignored in report.ignoredPayloads { Console.print("  \(ignored)") }
            for remark in report.advice { Console.print("\(remark.severity == .error ? "!" : " ") \(remark)") }
            if report.kerberosPayloadCount == 0 { Console.print("! this file contains no payload for the Kerberos extension") }
            guard !report.rows.isEmpty else { return }
            let counts = Dictionary(grouping: report.rows, by: \.verdict.name).mapValues(\.count)
            let labels = [
                ("used", "used"), ("notApplicable", "not applicable"), ("unknown", "unknown"), ("misspelled", "misspelled"),
                ("wrongType", "wrong type"), ("badValue", "bad value"), ("missing", "missing"),
            ]
            Console.print("  " + labels.compactMap { name, label in counts[name].map { "\(label): \($0)" } }.joined(separator: ", "))
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Print the active configuration.",
            discussion: """
                EXAMPLES:
                  ksso profile show
                  ksso profile show --json --profile corp.yaml
                """
        )

        @Flag(help: "Print one JSON document.")
        var json = false
        @OptionGroup var common: CommonOptions

        func run() async throws {
            try await common.engine.run { sso in
                if json { return try Console.printJSON(ProfileShowDocument(sso)) }
                for profile in sso.profiles {
                    for configuration in profile.configurations { show(configuration) }
                    if let signature = profile.signature { Console.print("    \(signature.textWithTimeLeft)") }
                }
                if sso.profiles.isEmpty {
                    let isRejected = sso.warnings.contains { $0.code == .rejected }
                    Console.note(
                        isRejected
                            ? "no profile can be used, so no host is answered. Correct the files that the warnings name."
                            : "no profile is installed, so no host is answered. Install one with: ksso setup FILE"
                    )
                }
            }
        }

        private func show(_ configuration: ExtensionConfiguration) {
            Console.print("\(configuration.realm)\(configuration.isDefaultRealm ? " (default realm)" : ""), from \(configuration.source)")
            Console.print("    hosts: \(configuration.hosts.map(\.description).joined(separator: " "))")
            showSettings(configuration)
            if let name = configuration.principalName {
                Console.print("    principal: \(name)")
            } else if let name = configuration.userPrincipal {
                Console.print("    default principal: \(name)")
            }
            if !configuration.preferredKDCs.isEmpty {
                Console.print("    KDCs first: \(configuration.preferredKDCs.map(\.description).joined(separator: " "))")
            }
            for (realm, suffixes) in configuration.domainRealmMapping.sorted(by: { $0.key < $1.key }) {
                Console.print("    \(realm) serves: \(suffixes.joined(separator: " "))")
            }
        }

        /// Prints the lists that control how a host is answered, if they are not empty.
        private func showSettings(_ configuration: ExtensionConfiguration) {
            for list in HostList.all {
                let rules = configuration[keyPath: list.property]
                if !rules.isEmpty { Console.print("    \(list.label): \(rules.map(\.description).joined(separator: " "))") }
            }
            for (origin, principal) in configuration.servicePrincipals.sorted(by: { $0.key.description < $1.key.description }) {
                Console.print("    service principal at \(origin): \(principal)")
            }
        }
    }
}
