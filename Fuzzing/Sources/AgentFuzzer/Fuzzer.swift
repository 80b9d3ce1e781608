import Foundation
import FuzzerSupport
import HTTPNegotiate
import HTTPTypes
import SignOnPolicy

@testable import KerberosEngine
@testable import KerberosSSO
@testable import SSOAgent
@testable import SSOAgentClient

/// Fuzzes what clients send to the agent and the agent to clients, and what the agent reads from the kernel, caches and a
/// pinentry program. The first byte selects the kind of the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    switch input.kind(of: 8) {
    case 0: checkAuthorize(Data(input.rest()))
    case 1: checkBodies(Data(input.rest()))
    case 2: checkEvents(step: Int(input.byte()), input.rest())
    case 3: checkFields(input.texts())
    case 4: checkControlGroups(input.rest())
    case 5: checkAssuan(input.textBytes(), input.text())
    case 6: checkAccount(input.text())
    default: checkRoutes(input.rest())
    }
    return 0
}

/// A request means the same after it is written again, and its URL has one host.
private func checkAuthorize(_ data: Data) {
    guard let message = try? AgentJSON.decode(AuthorizeRequest.self, from: data) else { return }
    let again = (try? AgentJSON.encode(message)).flatMap { try? AgentJSON.decode(AuthorizeRequest.self, from: $0) }
    check(again == message, "a request does not survive a round trip")
    guard let request = try? message.authorizationRequest() else { return }
    guard let origin = try? Origin(url: message.url) else { fatalError("an invalid URL is accepted") }
    check((try? Origin(url: request.url.absoluteString)) == origin, "the URL of the request has another origin")
    if let host = request.url.host(percentEncoded: true)?.lowercased(), !origin.isAddress {
        check(host == origin.host || host == origin.host + ".", "Foundation reads the host \(host), we read \(origin.host)")
    }
    let sent = AuthorizeRequest(request)
    check((try? sent.authorizationRequest())?.principal == request.principal, "the principal has changed")
    check((try? sent.authorizationRequest())?.challenger == request.challenger, "the challenger has changed")
}

private func checkBodies(_ data: Data) {
    checkBody(ContinueRequest.self, data)
    checkBody(ContinueReply.self, data)
    checkBody(AuthorizeReply.self, data)
    checkBody(PasswordRequest.self, data)
    checkBody(SessionSelection.self, data)
    checkBody(AgentProblem.self, data)
    checkBody(AgentEvent.self, data)
    checkBody(PasswordChangeDocument.self, data)
    checkBody(SignOutDocument.self, data)
    checkBody(ConfigurationReply.self, data)
    if let problem = try? AgentJSON.decode(AgentProblem.self, from: data) { _ = AuthorizationError(problem) }
}

/// A document that is read and written is read the same again.
private func checkBody<Body: Codable>(_ type: Body.Type, _ data: Data) {
    guard let first = try? AgentJSON.decode(type, from: data), let written = try? AgentJSON.encode(first) else { return }
    guard let second = try? AgentJSON.decode(type, from: written), let again = try? AgentJSON.encode(second) else {
        fatalError("\(type) is not read again from \(String(decoding: written, as: UTF8.self))")
    }
    let objects = [written, again].map { try? JSONSerialization.jsonObject(with: $0) as? NSDictionary }
    check(objects[0] == objects[1], "\(type) changes when it is written again: \(String(decoding: written, as: UTF8.self))")
}

/// The events do not depend on how the bytes arrive.
private func checkEvents(step: Int, _ bytes: [UInt8]) {
    let whole = events(parts(of: bytes, length: bytes.count))
    check(whole == events(parts(of: bytes, length: step)), "the events depend on how the bytes arrive")
    for event in whole.events {
        guard let data = try? AgentJSON.encode(event) else { fatalError("an event cannot be written") }
        check(!data.contains(10), "an event has two lines")
        check(events([(Array("data: ".utf8) + Array(data) + [10])[...]]).events.map(\.kind) == [event.kind], "an event is not read again")
    }
}

