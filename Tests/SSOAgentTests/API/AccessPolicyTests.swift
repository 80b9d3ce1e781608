import Foundation
import HTTPNegotiate
import KCM
import SSOAgentClient
import TestSupport
import Testing

@testable import SSOAgent

/// Which users and programs the agent serves, and for which hosts and realms.
@Suite struct AccessPolicyTests {
    private static let owner: UInt32 = 1000
    private static let curl = CallerIdentity(executable: "/usr/bin/curl", unit: "app.scope")
    private static let backup = CallerIdentity(executable: "/opt/backup/bin/run", unit: "backup.service")

    private func peer(_ user: UInt32 = Self.owner, group: UInt32 = 1000, process: Int32 = -1) -> PeerCredential {
        PeerCredential(processID: process, userID: user, groupID: group)
    }

    private func configuration(_ realm: String = "A.TEST", change: (inout ExtensionConfiguration) -> Void) throws -> ExtensionConfiguration
    {
        var configuration = ExtensionConfiguration(realm: realm, hosts: [try HostRule(".a.test")])
        change(&configuration)
        return configuration
    }

    private func policy(_ configurations: [ExtensionConfiguration], caller: CallerIdentity = .init(), own: String? = nil) -> AccessPolicy {
        AccessPolicy(owner: Self.owner, configurations: configurations, ownExecutable: own) { _ in caller }
    }

    /// The code of the refusal, or nil if the peer is permitted.
    private func refusal(
        _ policy: AccessPolicy,
        _ peer: PeerCredential,
        _ url: String,
        of configurations: [ExtensionConfiguration],
        operation: AuthorizationOperation = .implicit,
        principal: String? = nil
    ) throws -> String? {
        let request = AuthorizationRequest(url: try #require(URL(string: url)), operation: operation, principal: principal)
        do throws(AgentProblem) {
            let plan = DecisionPolicy(configurations).decision(for: request.url).plan
            try policy.check(peer, for: request, plan: plan, in: configurations)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(
        arguments: [
            (33, 0, "https://www.a.test/", true), (33, 0, "https://x.www.a.test/", false), (33, 0, "https://other.a.test/", false),
            (33, 0, "https://www.b.test/", false), (34, 0, "https://www.a.test/", false), (34, 50, "https://x.group.a.test/", true),
            (34, 50, "https://www.a.test/", false), (0, 0, "https://www.a.test/", false),
        ] as [(UInt32, UInt32, String, Bool)]
    )
    func `another user gets tokens only for the hosts that are granted`(user: UInt32, group: UInt32, url: String, isGranted: Bool) throws {
        let rules = [
            AllowedPeer(.user(33), hosts: [try HostRule("www.a.test")]), AllowedPeer(.group(50), hosts: [try HostRule(".group.a.test")]),
        ]
        let configurations = [try configuration { $0.allowedPeers = rules }]
        let policy = policy(configurations)
        let otherUser = peer(user, group: group)
        #expect(try refusal(policy, otherUser, url, of: configurations) == (isGranted ? nil : "forbidden"))
        #expect(try refusal(policy, otherUser, url, of: configurations, operation: .logout) == "forbidden")
        #expect(throws: AgentProblem.self) { try policy.check(otherUser, for: .owner, in: configurations) }
        #expect(!policy.permitsCaches(otherUser))
    }

    @Test func `another user sees only the fields that decide how a host is handled`() throws {
        let sample = try ExtensionConfiguration.withEveryField()
        let visible = try policy([sample]).visible([sample], to: peer(33, group: 0))
        let lists = sample.fields(withDefault: false).filter { $0.hasSuffix("Hosts") }
        #expect(lists.count == HostList.all.count)
        #expect(
            visible.map { Set($0.fields(withDefault: false)) } == [
                Set(
                    ["realm", "hosts", "servicePrincipals", "principalName", "isDefaultRealm", "domainRealmMapping", "preferredKDCs"]
                        + lists
                )
            ]
        )
        #expect(try policy([sample]).visible([sample], to: peer()) == [sample])
    }

    @Test(arguments: [
        (CredentialCaller.executable("/usr/bin/curl"), true, false), (.executable("/usr/bin/curl2"), false, false),
        (.folder("/usr/bin/"), true, false), (.folder("/opt/backup/"), false, true), (.unit("backup.service"), false, true),
        (.unit("app.scope"), true, false), (.unit("scope"), false, false),
    ])
    func `credentialCallers permits programs, folders and systemd units`(caller: CredentialCaller, curlMay: Bool, backupMay: Bool) throws {
        let configurations = [try configuration { $0.credentialCallers = [caller] }]
        for (identity, may) in [(Self.curl, curlMay), (Self.backup, backupMay), (CallerIdentity(), false)] {
            let policy = policy(configurations, caller: identity)
            #expect(try refusal(policy, peer(), "https://www.a.test/", of: configurations) == (may ? nil : "forbidden"))
            #expect(policy.permitsCaches(peer()) == may)
        }
    }

    @Test(arguments: [CredentialCaller.executable("/usr/bin/curl"), .folder("/usr/"), .unit("app.scope")], [true, false])
    func `a denied program gets no tickets of the realm, even if also permitted`(caller: CredentialCaller, isAlsoPermitted: Bool) throws {
        let configurations = [
            try configuration {
                $0.deniedCallers = [caller]
                $0.credentialCallers = isAlsoPermitted ? [.executable("/usr/bin/curl"), .unit("backup.service")] : nil
            }, ExtensionConfiguration(realm: "B.TEST", hosts: [try HostRule(".b.test")]),
        ]
        for (identity, may) in [(Self.curl, false), (Self.backup, true)] {
            let policy = policy(configurations, caller: identity)
            #expect(try refusal(policy, peer(), "https://www.a.test/", of: configurations) == (may ? nil : "forbidden"))
            #expect(try refusal(policy, peer(), "https://www.b.test/", of: configurations) == nil)
            #expect(policy.permitsCaches(peer()) == may)
        }
        // The agent's own program has the tickets anyway.
        let own = policy(configurations, caller: Self.curl, own: "/usr/bin/curl")
        #expect(try refusal(own, peer(), "https://www.a.test/", of: configurations) == nil)
        #expect(own.permitsCaches(peer()) && policy(configurations, caller: Self.curl).permitsCaches(peer(process: getpid())))
    }

    /// The kernel reports the program's own file.
    @Test(arguments: ["link", "folder/", "folder-link/", "folder-link/curl"], [true, false])
    func `an entry covers a program through symbolic links`(name: String, isDenied: Bool) throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.resolvingSymlinksInPath().appending(path: "AccessPolicyTests-\(UUID().uuidString)").path
        try files.createDirectory(atPath: "\(folder)/folder", withIntermediateDirectories: true)
        defer { try? files.removeItem(atPath: folder) }
        let own = "\(folder)/folder/curl"
        #expect(files.createFile(atPath: own, contents: nil))
        try files.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: own)
        try files.createSymbolicLink(atPath: "\(folder)/folder-link", withDestinationPath: "\(folder)/folder")
        let caller = try #require(CredentialCaller("\(folder)/\(name)"))
        let configurations = [
            try configuration { if isDenied { $0.deniedCallers = [caller] } else { $0.credentialCallers = [caller] } }
        ]
        for (executable, isCovered) in [(own, true), ("\(folder)/folder2/curl", false), ("/usr/bin/wget", false)] {
            let policy = policy(configurations, caller: CallerIdentity(executable: executable))
            let may = isCovered != isDenied
            #expect(try refusal(policy, peer(), "https://www.a.test/", of: configurations) == (may ? nil : "forbidden"))
            #expect(policy.permitsCaches(peer()) == may)
        }
    }

