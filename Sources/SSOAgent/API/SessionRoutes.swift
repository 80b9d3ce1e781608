internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Kerberos
internal import KerberosEngine
internal import NIOCore
internal import SSOAgentClient

extension AgentAPI {
    /// `POST /v1/login`
    func login(_ request: Request, _ context: AgentContext) async throws -> Response {
        let served = context.served
        var body = context.body.take()
        let (message, signIn) = try Self.signIn(&body)
        // Signs in exactly the principal that was checked: its full name with its realm means nothing else.
        let (name, realm) = try await served.signingIn(context.peer, as: message.principal, realm: message.realm, using: signIn.source)
        let options = InitialCredentialOptions(
            lifetime: message.lifetime.map { .seconds($0) },
            renewableLifetime: message.renewableLifetime.map { .seconds($0) }
        )
        let session: Session
        switch signIn {
        case .attempt(let source):
            session = try await served.kerberos.signIn(name, realm: realm, using: source, options: options)
        case .unlock(let source, let isAnswered):
            try await served.kerberos.check(source, of: name, realm: realm)
            session = try await waiting.run(on: context.channel) { () async throws(KerberosError) in
                guard isAnswered else {
                    return try await served.kerberos.signInByAsking(name, realm: realm, using: source, options: options)
                }
                return try await served.kerberos.signIn(name, realm: realm, using: source, options: options)
            }
        case .ask:
            session = try await waiting.run(on: context.channel) { () async throws(KerberosError) in
                try await served.kerberos.signInByAsking(name, realm: realm, options: options)
            }
        }
        delegate.sessionsChanged()
        return try Self.response(SessionsReply(sessions: [.init(session)]))
    }

    /// `POST /v1/refresh`
    func refresh(_ request: Request, _ context: AgentContext) async throws -> Response {
        let served = context.served
        let selection = try document(SessionSelection.self, of: context)
        if let name = selection.principal {
            _ = try await served.signingIn(context.peer, as: name, realm: selection.realm)
        } else {
            try served.check(context.peer, usesTicketsOf: selection.realm)
        }
        let sessions = try await Self.sessions(selection, of: served.kerberos)
        var reply = SessionsReply(sessions: [])
        var problems: [AgentProblem] = []
        for session in sessions {
            do throws(KerberosError) {
                reply.sessions.append(.init(try await served.kerberos.refresh(session)))
            } catch {
                problems.append(AgentProblem(error))
            }
        }
        delegate.sessionsChanged()
        if reply.sessions.isEmpty, let problem = problems.first { throw problem }
        reply.problems = problems.isEmpty ? nil : problems
        return try Self.response(reply)
    }

    /// `POST /v1/password`
    func changePassword(_ request: Request, _ context: AgentContext) async throws -> Response {
        let served = context.served
        var body = context.body.take()
        let message = try Self.secretDocument(PasswordRequest.self, in: &body)
        let (name, realm) = try await served.signingIn(context.peer, as: message.principal, realm: message.realm)
        let change = try await served.kerberos.changePassword(
            of: name,
            realm: realm,
            from: Secret(message.password),
            to: Secret(message.newPassword)
        )
        delegate.sessionsChanged()
        return try Self.response(
            PasswordChangeDocument(
                principal: change.principal.description,
                passwordChanged: change.changed,
                passwordExpires: change.expires
            )
        )
    }

    /// `POST /v1/logout`
    func logout(_ request: Request, _ context: AgentContext) async throws -> Response {
        let served = context.served
        let selection = try document(SessionSelection.self, of: context)
        let whom: Principal? =
            if let name = selection.principal { try await served.kerberos.names.principal(name, realm: selection.realm) } else { nil }
        let result = try await served.kerberos.signOut(
            whom,
            realm: whom == nil ? selection.realm : nil,
            includingOthers: selection.all ?? false
        )
        delegate.sessionsChanged()
        let (ended, left) = (result.ended.map(\.principal.description), result.left.map(\.principal.description))
        return try Self.response(SignOutDocument(ended: ended, left: left))
    }

    /// Decodes a document that contains a secret, and wipes the received bytes. The decoder's own copy of the text cannot be wiped.
    private static func secretDocument<Value: Decodable>(_ type: Value.Type, in body: inout ByteBuffer) throws -> Value {
        var bytes = Data(body.readableBytesView)
        defer {
            bytes.resetBytes(in: bytes.indices)
            let count = body.readableBytes
            body.setRepeatingByte(0, count: count, at: body.readerIndex)
        }
        do {
            return try AgentJSON.decode(type, from: bytes)
        } catch {
            throw AgentProblem.malformed(error)
        }
    }

    /// What a request signs in with.
    private enum RequestedSignIn {
        /// A credential that requires no person.
        case attempt(InitialCredentialSource)
        /// A credential that may require a PIN. If it is not in the request, the agent's prompter is asked.
        case unlock(InitialCredentialSource, isAnswered: Bool)
        /// The agent's prompter.
        case ask

        /// The credential, which may determine the principal by itself; nil if a person decides.
        var source: InitialCredentialSource? {
            switch self {
            case .attempt(let source), .unlock(let source, _): source
            case .ask: nil
            }
        }
    }

    /// Decodes a sign-in request, and moves the secrets out of it.
    private static func signIn(_ body: inout ByteBuffer) throws -> (LoginRequest, RequestedSignIn) {
        var message = try secretDocument(LoginRequest.self, in: &body)
        let (password, pin) = (message.password.map { Secret($0) }, message.pin.map { Secret($0) })
        (message.password, message.pin) = (nil, nil)
        guard pin == nil || message.certificate != nil else { throw AgentProblem.badRequest("pin requires certificate.") }
        switch (password, message.keytab, message.certificate) {
        case (let password?, nil, nil): return (message, .attempt(.password(password)))
        case (nil, let keytab?, nil) where keytab.hasPrefix("/"): return (message, .attempt(.keytab(keytab)))
        case (nil, _?, nil): throw AgentProblem.badRequest("keytab must be an absolute path.")
        case (nil, nil, let identity?) where CertificateIdentity.isAbsolute(identity) || identity == "default":
            let source = InitialCredentialSource.certificate(identity == "default" ? nil : identity, FixedAnswer(pin))
            return (message, .unlock(source, isAnswered: pin != nil))
        case (nil, nil, _?): throw AgentProblem.badRequest("the paths in certificate must be absolute.")
        case (nil, nil, nil): return (message, .ask)
        default: throw AgentProblem.badRequest("password, keytab and certificate are mutually exclusive.")
        }
    }

    private static func sessions(_ selection: SessionSelection, of kerberos: KerberosExtension) async throws -> [Session] {
        let whom: Principal? =
            if let name = selection.principal { try await kerberos.names.principal(name, realm: selection.realm) } else { nil }
        let realm: String? = if let realm = selection.realm { await kerberos.names.knownRealm(realm) } else { nil }
        let list = try await kerberos.sessions()
        let sessions = whom.map(list.sessions(of:)) ?? list.sessions.filter { realm == nil || $0.realm == realm }
        guard sessions.isEmpty else { return sessions }
        throw whom.map(KerberosError.notSignedIn) ?? .notSignedIn(toRealm: realm)
    }
}
