internal import Synchronization
internal import SystemSupport

internal import struct Foundation.Date

/// The controllers of one realm's domain, which are located once for each network and then for a while.
///
/// Can be shared by several clients of the realm. Concurrent callers wait for one search.
package final class DomainControllers: Sendable {
    private struct Known {
        let location: DomainLocation?
        let network: String
        let until: ContinuousClock.Instant
    }

    private struct State {
        var known: Known?
        var search: Task<DomainLocation?, Never>?
    }

    private let locator: DomainLocator
    private let cache: SiteCache?
    private let state = Mutex(State())

    /// How long a location is used if a controller answered, and if none did or there is no domain.
    private static let (longTime, shortTime) = (Duration.seconds(900), Duration.seconds(60))

    /// Creates the controllers of a realm. Nothing is read or sent before they are used.
    ///
    /// - Parameters:
    ///   - site: The site whose controllers are preferred; nil asks the domain for the one of this machine's network.
    ///   - limit: How long to wait for controllers, each time they are asked.
    ///   - cacheFile: A file that remembers the site of each network; nil remembers it in this object only.
    package init(realm: String, site: String? = nil, limit: Duration = .milliseconds(1500), cacheFile: String? = nil) {
        locator = DomainLocator(realm: realm, site: site, limit: limit)
        cache = cacheFile.map(SiteCache.init(path:))
    }

    /// The location, or nil if it is not found in twice the limit for one question to the controllers. The search continues meanwhile.
    func locationInTime() async -> DomainLocation? {
        await firstResult(within: locator.limit * 2, cancelsLateWork: false) { [self] in await location() } ?? nil
    }

    /// The location; nil if DNS lists no controller, as for a realm that is not an Active Directory domain. Uses DNS and asks the
    /// controllers, which may take several times the limit, unless the location is known.
    package func location() async -> DomainLocation? {
        let network = SiteCache.currentNetwork()
        let search = state.withLock { state -> Task<DomainLocation?, Never> in
            if let known = state.known, known.network == network, known.until > .now {
                let location = known.location
                return Task { location }
            }
            if let search = state.search { return search }
            let search = Task { await locate(in: network) }
            state.search = search
            return search
        }
        return await search.value
    }

    private func locate(in network: String) async -> DomainLocation? {
        let remembered = await rememberedSite(in: network)
        let location = await locator.location(known: remembered)
        let isAnswered = location?.controllers.contains { $0.latency != nil } ?? false
        if locator.site == nil, isAnswered, location?.site != remembered {
            let site = location?.site
            await BlockingCall.run { [cache, locator] in cache?.store(site, of: locator.realm, in: network, at: Date()) }
        }
        let until = ContinuousClock.now + (isAnswered ? Self.longTime : Self.shortTime)
        state.withLock { $0 = State(known: Known(location: location, network: network, until: until)) }
        return location
    }

    /// The site, without using the network: the given one, or the one that the domain assigned to the current network the last time.
    package func knownSite() async -> String? {
        if let site = locator.site { return site }
        let network = SiteCache.currentNetwork()
        let known = state.withLock { $0.known }
        if let known, known.network == network, known.location != nil { return known.location?.site }
        return await rememberedSite(in: network)
    }

    /// The site in the file, which may be on a slow disk.
    private func rememberedSite(in network: String) async -> String? {
        guard let cache else { return nil }
        return await BlockingCall.run { [locator] in cache.site(of: locator.realm, in: network) }
    }

    /// Forgets the location, because no controller answers there.
    func forget() { state.withLock { $0.known = nil } }
}