private struct ReadEvents: Equatable {
    var events: [AgentEvent] = []
    var isComplete = true
}

private func events(_ parts: [ArraySlice<UInt8>]) -> ReadEvents {
    var lines = AgentEventLines()
    var read = ReadEvents()
    for part in parts where read.isComplete { read.isComplete = lines.read(part) { read.events.append($0) } }
    return read
}

/// A field from the agent cannot begin another field or a body.
private func checkFields(_ texts: [String]) {
    var wire: [String: String] = [:]
    for index in stride(from: 0, to: texts.count - 1, by: 2) { wire[texts[index]] = texts[index + 1] }
    guard let fields = try? HTTPFields(wire: wire) else { return }
    check(fields.count == wire.count, "there are \(fields.count) fields instead of \(wire.count)")
    for field in fields {
        let name = field.name.rawName.utf8
        check(name.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }, "a name has other characters")
        check(!field.name.rawName.isEmpty, "a name is empty")
        check(!field.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "a value ends its line")
        check(field.indexingStrategy == .disallow, "a field may be stored")
    }
}

/// The unit is a whole part of a line of the group, as a second reader finds it.
private func checkControlGroups(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    let unit = CallerIdentity.unit(inControlGroups: text)
    let found = Array(text.utf8).split(separator: 10).lazy.compactMap { line -> String? in
        let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual("0".utf8) || parts[1].elementsEqual("name=systemd".utf8) else { return nil }
        return parts[2].split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
            .last { part in [".service", ".scope"].contains { part.utf8.suffix($0.utf8.count).elementsEqual($0.utf8) } }
    }.first
    check(unit.map { Array($0.utf8) } == found.map { Array($0.utf8) }, "the unit is \(unit ?? "absent"), not \(found ?? "absent")")
}

private func checkAssuan(_ bytes: [UInt8], _ text: String) {
    switch AssuanLine(bytes) {
    case .data(let data): check(data.count <= max(0, bytes.count - 2), "there is more data than the line has")
    case .failed(let code): check(code <= 0xFFFF, "\(code) is no error code")
    default: break
    }
    let line = AssuanLine.request("D", text, limit: 1000)
    check(line.count <= 1000, "a line has \(line.count) bytes")
    check(line.last == 10 && !line.dropLast().contains { $0 < 0x20 || $0 == 0x7F }, "a text ends the line")
    guard !text.isEmpty, case .data(let read) = AssuanLine(Array(line.dropLast())) else { return }
    check(text.utf8.starts(with: read), "a text is read differently")
    check(line.count > 900 || read.elementsEqual(text.utf8), "a text is not sent as a whole")
}

/// A mark that is read survives being written again.
private func checkAccount(_ text: String) {
    guard let status = AccountStatus(text: text) else { return }
    guard let again = AccountStatus(text: status.text) else { fatalError("a mark is not read again: \(status.text)") }
    check(again.problem == status.problem && again.homeDirectory == status.homeDirectory, "a mark has changed")
    check(again.passwordNeverExpires == status.passwordNeverExpires, "a mark has changed")
    let dates = zip([again.read, again.passwordExpires], [status.read, status.passwordExpires])
    for case (let one?, let other?) in dates {
        let (one, other) = (one.timeIntervalSince1970, other.timeIntervalSince1970)
        check(abs(one - other) <= max(1, abs(other) * 1e-9), "a date has changed")
    }
}

/// The messages of a datagram are no more than fit, and those of a shorter datagram are its first ones.
private func checkRoutes(_ bytes: [UInt8]) {
    let messages = Array(RouteMessages(bytes[...]))
    check(messages.count <= bytes.count / 16, "there are more messages than fit")
    let shorter = Array(RouteMessages(bytes[..<(bytes.count / 2)]))
    check(messages.starts(with: shorter), "a truncated datagram has other messages")
    for message in messages where message.matters { check((16...25).contains(message.type), "a message of another kind matters") }
}
