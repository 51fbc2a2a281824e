// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "steps/case.hpp"

#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

namespace tandem::steps {
namespace {

/// A field of a setup as text.
struct Field {
  std::string name;
  std::function<std::string(const Setup&)> get;
  std::function<void(Setup&, const std::string&)> set;
  bool is_text = false;
};

Field text_field(std::string name, std::string Setup::*field) {
  return {std::move(name),
          [field](const Setup& s) { return s.*field; },
          [field](Setup& s, const std::string& value) { s.*field = value; },
          true};
}

template <class T>
Field number_field(std::string name, T Setup::*field) {
  return {std::move(name),
          [field](const Setup& s) { return std::to_string(s.*field); },
          [field](Setup& s, const std::string& value) {
            s.*field = static_cast<T>(std::stoll(value));
          }};
}

Field chunks_field() {
  return {"chunks",
          [](const Setup& s) {
            std::string text;
            for (const std::int64_t n : s.chunks)
              text += (text.empty() ? "" : ", ") + std::to_string(n);
            return text;
          },
          [](Setup& s, const std::string& value) {
            s.chunks.clear();
            for (const std::string& word : split(value, ','))
              s.chunks.push_back(std::stoll(word));
          }};
}

/// In the order of Setup.
const std::vector<Field>& fields() {
  static const std::vector<Field> all{text_field("net", &Setup::net),
                                      text_field("optimizer", &Setup::optimizer),
                                      text_field("loss", &Setup::loss),
                                      text_field("dtype", &Setup::dtype),
                                      number_field("averages", &Setup::averages),
                                      number_field("scaler", &Setup::scaler),
                                      number_field("devices", &Setup::devices),
                                      chunks_field(),
                                      number_field("accumulate", &Setup::accumulate),
                                      number_field("bitwise", &Setup::bitwise),
                                      number_field("whole_tensors", &Setup::whole_tensors),
                                      number_field("units", &Setup::units),
                                      number_field("reshard", &Setup::reshard),
                                      number_field("prefetch", &Setup::prefetch),
                                      number_field("offload", &Setup::offload),
                                      number_field("bucket_nbytes", &Setup::bucket_nbytes),
                                      number_field("drift", &Setup::drift),
                                      number_field("non_finite", &Setup::non_finite),
                                      number_field("norms", &Setup::norms),
                                      number_field("buffers", &Setup::buffers),
                                      number_field("output", &Setup::output),
                                      number_field("seed", &Setup::seed)};
  return all;
}

class Maker {
 public:
  explicit Maker(std::mt19937_64& random) : random_(random) {}

