#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include "tests/bench/isolation/bytes.h"
#include "tests/bench/isolation/http_text.h"
#include "tests/bench/isolation/neighbours.h"

namespace headgate::bench {
namespace {

// Connections that begin with `first`, and then say a byte each now and then.
Act ByteByByte(const AttackedServer& server, const std::string& first) {
  constexpr size_t kConnections = 256;
  constexpr int kInAct = 32;
  return [speakers = std::make_shared<Speakers>(server.http_port, kConnections), first] {
    for (int i = 0; i < kInAct; ++i) {
      Speaker& speaker = speakers->Next();
      if (!speaker.Continue("1")) speaker.Say(first);
    }
  };
}

Act SlowHeaders(const AttackedServer& server) {
  return ByteByByte(server, "GET /healthz HTTP/1.1\r\nHost: headgate\r\nX-Slow: ");
}
Act SlowBodies(const AttackedServer& server) {
  return ByteByByte(server, PostHead("/v1/check", 1 << 20));
}

// Connections that say `text` and then nothing; the oldest go when there are so many.
Act Held(const AttackedServer& server, size_t connections, const std::string& text) {
  constexpr int kInAct = 32;
  auto held = std::make_shared<std::deque<tls::Raw>>();
  return [=, port = server.http_port] {
    for (int i = 0; i < kInAct; ++i) {
      if (held->size() == connections) held->pop_front();
      held->emplace_back(port);
      if (!text.empty()) held->back().Send(text);
    }
  };
}

Act HalfOpen(const AttackedServer& server) { return Held(server, 512, ""); }
// More than a server takes.
Act ThousandsOfConnections(const AttackedServer& server) {
  return Held(server, 6000, Get("/healthz"));
}

Act HttpReconnects(const AttackedServer& server) {
  return [port = server.http_port] {
    for (int i = 0; i < 5; ++i) {
      Speaker speaker(port);
      speaker.Ask(Get("/healthz"));
    }
  };
}

Act HugeHeaders(const AttackedServer& server) {
  const std::string one_field = Get("/healthz") + "X: " + std::string(size_t{256} << 10, 'x');
  const std::string many_fields =
      "GET /healthz HTTP/1.1\r\nHost: headgate\r\n" + Times(16'384, "X-Field: value\r\n");
  return [=, port = server.http_port] {
    for (const std::string& text : {one_field, many_fields}) Speaker(port).Ask(text);
  };
}

// One that says beforehand how large it is, and one that does not.
Act HugeBodies(const AttackedServer& server) {
  const std::string by_length =
      PostHead("/v1/check", size_t{1} << 30) + std::string(size_t{256} << 10, ' ');
  const std::string in_chunks =
      PostHead("/v1/check") + "Transfer-Encoding: chunked\r\n\r\n" +
      Times(80, "10000\r\n" + std::string(size_t{64} << 10, ' ') + "\r\n");
  return [=, port = server.http_port] {
    for (const std::string& text : {by_length, in_chunks}) Speaker(port).Ask(text);
  };
}

Act ChunksOfOneByte(const AttackedServer& server) {
  const std::string text =
      PostHead("/v1/check") + "Transfer-Encoding: chunked\r\n\r\n" + Times(32'768, "1\r\n \r\n");
  return [=, port = server.http_port] { Speaker(port).Ask(text); };
}

// Bodies as large as they may be, which never end: together more than all requests may take.
Act HalfBodies(const AttackedServer& server) {
  constexpr size_t kConnections = 64;
  const std::string head = PostHead("/v1/batch_check", (4 << 20) - 1);
  const std::string part(size_t{64} << 10, ' ');
  return [=, speakers = std::make_shared<Speakers>(server.http_port, kConnections)] {
    Speaker& speaker = speakers->Next();
    if (!speaker.Continue(part)) speaker.Say(head);
  };
}

// A request within another, for whoever reads the outer one in another way.
Act Smuggled(const AttackedServer& server) {
  const std::string hidden = Post("/v1/forgive_debt", "{}");
  std::deque<std::string> requests;
  for (const char* framing : {
           "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
           "Content-Length: 0\r\nContent-Length: 400\r\n\r\n",
           "Content-Length: 0, 400\r\n\r\n",
           "Content-Length: +0\r\n\r\n",
           "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
           "Content-Length: 0\r\n Folded: x\r\n\r\n",
           "Content-Length: 0\n\n",
       }) {
    requests.push_back(PostHead("/v1/check") + framing + hidden);
  }
  return [=, port = server.http_port, turn = size_t{0}]() mutable {
    Speaker(port).Ask(requests[turn++ % requests.size()]);
  };
}

// Without waiting for an answer, or reading one.
Act EndlessPipelining(const AttackedServer& server) {
  constexpr size_t kConnections = 16;
  return [speakers = std::make_shared<Speakers>(server.http_port, kConnections),
          requests = Times(200, Get("/healthz"))] { speakers->Next().SayUnheard(requests); };
}

// The largest answers that there are, on connections where nobody reads them.
Act UnreadAnswers(const AttackedServer& server) {
  constexpr size_t kConnections = 256;
  return [held = Held(server, kConnections, Get("/openapi.json"))] { held(); };
}

Act CompressedBodies(const AttackedServer& server) {
  const std::string bomb = Bomb();
  const std::string text = absl::StrCat(PostHead("/v1/check"), "Content-Encoding: deflate\r\n",
                                        "Content-Length: ", bomb.size(), "\r\n\r\n", bomb);
  return [=, port = server.http_port] { Speaker(port).Ask(text); };
}

Act HttpGarbage(const AttackedServer& server) {
  return [port = server.http_port, random = RandomBytes()]() mutable {
    const std::string bytes = random.Next(16'384);
    Speaker(port).Ask(bytes);
    Speaker(port).Ask(Get("/healthz") + bytes);
  };
}

constexpr auto kHttpNeighbours = std::to_array<Neighbour>({
    {"http_slow_headers", SlowHeaders},
    {"http_slow_bodies", SlowBodies},
    {"http_half_open", HalfOpen},
    {"http_many_connections", ThousandsOfConnections},
    {"http_reconnects", HttpReconnects},
    {"http_huge_headers", HugeHeaders},
    {"http_huge_bodies", HugeBodies},
    {"http_chunks_of_one_byte", ChunksOfOneByte},
    {"http_half_bodies", HalfBodies},
    {"http_smuggled", Smuggled},
    {"http_pipelining", EndlessPipelining},
    {"http_unread_answers", UnreadAnswers},
    {"http_compressed_bodies", CompressedBodies},
    {"http_garbage", HttpGarbage},
});

}  // namespace

std::span<const Neighbour> HttpNeighbours() { return kHttpNeighbours; }

}  // namespace headgate::bench
