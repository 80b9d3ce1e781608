import SignOnPolicy
import TestSupport
import Testing

@testable import NegotiateProxy

/// Heads and bodies that are refused because two recipients could read them differently, and similar ones that are not.
@Suite struct MessageVectorTests {
    struct Head: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let head: String
        let method: String?
        let target: String?
        let framing: String?
        let problem: String?
        let status: Int?
        var testDescription: String { name }
    }

    struct Body: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let data: String
        let text: String?
        let trailers: [String]?
        let rest: String?
        let problem: String?
        var testDescription: String { name }
    }

    @Test(arguments: try FixtureFile.load("Messages/request-heads", in: .module, as: [Head].self))
    func `a request is read in one way or refused`(_ vector: Head) throws {
        do {
            let bytes = Array(vector.head.utf8)
            #expect(try HeadParser.length(of: bytes) == bytes.count)
            let head = try HeadParser.request(bytes)
            let framing = try head.framing()
            let target = try RequestTarget(head)
            #expect(vector.problem == nil, "\(head)")
            #expect(target.text == vector.target)
            #expect(framing.text == vector.framing)
        } catch {
            #expect(error.clause.hasPrefix(vector.problem ?? "no problem is expected"), "\(error.clause)")
            #expect(error.status == vector.status ?? 400)
        }
    }

    @Test(arguments: try FixtureFile.load("Messages/reply-heads", in: .module, as: [Head].self))
    func `a response is read in one way or refused`(_ vector: Head) throws {
        do {
            let bytes = Array(vector.head.utf8)
            #expect(try HeadParser.length(of: bytes) == bytes.count)
            let head = try HeadParser.response(bytes)
            #expect(try head.framing(to: vector.method ?? "GET").text == vector.framing)
            #expect(vector.problem == nil, "\(head)")
        } catch {
            #expect(error.clause.hasPrefix(vector.problem ?? "no problem is expected"), "\(error.clause)")
        }
    }

    @Test(arguments: try FixtureFile.load("Messages/chunked-bodies", in: .module, as: [Body].self), [1, 1000])
    func `a chunked body is read in one way or refused, however it arrives`(_ vector: Body, pieceSize: Int) throws {
        var decoder = BodyDecoder(.chunked)
        var waiting = Array(vector.data.utf8)[...]
        var (received, text) = ([UInt8](), [UInt8]())
        do {
            while true {
                switch try decoder.next(received) {
                case .content(let count):
                    text += received.prefix(count)
                    received.removeFirst(count)
                case .framing(let count): received.removeFirst(count)
                case .incomplete:
                    try #require(!waiting.isEmpty, "\(vector.problem ?? "the body") was not noticed")
                    received += waiting.prefix(pieceSize)
                    waiting = waiting.dropFirst(pieceSize)
                case .end(let trailers):
                    #expect(vector.problem == nil)
                    #expect(String(decoding: text, as: UTF8.self) == vector.text)
                    #expect(trailers.all.map { "\($0.name): \(String(decoding: $0.value, as: UTF8.self))" } == vector.trailers)
                    #expect(String(decoding: received + waiting, as: UTF8.self) == vector.rest)
                    return
                }
            }
        } catch let problem as MessageProblem {
            #expect(problem.clause == vector.problem)
        }
    }

    @Test func `a head is found however it arrives`() throws {
        let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\nrest".utf8)
        for count in 0..<(bytes.count - 4) {
            #expect(try HeadParser.length(of: bytes.prefix(count)) == nil)
            #expect(try HeadParser.length(of: bytes, searched: count) == bytes.count - 4)
        }
    }

    @Test func `fields for one connection and those that Connection nominates are not forwarded`() throws {
        var fields = HeadFields([
            ("Connection", "close, X-Secret"), ("Keep-Alive", "timeout=5"), ("X-Secret", "a"), ("Proxy-Authorization", "Basic x"),
            ("TE", "trailers"), ("Upgrade", "websocket"), ("Proxy-Connection", "keep-alive"), ("Accept", "*/*"),
        ])
        try HopByHop.remove(from: &fields)
        #expect(fields.all.map(\.name) == ["Accept"])
    }

    @Test(arguments: ["Host", "content-length", "Authorization", "Cookie"])
    func `Connection must not nominate a field that changes the message`(name: String) throws {
        var fields = HeadFields([("Connection", "close, \(name)")])
        #expect(throws: MessageProblem.self) { try HopByHop.remove(from: &fields) }
    }

    @Test func `trailers must not contain fields that belong into a head`() {
        let trailers = HeadFields([("X-Sum", "1"), ("Content-Length", "5"), ("Set-Cookie", "a=b"), ("Proxy-Authenticate", "Basic")])
        #expect(HopByHop.forwarded(trailers: trailers).all.map(\.name) == ["X-Sum"])
    }
}

extension RequestTarget {
    var text: String {
        switch self {
        case .resource(let origin, let path): "\(origin)\(path)"
        case .tunnel(let host, let port): "CONNECT \(ProxyServer(host: host, port: port))"
        }
    }
}

extension BodyFraming {
    var text: String {
        switch self {
        case .none: "none"
        case .length(let length): "\(length)"
        case .chunked: "chunked"
        case .untilClose: "close"
        }
    }
}