  Case make() {
    Case c;
    make_setup(c.setup);
    const std::int64_t count = 2 + below(9);
    for (std::int64_t i = 0; i < count; ++i)
      c.statements.push_back(statement(c.setup));
    return c;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  std::string pick(const std::vector<std::string>& list) {
    return list[static_cast<std::size_t>(below(std::ssize(list)))];
  }
  std::string number(std::int64_t n) const { return ":" + std::to_string(n); }

  std::string net(bool norms) {
    std::int64_t width = 1 + below(6);
    std::string text;
    const std::int64_t parts = 1 + below(3);
    std::int64_t layers = 0;
    const auto add = [&](const std::string& word) {
      text += (text.empty() ? "" : " ") + word + (one_in(8) ? "*" : "");
      ++layers;
    };
    for (std::int64_t k = 0; k < parts; ++k) {
      const std::int64_t next = one_in(8) ? 90 + below(80) : 1 + below(7);
      const bool norm = norms && one_in(2);
      add((norm ? "plain" : "linear") + number(width) + number(next));
      const std::int64_t own = layers - 1;
      if (norm) add("norm" + number(next));
      if (one_in(2)) add(pick({"tanh", "relu"}));
      if (one_in(5)) add("layernorm" + number(next));
      if (one_in(6) && next == width) add("again" + number(own));
      if (one_in(6)) add("extra" + number(next));
      if (one_in(6)) add("spare" + number(1 + below(3)));
      if (one_in(8)) add("conv");
      if (one_in(8)) add("count");
      if (!norms && one_in(5)) add("dropout:30");
      width = next;
    }
    return text;
  }
  void make_setup(Setup& s) {
    const bool norms = one_in(3);
    s.net = net(norms);
    s.optimizer =
        pick({"sgd", "momentum", "adamw", "adamw", "nadam", "rmsprop", "adagrad", "lamb"});
    if (norms && s.optimizer == "lamb")
      s.optimizer = "adamw";  // it scales up gradients that are rounding alone
    s.loss = pick({"mean", "sum", "weighted", "labels"});
    s.dtype = one_in(6) ? "f32" : one_in(12) ? "bf16" : "f64";
    s.averages = one_in(4) ? 1 + static_cast<int>(below(2)) : 0;
    s.scaler = one_in(5) ? 1 : 0;
    s.devices = 1 + static_cast<int>(below(5));
    if (one_in(4)) s.chunks = {below(4)};
    if (one_in(3) && s.devices > 1) {
      s.chunks.clear();
      for (int d = 0; d < s.devices; ++d)
        s.chunks.push_back(below(5));
      s.chunks[static_cast<std::size_t>(below(s.devices))] += 30;  // room for all rows
      if (one_in(2)) std::ranges::fill(s.chunks, std::int64_t{20});
    }
    if (one_in(3)) s.accumulate = 2 + static_cast<int>(below(3));
    const bool drops = s.net.find("dropout") != std::string::npos;
    if (drops && s.net.find("count") != std::string::npos) s.accumulate = 1;  // see Side
    if (!norms && s.accumulate == 1 && one_in(6) && s.net.find("count") == std::string::npos)
      s.bitwise = 1 + static_cast<int>(below(9));
    s.whole_tensors = one_in(4) ? 1 : 0;
    s.units = one_in(4) ? 1 + below(8) : 0;
    s.reshard = one_in(4) ? 0 : 1;
    s.prefetch = one_in(4) ? 1 + static_cast<int>(below(3)) : 0;
    s.offload = one_in(5) ? 1 : 0;
    s.bucket_nbytes = one_in(2) ? 64 + static_cast<int>(below(2000)) : 1 << 20;
    s.drift = one_in(6) ? 1 : 0;
    s.non_finite = one_in(6) ? 1 : 0;
    if (norms && one_in(4)) s.norms = 1 + static_cast<int>(below(2));
    if (one_in(12)) s.buffers = 1 + static_cast<int>(below(2));
    if (one_in(8)) s.output = static_cast<int>(below(6));
    s.seed = below(1000);
  }
  std::string rows() { return " " + std::to_string(one_in(3) ? 1 + below(3) : 1 + below(20)); }
  std::string seed() { return " " + std::to_string(below(1000)); }
  std::string parameter() { return " " + std::to_string(below(12)); }

  std::string plain_statement(const Setup& s) {
    switch (below(24)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        return "step" + rows() + seed() + " 1";
      case 6:
        return "step" + rows() + seed() + " 0";
      case 7:
      case 8:
      case 9:
        return "backward" + rows() + seed() + (one_in(3) ? rows() : " 0") +
               (one_in(3) && s.bitwise == 0 ? " 0" : " 1");
      case 10:
        return "evaluate" + (one_in(6) ? " 0" : rows()) + seed();
      case 11:
        return "zero_grad";
      case 12:
      case 13:
        return "update";
      case 14:
        return "clip " + std::to_string(1 + below(100));
      case 15:
        return one_in(2) ? "scale_gradients 50" : "set_gradient" + parameter() + " 30";
      case 16:
        return one_in(2) ? "drop_gradient" + parameter() : "train " + std::to_string(below(3) > 0);
      case 17:
      case 18:
        return "freeze" + parameter();
      case 19:
        return "thaw" + parameter();
      case 20:
        return (one_in(3) ? "unhook" + parameter()
                          : "hook" + parameter() + " " + std::to_string(below(2)));
      case 21:
        return one_in(2) ? "write" + parameter() + " 90" : "learning_rate 20";
      case 22:
        return one_in(4) ? "swap" : "average";
      default:
        return pick({"reload", "wrap_again", "synchronise"});
    }
  }
  std::string statement(const Setup& s) {
    std::string text = plain_statement(s);
    const bool computes =
        text.starts_with("step") || text.starts_with("backward") || text.starts_with("evaluate");
    if (computes && one_in(10)) text = "fail " + std::to_string(1 + below(80)) + " " + text;
    if (one_in(3)) text += " look";
    return text;
  }

  std::mt19937_64& random_;
};

}  // namespace

Case random_case(std::mt19937_64& random) {
  return Maker(random).make();
}

Case case_of_a_step(std::mt19937_64& random) {
  Case c = random_case(random);
  if (c.statements.size() > 4) c.statements.resize(4);
  std::erase_if(c.statements, [](const std::string& s) { return s.starts_with("fail"); });
  const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 20);
  c.statements.push_back("step " + std::to_string(rows) + " 1 1");
  return c;
}

std::string to_text(const Case& c) {
  const Setup plain;
  std::string text;
  for (const Field& field : fields())
    if (field.get(c.setup) != field.get(plain))
      text += field.name + " " + field.get(c.setup) + "\n";
  for (const std::string& statement : c.statements)
    text += "  " + statement + "\n";
  return text;
}

Case parse_case(const std::string& text) {
  Case c;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("  ")) {
      c.statements.push_back(line.substr(2));
      continue;
    }
    if (line.starts_with("#")) continue;
    const auto end = line.find(' ');
    const auto field = std::ranges::find(fields(), line.substr(0, end), &Field::name);
    if (field == fields().end() || end == std::string::npos)
      throw std::invalid_argument("case: '" + line + "' is neither a setting nor a statement");
    field->set(c.setup, line.substr(end + 1));
  }
  return c;
}

std::string to_program(const Case& c, const std::string& side, const std::string& finding) {
  const Setup plain;
  std::ostringstream program;
  program << "// " << finding << "\n"
          << side << "\nusing namespace tandem;\n\nint main() {\n"
          << "  configure_devices(\"cpu:8\");\n  const steps::Setup setup{";
  for (const Field& field : fields()) {
    if (field.get(c.setup) == field.get(plain)) continue;
    const std::string value = field.get(c.setup);
    program << "." << field.name << " = "
            << (field.is_text            ? "\"" + value + "\""
                : field.name == "chunks" ? "{" + value + "}"
                                         : value)
            << ", ";
  }
  program << "};\n  for (const parallel::Mode mode : parallel::kModes) {\n"
          << "    steps::Side one(setup, {}), many(setup, mode);\n"
          << "    for (const std::string statement : {";
  for (const std::string& statement : c.statements)
    program << "\n             \"" << statement << "\",";
  program << "}) {\n      one.run(statement);\n      many.run(statement);\n    }\n"
          << "    std::printf(\"%s: %s\\n\", parallel::name(mode),\n"
          << "                steps::difference(many.observe(), one.observe(), 1e-9).c_str());\n"
          << "  }\n}\n";
  return program.str();
}

}  // namespace tandem::steps
