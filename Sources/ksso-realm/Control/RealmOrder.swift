internal import KerberosTesting
internal import SystemSupport

/// A change to a running realm.
struct RealmOrder: Codable, Sendable {
    enum Action: Codable, Sendable {
        /// A fault in text form, for these transports and this many requests; nil means until it is changed.
        case fault(String, onUDP: Bool, onTCP: Bool, next: Int?)
        /// An action on a KDC, numbered from 1.
        case kdc(KDCAction, number: Int)
        /// The offset of the KDCs' clock in seconds.
        case clock(seconds: Int)
    }

    enum KDCAction: String, Codable, CaseIterable, Sendable {
        case stop, start, pause, resume
    }

    /// The realm; nil means the first one.
    var realm: String?
    var action: Action
}

extension RealmOrder {
    /// Performs the order. Throws `KerberosTestingError`.
    func perform(in realms: [TestRealm]) async throws {
        guard let realm = realm.map({ name in realms.first { $0.name == name } }) ?? realms.first else {
            throw KerberosTestingError(
                .invalidArgument,
                "There is no realm '\(self.realm ?? "")'; the realms are \(realms.map(\.name).joined(separator: ", "))."
            )
        }
        switch action {
        case .fault(let words, let onUDP, let onTCP, let next):
            guard let fault = NetworkFault(words: words) else { throw KerberosTestingError(.invalidArgument, NetworkFault.forms) }
            guard !realm.networks.isEmpty else {
                throw KerberosTestingError(
                    .invalidArgument,
                    "\(realm.name) was started without support for faults. "
                        + "Start it with ksso realm run --fault pass, or add faults: true to the plan."
                )
            }
            let transports: NetworkTransports = if onUDP == onTCP { .both } else { onUDP ? .udp : .tcp }
            for network in realm.networks {
                try await network.set(fault, on: transports, for: next.map { .next($0) } ?? .untilChanged)
            }
        case .kdc(let action, let number):
            let count = realm.kdcPorts.count
            guard (1...count).contains(number) else {
                throw KerberosTestingError(
                    .invalidArgument,
                    "\(realm.name) has no KDC \(number): it has \(quantity(count, "KDC")), counted from 1."
                )
            }
            let number = number - 1
            switch action {
            case .stop: try await realm.stopKDC(number)
            case .start: try await realm.startKDC(number)
            case .pause: try await realm.pauseKDC(number)
            case .resume: try await realm.resumeKDC(number)
            }
        case .clock(let seconds): try await realm.setKDCClock(offset: .seconds(seconds))
        }
    }
}