    /// A program whose file was replaced is identified by its old path. One that has exited or cannot be read may be the denied one.
    @Test(arguments: [
        (CallerIdentity(replacedExecutable: "/usr/bin/curl", unit: "app.scope"), false),
        (CallerIdentity(replacedExecutable: "/usr/bin/firefox", unit: "app.scope"), true),
        (CallerIdentity(replacedExecutable: "/usr/bin/ksso"), true), (CallerIdentity(unit: "app.scope"), false), (CallerIdentity(), false),
    ])
    func `a process whose executable cannot be identified is treated as denied`(caller: CallerIdentity, may: Bool) throws {
        let configurations = [try configuration { $0.deniedCallers = [.executable("/usr/bin/curl")] }]
        let policy = policy(configurations, caller: caller, own: "/usr/bin/ksso")
        #expect(try refusal(policy, peer(), "https://www.a.test/", of: configurations) == (may ? nil : "forbidden"))
        #expect(policy.permitsCaches(peer()) == may)
    }

    /// The first configuration has a list, and possibly a principal of another realm; the second has no list. A request without a realm may
    /// mean any realm.
    @Test(
        arguments: [
            (nil, nil, false), ("A.TEST", nil, false), ("a.test", nil, false), ("B.TEST", nil, true), ("C.TEST", nil, true),
            ("C.TEST", "svc@C.TEST", false),
            ("c.test", "svc@C.TEST", false), ("B.TEST", "svc@C.TEST", true), ("C.TEST", "svc", true), ("C.TEST", "@", false),
            ("C.TEST", "svc@mail.test", false), ("C.TEST", #"svc\@mail.test@A.TEST"#, false),
        ] as [(String?, String?, Bool)],
        [true, false]
    )
    func `a caller list protects the configuration's realm and its principal's`(asked: (String?, String?, Bool), isDenied: Bool) throws {
        let (realm, principalName, may) = asked
        let second = ExtensionConfiguration(realm: "B.TEST", hosts: [try HostRule(".b.test")])
        let first = try configuration {
            if isDenied { $0.deniedCallers = [.executable("/usr/bin/curl")] } else { $0.credentialCallers = [.unit("backup.service")] }
            $0.principalName = principalName
        }
        let denied = policy([first, second], caller: Self.curl)
        if may {
            #expect(throws: Never.self) { try denied.check(peer(), usesTicketsOf: realm, in: [first, second]) }
        } else {
            #expect(throws: AgentProblem.self) { try denied.check(peer(), usesTicketsOf: realm, in: [first, second]) }
        }
        #expect(throws: Never.self) {
            try policy([first], caller: Self.curl, own: "/usr/bin/curl").check(peer(), usesTicketsOf: realm, in: [first])
            try denied.check(peer(), for: .owner, in: [first, second])
        }
    }

