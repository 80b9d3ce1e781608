import Foundation
import TestSupport
import Testing

@testable import Kerberos

/// The file that remembers sites.
struct SiteCacheTests {
    private let date = Date(timeIntervalSince1970: 1_800_000_000)

    @Test func `a site is remembered for each realm and network`() async throws {
        try await withFolder { folder in
            let cache = SiteCache(path: "\(folder)/below/sites.json")
            #expect(cache.site(of: "A.TEST", in: "10.1.0.0/16") == nil)
            cache.store("Berlin", of: "A.TEST", in: "10.1.0.0/16", at: date)
            cache.store("Paris", of: "A.TEST", in: "10.2.0.0/16", at: date)
            cache.store("Rome", of: "B.TEST", in: "10.1.0.0/16", at: date)
            cache.store("Bonn", of: "A.TEST", in: "10.1.0.0/16", at: date)
            #expect(cache.site(of: "A.TEST", in: "10.1.0.0/16") == "Bonn")
            #expect(cache.site(of: "A.TEST", in: "10.2.0.0/16") == "Paris")
            #expect(cache.site(of: "B.TEST", in: "10.1.0.0/16") == "Rome")
            #expect(cache.entries().map(\.site) == ["Bonn", "Rome", "Paris"])
            cache.store(nil, of: "A.TEST", in: "10.1.0.0/16", at: date)
            #expect(cache.entries().map(\.site) == ["Rome", "Paris"])
        }
    }

    @Test func `the latest 64 networks are remembered`() async throws {
        try await withFolder { folder in
            let cache = SiteCache(path: "\(folder)/sites.json")
            for number in 0..<70 { cache.store("Site-\(number)", of: "A.TEST", in: "10.\(number).0.0/16", at: date) }
            #expect(cache.entries().count == 64 && cache.entries().first?.site == "Site-69")
            #expect(cache.site(of: "A.TEST", in: "10.5.0.0/16") == nil)
        }
    }

    /// The site becomes part of a question to DNS.
    @Test(arguments: [
        "", "no JSON", "[]", #"[{"realm": "A.TEST"}]"#, #"{"realm": "A.TEST"}"#, String(repeating: " ", count: 70_000) + "[]",
    ])
    func `a damaged file remembers nothing and is replaced`(text: String) async throws {
        try await withFolder { folder in
            let path = "\(folder)/sites.json"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let cache = SiteCache(path: path)
            #expect(cache.entries().isEmpty)
            cache.store("Berlin", of: "A.TEST", in: "", at: date)
            #expect(cache.site(of: "A.TEST", in: "") == "Berlin")
        }
    }

    @Test func `a text that is no site is not used`() async throws {
        try await withFolder { folder in
            let cache = SiteCache(path: "\(folder)/sites.json")
            cache.store("evil.example", of: "A.TEST", in: "10.0.0.0/8", at: date)
            #expect(cache.site(of: "A.TEST", in: "10.0.0.0/8") == nil)
        }
    }

    @Test func `sites that are stored at the same time are all remembered`() async throws {
        try await withFolder { folder in
            await withDiscardingTaskGroup { group in
                for number in 0..<40 {
                    group.addTask { [date] in
                        SiteCache(path: "\(folder)/sites.json").store("Site", of: "A.TEST", in: "10.\(number).0.0/16", at: date)
                    }
                }
            }
            #expect(SiteCache(path: "\(folder)/sites.json").entries().count == 40)
        }
    }

    @Test func `a folder that cannot be written is no error`() {
        SiteCache(path: "/proc/none/sites.json").store("Berlin", of: "A.TEST", in: "", at: date)
        #expect(SiteCache(path: "/proc/none/sites.json").entries().isEmpty)
    }

    @Test func `the description of the network contains no loopback address`() {
        let network = SiteCache.currentNetwork()
        let parts = network.split(separator: " ")
        #expect(!parts.contains { $0.hasPrefix("127.") || $0 == "::1/128" || $0.hasPrefix("fe80:") || !$0.contains("/") })
        #expect(network == SiteCache.currentNetwork())
    }
}
