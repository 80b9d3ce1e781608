import HTTPNegotiate

var exchange = NegotiateExchange()
print(exchange.receive(status: 401, challenges: ["Negotiate"]) == .begin ? "works" : "fails")