    /// The URL is covered by a configuration without a list; the tickets are of a realm whose configuration has one.
    @Test(
        arguments: [
            ("bob@A.TEST", nil, nil, false), ("bob@B.TEST", nil, nil, true), (nil, nil, nil, true), (nil, "svc@A.TEST", nil, false),
            ("bob", "svc@A.TEST", nil, true), ("bob@A.TEST", nil, .always, true), ("bob@A.TEST", nil, .whenNotSpecified, false),
            // The KDC chooses the realm of a user principal name.
            ("bob@mail.test", nil, nil, false), (nil, "bob@mail.test", nil, false), ("bob@b.test", nil, nil, true),
            (#"bob\@mail.test@B.TEST"#, nil, nil, false), (nil, #"bob\@mail.test@B.TEST"#, nil, false),
        ] as [(String?, String?, CredentialUseMode?, Bool)]
    )
    func `the caller list of the answering principal's realm applies`(
        principal: String?,
        principalName: String?,
        mode: CredentialUseMode?,
        may: Bool
    ) throws {
        var second = ExtensionConfiguration(realm: "B.TEST", hosts: [try HostRule(".b.test")])
        (second.principalName, second.credentialUseMode) = (principalName, mode)
        let configurations = [try configuration { $0.credentialCallers = [.unit("backup.service")] }, second]
        let policy = policy(configurations, caller: Self.curl)
        let refusal = try refusal(policy, peer(), "https://www.b.test/", of: configurations, principal: principal)
        #expect(refusal == (may ? nil : "forbidden"))
    }

    @Test func `without a caller list, every program of the user is permitted`() throws {
        let configurations = [try configuration { _ in }]
        #expect(try refusal(policy(configurations), peer(), "https://www.a.test/", of: configurations) == nil)
        #expect(policy(configurations).permitsCaches(peer()))
    }

    @Test func `another realm's caller list does not apply to a token`() throws {
        let second = ExtensionConfiguration(realm: "B.TEST", hosts: [try HostRule(".b.test")])
        let configurations = [try configuration { $0.credentialCallers = [.unit("backup.service")] }, second]
        let policy = policy(configurations, caller: Self.curl)
        #expect(try refusal(policy, peer(), "https://www.b.test/", of: configurations) == nil)
        // The caches contain the tickets of both realms.
        #expect(!policy.permitsCaches(peer()))
    }

    @Test func `the agent's own program is always permitted`() throws {
        let configurations = [try configuration { $0.credentialCallers = [.unit("backup.service")] }]
        let own = policy(configurations, caller: CallerIdentity(executable: "/usr/bin/ksso"), own: "/usr/bin/ksso")
        #expect(own.permitsCaches(peer()))
        #expect(policy(configurations).permitsCaches(peer(process: getpid())))
        #expect(!policy(configurations, own: nil).permitsCaches(peer()))
    }

    @Test(
        arguments: [
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/backup.service\n", "backup.service"),
            ("0::/system.slice/nginx.service/worker\n", "nginx.service"), ("0::/user.slice/session-2.scope\n", "session-2.scope"),
            ("12:cpu:/x.service\n1:name=systemd:/system.slice/old.service\n", "old.service"), ("0::/\n", nil), ("", nil), ("nonsense", nil),
            ("0::/a.service/\u{301}b.service\n", "\u{301}b.service"),
            // A group's name may end with a carriage return, and does not hide the next line.
            ("1:name=systemd:/a\r\n0::/b.service\n", "b.service"),
        ] as [(String, String?)]
    )
    func `a process's systemd unit is the innermost one of its control group`(text: String, unit: String?) {
        #expect(CallerIdentity.unit(inControlGroups: text) == unit)
    }

    @Test func `a process is identified by the path of its executable`() {
        let own = CallerIdentity(processID: getpid()).executable
        let expected = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(own != nil && own == expected)
        #expect(CallerIdentity(processID: -1) == CallerIdentity())
    }
}
